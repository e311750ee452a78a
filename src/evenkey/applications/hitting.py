"""Heavy hitters of a DataFrame, by evenkey's summaries or by Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as F

from evenkey.aggregators import HeavyHitters
from evenkey.applications.heavy_keys import workers_of_a_key
from evenkey.errors import ConfigurationError
from evenkey.groupings import parse as parse_grouping
from evenkey.spark.aggregate import aggregate, check_windows
from evenkey.spark.columns import key_columns, time_column, windowed_column
from evenkey.spark.times import without_far_ahead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.groupings import Grouping

__all__ = ["heavy_hitters"]

_ITEMS = "__items"


def heavy_hitters(
    df: DataFrame,
    key: str,
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
) -> DataFrame:
    """Find the most frequent keys, batch or streaming.

    Parameters
    ----------
    df, key, grouping, workers, time, window, watermark, max_ahead
        As for `evenkey.spark.aggregate`.
    k, capacity
        As for the aggregator `HeavyHitters`.
    through
        ``evenkey``: SpaceSaving summaries on workers chosen by `grouping`; each count comes with
        its error. ``spark``: Spark's own ``approx_top_k``, a frequent-items sketch of Apache
        DataSketches that tracks `capacity` items; `grouping` and `workers` are not used. It
        gives an estimate that may be too high and tells no error, so ``error`` and ``terms``
        are null; it leaves out null keys, and keys that it cannot tell from lighter ones, so
        there may be fewer than `k`.

    Returns
    -------
    DataFrame
        ``window_start`` and ``window_end`` where there are windows, `key`, ``count``, ``error``,
        ``terms`` and ``rank``.

    Raises
    ------
    ConfigurationError
        As `aggregate` does; there is no such way, or a parameter is out of range.
    """
    choices = workers_of_a_key(parse_grouping(grouping))
    hitters = HeavyHitters(k, capacity, choices)
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
        )
        return found.withColumnRenamed("key", key)
    if through != "spark":
        message = f"through = {through!r}: must be 'evenkey' or 'spark'"
        raise ConfigurationError(message)
    check_windows(df, time=time, window=window, watermark=watermark, max_ahead=max_ahead)
    (column,) = key_columns(df, key)
    groups, bounds = [], []
    if window is not None and time is not None:
        # Spark has no watermark of times without a zone.
        event_time = (time_column if df.isStreaming else windowed_column)(df, time)
        df = df.withColumn("__time", event_time)
        if df.isStreaming:
            if max_ahead is not None:
                df = without_far_ahead(df, time_column(df, time), max_ahead)
            df = df.withWatermark("__time", watermark)
        groups = [F.window("__time", window).alias("window")]
        bounds = [F.col(f"window.{end}").alias(f"window_{end}") for end in ("start", "end")]
    named = df.withColumn("__key", column)
    items = F.expr(f"approx_top_k(__key, {k}, {hitters.counters})").alias(_ITEMS)
    ranked = named.groupBy(*groups).agg(items).select(*bounds, F.posexplode(_ITEMS))
    nothing = F.lit(None).cast("bigint")
    return ranked.select(
        *(bound for bound in ranked.columns if bound not in ("pos", "col")),
        F.col("col.item").alias(key),
        F.col("col.count").alias("count"),
        nothing.alias("error"),
        nothing.alias("terms"),
        (F.col("pos") + 1).cast("bigint").alias("rank"),
    )
