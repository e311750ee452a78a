"""Convert the pairs that a join finds to one row per publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

UNITED = "publication bigint, subscriptions array<bigint>"
"""Schema of the table that `united` returns."""


def united(pairs: pa.Table) -> pa.Table:
    """Group the pairs of a partition by publication: ``publication`` and its ``subscriptions``.

    `united` runs in the task that joins a partition, so its time is part of the partition's load.
    The task then returns one row per publication instead of one row per pair. A publication without
    a match has no row.
    """
    # One thread, because the time of the call is measured, and the other cores run other tasks.
    groups = pairs.group_by("publication", use_threads=False)
    return groups.aggregate([("subscription", "distinct")]).rename_columns(
        ["publication", "subscriptions"]
    )


def matches_of(parts: DataFrame) -> DataFrame:
    """Combine the ``subscriptions`` that partitions found for each publication, in ascending order.

    A pair that two partitions found counts once.
    """
    every = F.flatten(F.collect_list("subscriptions"))
    each = parts.groupBy("publication").agg(F.array_distinct(every).alias("subscriptions"))
    return each.select("publication", F.sort_array("subscriptions").alias("subscriptions"))
