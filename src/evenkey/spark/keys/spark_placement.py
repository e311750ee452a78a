"""Compute the load of each task under Spark's own placement, which hashes keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.spark.sessions.task_slots import shuffle_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

_ADAPTIVE, _MERGES = (
    f"spark.sql.adaptive.{name}" for name in ("enabled", "coalescePartitions.enabled")
)
_COMPRESSED = 4
_LEAST_BYTES = 1 << 20


def spark_partition(columns: Sequence[Column], partitions: int) -> Column:
    """Return the partition to which Spark's own shuffle by some columns sends a row."""
    return F.pmod(F.hash(*columns), F.lit(partitions))


def fills_slots(frame: DataFrame, rows: float, slots: int) -> bool:
    """Return whether Spark's own shuffle of a batch has at least as many tasks as slots.

    Adaptive execution merges shuffle partitions until each task has 1 MB, whatever the work on its
    rows costs. The size of the shuffle is estimated from below: 8 bytes per row and column, which
    Spark may compress to a quarter.
    """
    conf = frame.sparkSession.conf
    on = [str(conf.get(name, "true")).lower() == "true" for name in (_ADAPTIVE, _MERGES)]
    return not all(on) or rows * 8 * (len(frame.columns) + 1) / _COMPRESSED >= slots * _LEAST_BYTES


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
