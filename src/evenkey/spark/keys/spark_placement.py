"""Compute the load of each task under Spark's own placement, which hashes keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.spark.sessions.task_slots import shuffle_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

_ADAPTIVE, _MERGES = (
    f"spark.sql.adaptive.{name}" for name in ("enabled", "coalescePartitions.enabled")
)
_COMPRESSED = 4
_LEAST_BYTES = 1 << 20
_WORTH = 1.2
"""Spark places the keys itself if placing them by load is predicted to gain less than this."""


def spark_partition(columns: Sequence[Column], partitions: int) -> Column:
    """Return the partition to which Spark's own shuffle by some columns sends a row."""
    return F.pmod(F.hash(*columns), F.lit(partitions))


def no_gain(session: SparkSession, gain: float, values: float, slots: int) -> str | None:
    """Return why Spark places the keys itself, as little is gained otherwise; None: it does not.

    Spark's own placement is not chosen for so few bytes that adaptive execution would merge its
    tasks into fewer tasks than there are slots.

    Parameters
    ----------
    session
        Session of the operator.
    gain
        Predicted speedup if keys are placed by load.
    values
        Number of values in all rows that are shuffled: rows times columns.
    slots
        Number of tasks that run concurrently.
    """
    if gain >= _WORTH or not _fills_slots(session, values, slots):
        return None
    return f"keys placed by load would be only {max(gain, 1):.2f}x faster"


def _fills_slots(session: SparkSession, values: float, slots: int) -> bool:
    """Return whether Spark's own shuffle of a batch has at least as many tasks as slots.

    Adaptive execution merges shuffle partitions until each task has 1 MB, whatever the work on its
    rows costs. The size of the shuffle is estimated from below: 8 bytes per value, which Spark may
    compress to a quarter.
    """
    settings = (session.conf.get(name, "true") for name in (_ADAPTIVE, _MERGES))
    merges = all(str(each).lower() == "true" for each in settings)
    return not merges or values * 8 / _COMPRESSED >= slots * _LEAST_BYTES


def spark_loads(
    frame: DataFrame, columns: Sequence[Column], cost: Column | None
) -> NDArray[np.float64]:
    """Compute the load of each partition if Spark itself partitions a batch by some columns.

    The load is the number of rows, or their total `cost` if it is given. This reads the input once.
    """
    partitions = shuffle_partitions(frame.sparkSession)
    load = F.count(F.lit(1)) if cost is None else F.sum(cost.cast("double"))
    rows = frame.groupBy(spark_partition(columns, partitions).alias("partition"))
    found = rows.agg(F.coalesce(load.cast("double"), F.lit(0.0))).toArrow()
    numbers, loads = (column.to_numpy() for column in found.columns)
    return np.bincount(numbers, loads, minlength=partitions).astype(np.float64)
