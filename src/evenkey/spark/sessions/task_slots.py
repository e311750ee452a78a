"""Slots and partitions: how many tasks a session runs concurrently, and how many a shuffle has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 1 << 16


def slots_of(session: SparkSession) -> int:
    """Give how many tasks a session runs concurrently, at least 1.

    Spark divides a range into as many partitions as it has slots, also over Connect. With dynamic
    allocation the number of slots changes, so this gives ``spark.sql.shuffle.partitions``.
    """
    if str(session.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        return shuffle_partitions(session)
    slots = session.range(_MOST).select(F.spark_partition_id().alias("slot"))
    return int(slots.agg(F.max("slot")).collect()[0][0]) + 1


def shuffle_partitions(session: SparkSession) -> int:
    """Number of partitions that Spark uses for its own shuffles and for state."""
    return int(session.conf.get("spark.sql.shuffle.partitions") or 1)
