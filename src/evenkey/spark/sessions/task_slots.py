"""Count the task slots of a session, and the partitions of its shuffles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions.access import is_remote
from evenkey.spark.sessions.printed_plans import printed_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 1 << 16
_PARTITIONS = "spark.sql.shuffle.partitions"
_BY_DEFAULT = 200
"""Spark's default of this setting."""
_SPLITS = re.compile(r"\bsplits=(\d+)")


def slots_of(session: SparkSession) -> int:
    """Return the number of tasks that a session can run concurrently, at least 1.

    A classic session asks Spark's scheduler. Over Connect, and as long as no executor has come, the
    number is that of the partitions of a range, which Spark prints in its plan. There it is the
    number of slots unless ``spark.default.parallelism`` or
    ``spark.sql.leafNodeDefaultParallelism`` is set. With dynamic allocation the number of slots
    changes, so this returns ``spark.sql.shuffle.partitions``.
    """
    if str(session.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        return shuffle_partitions(session)
    scheduled = _scheduled(session)
    if scheduled:
        return scheduled
    numbers = session.range(_MOST)
    printed = _SPLITS.search(printed_plan(numbers))
    if printed is not None:
        return int(printed[1])
    slots = numbers.select(F.spark_partition_id().alias("slot"))
    return int(slots.agg(F.max("slot")).collect()[0][0]) + 1


def _scheduled(session: SparkSession) -> int:
    """Return the number of tasks that the scheduler can run concurrently; 0: it is not known."""
    if is_remote(session):
        return 0
    context = session.sparkContext._jsc.sc()  # noqa: SLF001 - no public name
    try:
        profile = context.resourceProfileManager().defaultResourceProfile()
        return int(context.maxNumConcurrentTasks(profile))
    except Exception:  # noqa: BLE001 - a managed session may allow no call, or Java has ended
        return 0


def shuffle_partitions(session: SparkSession) -> int:
    """Return the number of partitions that Spark uses for its own shuffles and for state.

    If the setting leaves the number to the platform, as ``auto`` does on Databricks, this returns
    Spark's default.
    """
    setting = _setting(session)
    return int(setting) if setting.isdecimal() else _BY_DEFAULT


def check_partitions(session: SparkSession, workers: int, operator: str) -> None:
    """Check that Spark's shuffles in a stream have as many partitions as there are workers.

    Raises
    ------
    ConfigurationError
        They do not, or the platform chooses their number. The message begins with the setting, and
        says that `operator` needs another value.
    """
    setting = _setting(session)
    if setting != str(workers):
        message = (
            f"{_PARTITIONS} = {setting}: {operator} needs as many partitions as workers in a "
            f"stream; set it to {workers} before the query starts"
        )
        raise ConfigurationError(message)


def _setting(session: SparkSession) -> str:
    return str(session.conf.get(_PARTITIONS))


def default_workers(session: SparkSession) -> int:
    """Return the default number of workers of an operator that shuffles a batch.

    As many as Spark's own shuffles have partitions. But 1 if the session runs one task at a time:
    the time of all tasks together does not depend on how rows are spread over them.
    """
    return 1 if slots_of(session) == 1 else shuffle_partitions(session)
