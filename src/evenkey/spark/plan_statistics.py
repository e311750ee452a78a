"""What plans are made from: keys counted natively, all at once or as a stream flows by."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQueryListener

from evenkey.errors import EvenkeyError
from evenkey.spark.plan_lookup import read_memory
from evenkey.spark.routing_table import RoutingTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame, Row

    from evenkey.groupings import Planned
    from evenkey.groupings.planned import KeyStatistics
    from evenkey.spark.routing_table import RoutingTables

__all__ = ["count_keys", "learn_from"]

logger = logging.getLogger(__name__)

_SAMPLE = "__evenkey_sample"
_SAMPLED = 8
"""Of so many rows of a stream one is counted."""
_LAG = 2
_MOST_TRACKED = 1_000_000  # Spark's own limit


def count_keys(df: DataFrame, hashed: Column, empty: KeyStatistics) -> KeyStatistics:
    """Count the keys of a batch DataFrame natively, in one pass.

    The heaviest keys come from Spark's ``approx_top_k``, a sketch; the histogram of the buckets
    is exact, as there are more counters than buckets.
    """
    (row,) = df.select(hashed.alias("hash")).agg(*_sketches(F.col("hash"), empty)).collect()
    return _filled(empty, row)


def _sketches(hashed: Column, empty: KeyStatistics) -> list[Column]:
    tracked, buckets = empty.sketch.capacity, len(empty.bucket_loads)
    bucket = hashed.bitwiseAND(F.lit(buckets - 1))
    return [
        _top(hashed, tracked, 4 * tracked).alias("keys"),
        _top(bucket, buckets, 2 * buckets).alias("buckets"),
    ]


def _top(column: Column, k: int, counters: int) -> Column:
    counters = min(counters, _MOST_TRACKED)
    return F.call_function("approx_top_k", column, F.lit(min(k, counters)), F.lit(counters))


def _filled(empty: KeyStatistics, row: Mapping[str, Any] | Row) -> KeyStatistics:
    keys, counts = _items(row["keys"])
    empty.add_counted(keys.view(np.uint64), counts)
    buckets, loads = _items(row["buckets"])
    empty.bucket_loads[:] = 0
    empty.bucket_loads[buckets] = loads
    return empty


def _items(rows: Iterable[Row]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    known = [(row["item"], row["count"]) for row in rows if row["item"] is not None]
    items = np.array([item for item, _ in known], dtype=np.int64)
    return items, np.array([count for _, count in known], dtype=np.float64)


def learn_from(
    df: DataFrame, hashed: Column, grouping: Planned, workers: int, tables: RoutingTables
) -> DataFrame:
    """Let a stream tell its keys, epoch by epoch, and plan from them.

    One row in 8, drawn at random, is counted. An epoch's figures reach the driver when the next
    one may have started, so they serve the one after that: table N + 2 is made of epoch N.
    """
    name = f"evenkey-keys-{uuid.uuid4()}"
    listener = _PlanningListener(name, grouping, workers, tables)
    df.sparkSession.streams.addListener(listener)
    # Observed expressions must not draw random numbers themselves.
    sampled = df.withColumn(_SAMPLE, F.when(F.rand() < 1 / _SAMPLED, hashed))
    sketches = _sketches(F.col(_SAMPLE), grouping.statistics(workers))
    return sampled.observe(name, *sketches).drop(_SAMPLE)


class _PlanningListener(StreamingQueryListener):
    def __init__(self, name: str, grouping: Planned, workers: int, tables: RoutingTables) -> None:
        self._name = name
        self._grouping = grouping
        self._workers = workers
        self._tables = tables

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        progress = event.progress
        row = progress.observedMetrics.get(self._name)
        if row is None or row["keys"] is None:
            return
        statistics = _filled(self._grouping.statistics(self._workers), row)
        query, epoch = str(progress.id), progress.batchId
        try:
            before = read_memory(self._tables, query, epoch + _LAG)
            memory = self._grouping.learned(before, statistics, self._workers)
            self._tables.under(query).write(epoch + _LAG, RoutingTable(memory))
        except EvenkeyError as error:
            logger.warning("%s; the plan of before is followed on", error)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        pass
