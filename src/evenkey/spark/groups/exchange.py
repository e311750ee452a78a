"""Move each row of a groupBy to its key's worker, in one shuffle by Spark's own operators."""

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
    """Add the int column `SPLIT`, with which Spark's own shuffle sends a row to its worker.

    If keys are `whole`, all rows of a key have the same value in this column. The value depends
    only on the key and the plan, so it is the same each time that it is computed. If an operator
    with state follows, the plan must be `inline`.
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

    Adaptive execution does not change a shuffle with a given number of partitions, and a groupBy by
    the key and `SPLIT` needs no other shuffle.
    """
    split = with_split(keys, plan, grouping, workers, whole=whole)
    return split.repartition(workers, *keys.columns, SPLIT)
