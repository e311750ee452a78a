"""What plans are made from: keys counted natively, all at once or as a stream flows by."""

from __future__ import annotations

import functools
import json
import logging
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError, EvenkeyError
from evenkey.spark.plans.lookup import read_memory
from evenkey.spark.plans.store_at import store_of
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.access import at_state
from evenkey.spark.sessions.query_events import listen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.groupings import KeyStatistics, PlannedGrouping

logger = logging.getLogger(__name__)

_METRIC = "evenkey-keys-"
_SAMPLE = "__evenkey_sample"
_SAMPLED = 8
"""Of so many rows of a stream one is counted."""
_LAG = 2
_FINE = 16
_MOST_TRACKED = 1_000_000  # Spark's own limit


def weighed(
    df: DataFrame, hashed: Column, cost: Column | None, empty: KeyStatistics
) -> KeyStatistics:
    """Weigh the keys of a batch DataFrame: by their rows, or by costs.

    Parameters
    ----------
    df
        Batch.
    hashed
        Hashes of its keys.
    cost
        What each row costs; None: each row costs the same.
    empty
        Statistics to be filled, which are given back.

    Raises
    ------
    ConfigurationError
        A key's costs add up to less than nothing, or to no number.
    """
    if cost is None:
        return count_keys(df, hashed, empty)
    return sum_costs(df, hashed, cost, empty)


def count_keys(df: DataFrame, hashed: Column, empty: KeyStatistics) -> KeyStatistics:
    """Count the keys of a batch DataFrame natively, in one pass.

    The heaviest keys come from Spark's ``approx_top_k``, a sketch; the histogram of the buckets
    is exact, as there are more counters than buckets.
    """
    (row,) = df.select(hashed.alias("hash")).agg(*_sketches(F.col("hash"), empty)).collect()
    return _filled(empty, row.asDict(recursive=True))


def sum_costs(df: DataFrame, hashed: Column, cost: Column, empty: KeyStatistics) -> KeyStatistics:
    """Sum the costs of a batch DataFrame by key; a cost that is null is none.

    Sums are exact. Each bucket has `_FINE` finer ones, and the heaviest key of each of these goes
    to the driver, where it is known one by one; the others count with their bucket.
    """
    by_key = df.groupBy(hashed.alias("hash")).agg(F.sum(cost.cast("double")).alias("cost"))
    costs = by_key.withColumn("cost", F.coalesce("cost", F.lit(0.0)))
    fine = F.col("hash").bitwiseAND(F.lit(_FINE * len(empty.bucket_loads) - 1))
    figures = [
        F.sum("cost").alias("cost"),
        F.min("cost").alias("least"),
        F.max(F.struct("cost", "hash")).alias("heaviest"),
        F.count(F.lit(1)).alias("keys"),
    ]
    sums = costs.groupBy(fine.alias("fine")).agg(*figures).toArrow()
    loads, least = sums["cost"].to_numpy(), sums["least"].to_numpy()
    if not (np.isfinite(loads).all() and (least >= 0).all()):
        message = (
            f"cost: the rows of some key cost {min(least.min(), loads.min())} together; a key's "
            "costs must add up to a finite number of at least 0"
        )
        raise ConfigurationError(message)
    keys = pc.struct_field(sums["heaviest"], "hash").to_numpy().view(np.uint64)
    empty.add_counted(keys, pc.struct_field(sums["heaviest"], "cost").to_numpy())
    count = len(empty.bucket_loads)
    buckets = sums["fine"].to_numpy() & (count - 1)
    empty.bucket_loads = np.bincount(buckets, loads, minlength=count).astype(np.float64)
    of_keys = np.bincount(buckets, sums["keys"].to_numpy(), minlength=count)
    empty.bucket_keys = of_keys.astype(np.int64)
    return empty


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


def _filled(empty: KeyStatistics, values: Mapping[str, Any]) -> KeyStatistics:
    keys, counts = _items(values["keys"])
    empty.add_counted(keys.view(np.uint64), counts)
    buckets, loads = _items(values["buckets"])
    empty.bucket_loads[:] = 0
    empty.bucket_loads[buckets] = loads
    return empty


def _items(rows: Iterable[Mapping[str, Any]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    known = [(row["item"], row["count"]) for row in rows if row.get("item") is not None]
    items = np.array([item for item, _ in known], dtype=np.int64)
    return items, np.array([count for _, count in known], dtype=np.float64)


def learn_from(
    df: DataFrame, hashed: Column, grouping: PlannedGrouping, workers: int, tables: RoutingTables
) -> DataFrame:
    """Count the keys of a stream, epoch by epoch, and plan from them.

    One row in 8, drawn at random, is counted. An epoch's figures reach the driver when the next
    one may have started, so they serve the one after that: table N + 2 is made of epoch N.
    """
    _groupings[str(grouping)] = grouping
    metric = _Metric(tables.store.url, str(grouping), workers, uuid.uuid4().hex)
    listen(df.sparkSession, metrics={_METRIC: _receive})
    # Observed expressions must not draw random numbers themselves.
    sampled = df.withColumn(_SAMPLE, F.when(F.rand() < 1 / _SAMPLED, hashed))
    sketches = _sketches(F.col(_SAMPLE), grouping.statistics(workers))
    return sampled.observe(_METRIC + json.dumps(metric), *sketches).drop(_SAMPLE)


class _Metric(NamedTuple):
    """What the name of the metric says: the stream's plan holds it, and nobody else must."""

    tables: str
    grouping: str
    workers: int
    unique: str


# By their spelling: there are as many as groupings, however many streams there are.
_groupings: dict[str, PlannedGrouping] = {}


def _receive(session: SparkSession | None, name: str, values: Any, progress: Any) -> None:
    if values.get("keys") is None or session is None:
        return
    metric = _Metric(*json.loads(name.removeprefix(_METRIC)))
    grouping, workers = _groupings[metric.grouping], metric.workers
    statistics = _filled(grouping.statistics(workers), values)
    query, epoch = str(progress.id), progress.batchId + _LAG
    try:
        tables = RoutingTables(store_of(session, metric.tables), metric.grouping, workers)
        at_state(session, functools.partial(_learn, tables, query, epoch, grouping, statistics))
    except (EvenkeyError, PySparkException) as error:
        logger.warning("%s; the plan of before is followed on", error)


def _learn(
    tables: RoutingTables,
    query: str,
    epoch: int,
    grouping: PlannedGrouping,
    statistics: KeyStatistics,
) -> None:
    before = read_memory(tables, query, epoch)
    memory = grouping.learned(before, statistics, tables.workers)
    tables.of_query(query).write(epoch, RoutingTable(memory))
