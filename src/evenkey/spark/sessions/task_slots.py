"""Count the task slots of a session, and the partitions of its shuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 1 << 16


def slots_of(session: SparkSession) -> int:
    """Return the number of tasks that a session can run concurrently, at least 1.

    Spark divides a range into as many partitions as it has slots, also over Connect. With dynamic
    allocation the number of slots changes, so this returns ``spark.sql.shuffle.partitions``.
    """
    if str(session.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        return shuffle_partitions(session)
    slots = session.range(_MOST).select(F.spark_partition_id().alias("slot"))
    return int(slots.agg(F.max("slot")).collect()[0][0]) + 1


def shuffle_partitions(session: SparkSession) -> int:
    """Return the number of partitions that Spark uses for its own shuffles and for state."""
    return int(session.conf.get("spark.sql.shuffle.partitions") or 1)
