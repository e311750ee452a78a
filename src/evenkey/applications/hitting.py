"""Find the heavy hitters of a DataFrame, with evenkey's summaries or Spark's sketch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as F

from evenkey.aggregators import HeavyHitters
from evenkey.core.checking import check_one_of
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import parse as parse_grouping
from evenkey.spark import aggregate
from evenkey.spark.aggregates import check_names, with_keys
from evenkey.spark.keys import (
    Windows,
    check_frame,
    column_names,
    one_key,
    time_column,
    windowed_column,
    without_far_ahead,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from evenkey.groupings import Grouping

_ITEMS = "__items"


def heavy_hitters(
    df: DataFrame,
    key: str | Sequence[str],
    k: int = 20,
    *,
    capacity: int | None = None,
    through: Literal["evenkey", "spark"] = "evenkey",
    grouping: str | Grouping = "pkg",
    workers: int = 4,
    time: str | None = None,
    window: str | None = None,
    watermark: str = "0 seconds",
    max_ahead: str | None = "1 hour",
    state: str | Path | None = None,
) -> DataFrame:
    """Find the most frequent keys of a batch or a stream.

    Parameters
    ----------
    df
        Batch or streaming.
    key
        Key column, or columns that form the key together.
    k
        Maximum number of keys in the result, at least 1.
    capacity
        Maximum number of keys that each worker tracks, at least `k`. None: the larger of
        ``10 * k`` and 1000.
    through
        ``evenkey``: SpaceSaving summaries on workers that `grouping` chooses; each count has an
        error bound. ``spark``: Spark's own ``approx_top_k``, a frequent-items sketch of Apache
        DataSketches that tracks `capacity` items; `grouping`, `workers` and `state` are not used.
        The counts of ``spark`` are estimates that may be too high. They have no error bound, so
        ``error`` and ``terms`` are null. ``spark`` leaves out null keys, and keys that the sketch
        cannot distinguish from less frequent keys, so there may be fewer than `k` rows.
    grouping
        A grouping or its spelling, such as ``"pkg(choices=3)"``. The fewer workers a key is sent
        to, the smaller the errors of its count.
    workers
        Number of workers, at least 1.
    time
        Timestamp column, needed for windows.
    window
        Length of tumbling windows of event time, such as ``"1 minute"``; needs `time`. Required in
        a stream.
    watermark
        How far the watermark is behind the latest event time: a stream waits this long for late
        messages.
    max_ahead
        How far the event time of a stream's row may be ahead of the epoch's processing time; rows
        further ahead are left out. None: all rows are used. In a batch, all rows are used.
    state
        Storage location of plans, and of what carries over from epoch to epoch, in addition to the
        query's checkpoint: a path or URI that the driver and all executors share. None: a temporary
        directory, deleted when the query ends.

    Returns
    -------
    DataFrame
        ``window`` (only if there are windows; as in `evenkey.spark.aggregate`), the columns of
        the key, ``count``, ``error``, ``terms`` and ``rank``.

    Raises
    ------
    ConfigurationError
        `through` is unknown, a parameter is out of range, ``spark`` gets a key of several columns,
        or `evenkey.spark.aggregate` raises the error.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id as amount")
    >>> found = heavy_hitters(clicks, "user", k=1, workers=2)
    >>> [(row["user"], row["count"], row["error"]) for row in found.collect()]
    [('ann', 80, 0)]
    """
    check_frame(df)
    check_one_of("through", through, ("evenkey", "spark"))
    keys = column_names(key)
    choices = parse_grouping(grouping).most_workers_of_a_key
    hitters = HeavyHitters(k, capacity, choices)
    own = ("count", "error", "terms", "rank")
    check_names(df, keys, own if window is None else ("window", *own), hitters)
    if through == "evenkey":
        found = aggregate(
            df,
            key,
            grouping,
            workers,
            hitters,
            time=time,
            window=window,
            watermark=watermark,
            max_ahead=max_ahead,
            state=state,
        )
        return with_keys(found, keys)
    if len(keys) > 1:
        message = (
            f"key = {list(keys)}: Spark's approx_top_k takes one column; pass through='evenkey', "
            "or combine the columns into one"
        )
        raise ConfigurationError(message)
    Windows(time, window, watermark, max_ahead).check(df)
    column = one_key(df, keys)
    groups = []
    if window is not None and time is not None:
        # A watermark needs a timestamp with a time zone.
        event_time = (time_column if df.isStreaming else windowed_column)(df, time)
        df = df.withColumn("__time", event_time)
        if df.isStreaming:
            if max_ahead is not None:
                df = without_far_ahead(df, time_column(df, time), max_ahead)
            df = df.withWatermark("__time", watermark)
        groups = [F.window("__time", window).alias("window")]
    named = df.withColumn("__key", column)
    items = F.expr(f"approx_top_k(__key, {k}, {hitters.counters})").alias(_ITEMS)
    windows = ["window"] if groups else []
    ranked = named.groupBy(*groups).agg(items).select(*windows, F.posexplode(_ITEMS))
    nothing = F.lit(None).cast("bigint")
    found = ranked.select(
        *windows,
        F.col("col.item").alias("key"),
        F.col("col.count").alias("count"),
        nothing.alias("error"),
        nothing.alias("terms"),
        (F.col("pos") + 1).cast("bigint").alias("rank"),
    )
    return with_keys(found, keys)
