"""After the join of a pipeline: pairs become one row per publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

UNITED = "publication bigint, subscriptions array<bigint>"
"""Schema of what `united` gives."""


def united(pairs: pa.Table) -> pa.Table:
    """Unite the pairs of one partition: ``publication`` and the ``subscriptions`` found there.

    It runs in the task that joins, so its time is part of the partition's load, and a pair does
    not leave the task by itself. A publication without a match has no row.
    """
    # One thread, whose time is measured; all cores have other tasks.
    groups = pairs.group_by("publication", use_threads=False)
    return groups.aggregate([("subscription", "distinct")]).rename_columns(
        ["publication", "subscriptions"]
    )


def matches_of(parts: DataFrame) -> DataFrame:
    """Unite what the partitions found for a publication: ``subscriptions`` in order.

    A pair that was found twice counts once.
    """
    every = F.flatten(F.collect_list("subscriptions"))
    each = parts.groupBy("publication").agg(F.array_distinct(every).alias("subscriptions"))
    return each.select("publication", F.sort_array("subscriptions").alias("subscriptions"))
