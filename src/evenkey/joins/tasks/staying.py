"""Join without moving rows: each worker holds the whole static side."""

from __future__ import annotations

import functools
import logging
import operator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType

from evenkey.joins.matching.by_space import BYTES_OF_GEOMETRY
from evenkey.joins.matching.on import SpatialMatch
from evenkey.joins.matching.partition_join import PARTITION
from evenkey.joins.tasks.spreading import good_rows
from evenkey.spark.keys import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.joins.balance.epoch_plans import EpochPlans
    from evenkey.joins.matching.on import Keys
    from evenkey.joins.static.dead_letters import DeadLetters
    from evenkey.joins.tasks.join_task import JoinTask

logger = logging.getLogger(__name__)

_SHARE_OF_CACHE = 16
"""A static side is divided if it is larger than the cache of a process divided by this number."""
_BYTES_OF_OTHERS = 16
"""Approximate size of a value that is neither text nor bytes."""


def can_stay(on: Keys | SpatialMatch) -> bool:
    """Return whether rows can stay where they are: in joins by space whose partitions are regions.

    For a join by key, Spark's own broadcast join does this, without Python.
    """
    return isinstance(on, SpatialMatch) and not on.replicates_index


def fits_whole(static: DataFrame, on: Keys | SpatialMatch, cache_bytes: int) -> bool:
    """Return whether every worker can hold the static side, which is read once to sum its size."""
    sizes = [_size(static, name) for name in static.columns]
    if isinstance(on, SpatialMatch):
        sizes.append(_size(static, on.geometry) * (BYTES_OF_GEOMETRY - 1))
    rows = static.select(functools.reduce(operator.add, sizes).cast("long").alias("bytes"))
    (total,) = rows.agg(F.coalesce(F.sum("bytes"), F.lit(0))).collect()[0]
    return int(total) * _SHARE_OF_CACHE <= cache_bytes


def say_that_rows_stay(partitions: int) -> None:
    """Log that rows are not moved, and how to change this."""
    logger.warning(
        "balanced_join: the static side is small, so every worker holds it whole, and the stream's "
        "rows stay where they are; to divide both sides, pass partitions=%d",
        partitions,
    )


def _size(df: DataFrame, name: str) -> Column:
    if isinstance(df.schema[name].dataType, StringType | BinaryType):
        return F.coalesce(F.octet_length(quoted(name)), F.lit(0))
    return F.lit(_BYTES_OF_OTHERS)


class StayTask:
    """Joins the rows of one partition of the stream's DataFrame with the whole static side.

    The first task of an epoch stores the version of the static side that the epoch uses, by an
    exclusive create. No separate task has to decide a plan first, because no row has to be placed.

    Parameters
    ----------
    join
        Joins rows with the only static partition.
    plans
        Stores the plan of each epoch.
    geometry
        The stream's column of geometries (WKB).
    dead_letters
        Stores rows whose geometry cannot be used; None: such a row fails the query.
    """

    def __init__(
        self,
        join: JoinTask,
        plans: EpochPlans,
        geometry: str,
        dead_letters: DeadLetters | None,
    ) -> None:
        self._join = join
        self._plans = plans
        self._geometry = geometry
        self._dead_letters = dead_letters

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of a partition."""
        task = self._plans.task()
        plan = self._plans.decide(task)
        good = good_rows(batches, self._geometry, self._dead_letters, task.epoch)
        yield from self._join.joined(_in_one_partition(good), task, plan)


def _in_one_partition(
    tables: Iterable[tuple[pa.Table, NDArray[np.object_]]],
) -> Iterator[pa.RecordBatch]:
    for table, _ in tables:
        number = pa.array(np.zeros(table.num_rows, dtype=np.int32))
        yield from table.append_column(PARTITION, number).to_batches()
