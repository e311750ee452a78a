"""The one exchange of a groupBy: each row goes to its key's worker, by Spark's own operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.lookup import with_planned_worker
from evenkey.spark.routing.to_workers import split_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.groupings import PlannedGrouping
    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.plans.plan_source import Fixed

SPLIT = f"{OWN}split"
_WORKER = f"{OWN}worker"


def with_split(
    keys: Keys,
    plan: Fixed,
    grouping: PlannedGrouping,
    workers: int,
    *,
    whole: bool,
    inline: bool = False,
) -> DataFrame:
    """Add the int column `SPLIT`, by which Spark's own exchange takes a row to its worker.

    Whole keys have the same one in all their rows, whatever these are and however often they are
    computed: it follows from the key and the plan alone. Beneath an operator with state the plan
    must stand `inline`.
    """
    position = F.lit(0) if whole else None
    routed = with_planned_worker(
        keys.frame, keys.hashed, grouping, workers, plan, _WORKER, position, inline=inline
    )
    return routed.withColumn(SPLIT, split_column(F.col(_WORKER), keys.columns, workers)).drop(
        _WORKER
    )


def exchanged(
    keys: Keys, plan: Fixed, grouping: PlannedGrouping, workers: int, *, whole: bool
) -> DataFrame:
    """Move each row of a batch to the partition of its worker.

    Adaptive execution does not change an exchange with a given number of partitions, and a groupBy
    by the key and `SPLIT` needs no other exchange.
    """
    split = with_split(keys, plan, grouping, workers, whole=whole)
    return split.repartition(workers, *keys.columns, SPLIT)
