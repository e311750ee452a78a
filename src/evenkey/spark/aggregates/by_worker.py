"""Two-step aggregation for real time: by key and worker in the query, then by key in the reader.

In real-time mode Spark has no partial aggregation before the shuffle, and in update mode it refuses
two stateful aggregations in one query. So the query aggregates by key and worker, and sends such an
aggregate whenever it changes. The reader keeps the latest aggregate of each key and worker, and
merges the aggregates of a key (`merge_workers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, IntegralType, NumericType, TimestampNTZType

from evenkey.core.checking import check_workers, shown
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import parse
from evenkey.spark.aggregates.by_name import COUNT, AggregateByName, parsed_aggregates
from evenkey.spark.keys.event_times import Windows, without_far_ahead
from evenkey.spark.keys.given_columns import (
    absent,
    check_frame,
    check_groupable,
    column_names,
    find_columns,
    has_collation,
    number_column,
    parts_of_type,
    quoted,
    same_name,
    time_column,
)
from evenkey.spark.routing.add_worker import routed
from evenkey.spark.routing.real_time import check_state_in_real_time
from evenkey.spark.routing.to_workers import place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping

_TIME, _VALUE = "__evenkey_time", "__evenkey_value_"
WINDOW, WORKER, SPLIT = "window", "worker", "split"
_DIGITS = 38


def aggregate_by_worker(
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping = "planned",
    workers: int = 10,
    aggregates: Mapping[str, str] = COUNT,
    *,
    time: str | None = None,
    window: str | None = None,
    watermark: str = "0 seconds",
    max_ahead: str | None = "1 hour",
    state: str | Path | Store | None = None,
    position: str | None = None,
) -> DataFrame:
    """Aggregate by key and worker on balanced workers, with Spark's own operators.

    Use this function in real-time mode (``trigger(realTime=...)``) with output mode update.
    Micro-batches in update mode and batches return the same rows. The grouping routes the input
    rows, and `place` moves them in one shuffle, without Python. Each worker keeps the state of its
    rows. The result has one row per key and worker; `merge_workers` merges the rows of a key to one
    row.

    Parameters
    ----------
    df
        Batch or streaming.
    key
        Key column, or columns that form the key together.
    grouping
        ``"planned"`` or ``"kg"``.
    workers
        Number of workers, at least 1.
    aggregates
        Aggregates by the names of their result columns. Each aggregate is ``"count"``,
        ``"count(column)"``, ``"sum(column)"``, ``"min(column)"`` or ``"max(column)"``, and uses
        Spark's function of that name. By default there is one column ``count``, the number of rows.
    time
        Timestamp column of the windows; needs `window`.
    window
        Length of tumbling windows of event time, such as ``"1 minute"``; needs `time`. None: no
        windows; in a stream, the state of a key is then never dropped.
    watermark
        How far the watermark is behind the latest event time: a stream waits this long for late
        messages.
    max_ahead
        How far the event time of a stream's row may be ahead of the epoch's processing time. A row
        further ahead is left out, because it would move the watermark past later rows. None: all
        rows are used. In a batch, all rows are used.
    state
        Storage location of plans, in addition to the query's checkpoint: a path or URI that the
        driver and all executors share. None: a temporary directory, deleted when the query ends.
    position
        Column of whole numbers by which ``planned`` distributes the rows of split keys, such as
        Kafka's offset. A stream under ``planned`` needs it.

    Returns
    -------
    DataFrame
        ``window`` if there are windows, the key's columns, the int column ``worker``, and one
        column per aggregate. Sums of whole numbers are decimal(38, 0), which does not overflow.
        A stream in update mode sends a row again whenever the row changes.

    Raises
    ------
    ConfigurationError
        `route` raises this error; an aggregate is unknown or does not accept the type of its
        column; two columns have the same name; the stream cannot be aggregated in real time, for
        the same reasons as with ``real_time=True`` of `route`; or a Spark setting that real time
        needs (`REAL_TIME_SETTINGS`) is missing.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> held = aggregate_by_worker(clicks, "user", "kg", workers=4)
    >>> held.columns
    ['user', 'worker', 'count']
    """
    check_frame(df)
    check_workers(workers)
    grouping = parse(grouping)
    keys = find_columns(df, column_names(key))
    check_groupable(df, keys)
    _check_collations(df, keys)
    wanted = parsed_aggregates(aggregates)
    own = [*([] if window is None else [WINDOW]), WORKER, SPLIT, *(each.name for each in wanted)]
    _check_names(df, keys, own)
    by = [*([] if window is None else [WINDOW]), *keys]
    if window is not None or time is not None:
        df = _windowed(df, time, window, watermark, max_ahead)
    values = {
        f"{_VALUE}{number}": _value(df, each)
        for number, each in enumerate(wanted)
        if each.column is not None
    }
    if position is not None:
        values["__evenkey_position"] = number_column(df, position, "position")
    df = df.select(*map(quoted, by), *(column.alias(name) for name, column in values.items()))
    df = routed(
        df,
        keys,
        grouping,
        workers,
        state=state,
        position=None if position is None else "__evenkey_position",
        real_time=df.isStreaming,
    )
    if df.isStreaming:
        check_state_in_real_time(df.sparkSession, workers)
    placed = place(df, workers, by="split", key=by)
    functions = {"count": F.count, "sum": F.sum, "min": F.min, "max": F.max}
    made = [
        functions[each.function](
            F.lit(1) if each.column is None else F.col(f"{_VALUE}{number}")
        ).alias(each.name)
        for number, each in enumerate(wanted)
    ]
    # Rows with the same key and split have the same worker, so the maximum returns this worker.
    parts = placed.groupBy(*map(quoted, by), SPLIT).agg(F.max(WORKER).alias(WORKER), *made)
    return parts.select(*map(quoted, by), WORKER, *(quoted(each.name) for each in wanted))


def _check_names(df: DataFrame, keys: Sequence[str], own: Sequence[str]) -> None:
    for number, name in enumerate(own):
        for other in [*keys, *own[:number]]:
            if same_name(df, name, other):
                message = (
                    f"{name!r}: the result would have two columns of that name; {WINDOW}, {WORKER} "
                    f"and {SPLIT} are columns that this function adds: rename yours"
                )
                raise ConfigurationError(message)


def _check_collations(df: DataFrame, keys: Sequence[str]) -> None:
    """Refuse key columns whose collation makes texts equal although their hashes differ."""
    for key in keys:
        kind = df.schema[key].dataType
        if any(map(has_collation, parts_of_type(kind))):
            message = (
                f"key = {key!r} is of type {kind.simpleString()}: its collation makes texts equal "
                "that have different hashes; make them equal: "
                f"F.collate(F.lower({key!r}), 'UTF8_BINARY')"
            )
            raise ConfigurationError(message)


def _windowed(
    df: DataFrame, time: str | None, window: str | None, watermark: str, max_ahead: str | None
) -> DataFrame:
    if window is None or time is None:
        given, missing = ("time", "window") if window is None else ("window", "time")
        message = (
            f"{given} = {shown(time or window)}: it needs {missing}=... too; pass both or none"
        )
        raise ConfigurationError(message)
    Windows(time, window, watermark, max_ahead).check(df)
    (found,) = find_columns(df, time, "time")
    if isinstance(df.schema[found].dataType, TimestampNTZType):
        message = (
            f"time = {time!r}: it has no time zone, and Spark has no watermarks on such times; "
            f"convert it: df.withColumn({time!r}, F.to_utc_timestamp({time!r}, 'UTC'))"
        )
        raise ConfigurationError(message)
    absent(df, WINDOW)
    at = time_column(df, time)
    if df.isStreaming and max_ahead is not None:
        df = without_far_ahead(df, at, max_ahead)
    timed = df.withColumn(_TIME, at)
    if df.isStreaming:
        timed = timed.withWatermark(_TIME, watermark)
    return timed.withColumn(WINDOW, F.window(_TIME, window))


def _value(df: DataFrame, each: AggregateByName) -> Column:
    """Return the column that an aggregate reads; for a sum of whole numbers, as decimal(38, 0)."""
    (found,) = find_columns(df, str(each.column), f"aggregates[{each.name!r}]")
    kind, column = df.schema[found].dataType, quoted(found)
    if each.function != "sum":
        return column
    if not isinstance(kind, NumericType):
        message = (
            f"{each.name} = sum({found}): the column is of type {kind.simpleString()}, which is "
            "not a number: cast it"
        )
        raise ConfigurationError(message)
    return column.cast(DecimalType(_DIGITS, 0)) if isinstance(kind, IntegralType) else column
