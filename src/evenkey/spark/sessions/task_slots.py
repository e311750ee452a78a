"""Count the task slots of a session, and the partitions of its shuffles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.sessions.printed_plans import printed_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 1 << 16
_SPLITS = re.compile(r"\bsplits=(\d+)")


def slots_of(session: SparkSession) -> int:
    """Return the number of tasks that a session can run concurrently, at least 1.

    Spark divides a range into as many partitions as it has slots, also over Connect, and prints
    their number in its plan. With dynamic allocation the number of slots changes, so this returns
    ``spark.sql.shuffle.partitions``.
    """
    if str(session.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        return shuffle_partitions(session)
    numbers = session.range(_MOST)
    printed = _SPLITS.search(printed_plan(numbers))
    if printed is not None:
        return int(printed[1])
    slots = numbers.select(F.spark_partition_id().alias("slot"))
    return int(slots.agg(F.max("slot")).collect()[0][0]) + 1


def shuffle_partitions(session: SparkSession) -> int:
    """Return the number of partitions that Spark uses for its own shuffles and for state."""
    return int(session.conf.get("spark.sql.shuffle.partitions") or 1)


def default_workers(session: SparkSession) -> int:
    """Return the default number of workers of an operator that shuffles a batch.

    As many as Spark's own shuffles have partitions. But 1 if the session runs one task at a time:
    the time of all tasks together does not depend on how rows are spread over them.
    """
    return 1 if slots_of(session) == 1 else shuffle_partitions(session)
