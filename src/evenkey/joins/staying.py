"""Staying: each worker holds the static side whole, and the stream's rows stay where they are."""

from __future__ import annotations

import functools
import logging
import operator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType

from evenkey.joins.on import SpatialMatch
from evenkey.joins.spatial import BYTES_OF_GEOMETRY
from evenkey.joins.static_side import held_partitions
from evenkey.spark import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from evenkey.joins.join_task import JoinTask
    from evenkey.joins.on import Keys
    from evenkey.joins.spreading import SpaceSpread
    from evenkey.joins.static_store import StaticStore

logger = logging.getLogger(__name__)

_SHARE_OF_CACHE = 16
"""A static side that takes more than this part of what a process may hold is divided."""
_BYTES_OF_OTHERS = 16
"""Of a value that is neither text nor bytes, about."""


def can_stay(on: Keys | SpatialMatch) -> bool:
    """Whether rows can be joined where they are: by space, with partitions that are regions.

    By key Spark's own broadcast join does that, without Python.
    """
    return isinstance(on, SpatialMatch) and not on.replicates_index


def whole_is_better(
    static: DataFrame, on: Keys | SpatialMatch, store: StaticStore, cache_bytes: int
) -> bool:
    """Whether a static side is small enough for every worker; this reads its sizes.

    One that lies in the store already goes on as it was divided.
    """
    held = held_partitions(static.sparkSession, store)
    if held is not None:
        return held == 1
    sizes = [_size(static, name) for name in static.columns]
    if isinstance(on, SpatialMatch):
        sizes.append(_size(static, on.geometry) * (BYTES_OF_GEOMETRY - 1))
    rows = static.select(functools.reduce(operator.add, sizes).cast("long").alias("bytes"))
    (total,) = rows.agg(F.coalesce(F.sum("bytes"), F.lit(0))).collect()[0]
    return int(total) * _SHARE_OF_CACHE <= cache_bytes


def say_that_rows_stay(partitions: int) -> None:
    """Say what was chosen, and how to have it otherwise."""
    logger.warning(
        "balanced_join: the static side is small, so every worker holds it whole, and the stream's "
        "rows stay where they are; to divide both pass partitions=%d",
        partitions,
    )


def _size(df: DataFrame, name: str) -> Column:
    if isinstance(df.schema[name].dataType, StringType | BinaryType):
        return F.coalesce(F.octet_length(quoted(name)), F.lit(0))
    return F.lit(_BYTES_OF_OTHERS)


class StayTask:
    """Joins the rows of one of the stream's own partitions with the whole static side.

    Parameters
    ----------
    spread
        Vets geometries; all are in the one partition.
    join
        Joins there.
    """

    def __init__(self, spread: SpaceSpread, join: JoinTask) -> None:
        self._spread = spread
        self._join = join

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of a partition."""
        yield from self._join(self._spread(batches))
