"""Write files by a plan that is made from known loads, so that no value is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.groupings import PlannedGrouping
from evenkey.spark.keys.given_columns import check_own_names, hash_of, key_columns
from evenkey.spark.plans.lookup import with_planned_worker
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.routing.file_plans import place_values
from evenkey.spark.routing.to_workers import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from evenkey.groupings import Plan
    from evenkey.spark.plans.known_loads import KnownLoads

_FILE = "__evenkey_file"


def plan_of_files(loads: KnownLoads, files: int) -> Plan:
    """Make a plan in which each value has few files, and each writing task the same work."""
    statistics = PlannedGrouping().statistics(files)
    statistics.add_counted(loads.keys, loads.rows)
    statistics.bucket_loads += loads.in_buckets(len(statistics.bucket_loads))
    return place_values(statistics, files)


def partitioned_by_plan(df: DataFrame, names: Sequence[str], plan: Plan) -> DataFrame:
    """Move rows to tasks as `partition_for_write` does, by a given plan.

    Raises
    ------
    ConfigurationError
        A column is missing, or has a reserved name.
    """
    check_own_names(df)
    hashed = hash_of(key_columns(df, names, "partitionBy"), nulls_apart=True)
    fixed, files = Fixed(plan.to_arrays()), plan.workers
    numbered = with_planned_worker(df, hashed, PlannedGrouping(), files, fixed, _FILE)
    return place(numbered, files, column=_FILE).drop(_FILE)
