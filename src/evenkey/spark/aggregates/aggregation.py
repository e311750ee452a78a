"""`aggregate`: route and place rows, compute partial aggregates on workers, merge them by key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampNTZType

from evenkey.aggregators import WORKER, Aggregator, Algebraic, parse, parse_all
from evenkey.core.checking import check_text, shown
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import parse as parse_grouping
from evenkey.groupings import planner_of
from evenkey.spark.aggregates.key_counts import CountingWorker, OfWorkers
from evenkey.spark.aggregates.partial import worked
from evenkey.spark.aggregates.partial_task import STATES, TIME, FinishTask, MergeTask, WorkerTask
from evenkey.spark.aggregates.unchanged import SameAggregator, with_same_aggregator
from evenkey.spark.keys.event_times import without_far_ahead
from evenkey.spark.keys.exact_sums import count_overflows, finished_natively, merged_natively
from evenkey.spark.keys.given_columns import (
    check_frame,
    column_names,
    find_columns,
    same_name,
    time_column,
)
from evenkey.spark.keys.multi_column_keys import check_groupable, check_result, with_keys
from evenkey.spark.plans.places import check_state, tables_of
from evenkey.spark.plans.plan_source import Learned
from evenkey.spark.routing.add_worker import routed
from evenkey.spark.sessions.query_events import listen
from evenkey.spark.sessions.versions import from_arrow_schema
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping
    from evenkey.spark.routing.tasks import Load

_DURATION = re.compile(
    r"(\d+\s+(week|day|hour|minute|second|millisecond|microsecond)s?(\s+|$))+", re.IGNORECASE
)


def aggregate(  # noqa: PLR0913 - all options of the operator, most of them by name only
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping = "planned",
    workers: int = 10,
    aggregator: str | Aggregator | None = None,
    *,
    aggregators: Mapping[str, str | Aggregator] | None = None,
    time: str | None = None,
    window: str | None = None,
    watermark: str = "0 seconds",
    max_ahead: str | None = "1 hour",
    rate: float = 100.0,
    load: Load = "epoch",
    state: str | Path | Store | None = None,
    position: str | None = None,
) -> DataFrame:
    """Aggregate by key on balanced workers, with the same result as a plain aggregation.

    Rows are routed (`route`) and placed on their workers. Each worker computes partial aggregates
    in Python, and Spark merges the partial aggregates of a key from all workers.

    Under ``planned``, the workers of a stream count their rows by key, and the plan of the next
    epoch is made from these counts. The hashes of a stream's keys go to Python, which spreads keys
    that become hot unexpectedly, also in the first epoch. The keys of a batch are counted first,
    and the rows of the batch are then routed natively, without Python. A stream under
    ``planned(surprise=none)`` is routed natively too: this saves the transfer to Python, but load
    is not balanced when hot keys change.

    Parameters
    ----------
    df
        Batch or streaming.
    key
        Key column, or columns that form the key together.
    grouping
        A grouping or its spelling, such as ``"pkg(choices=3)"``.
    workers
        Number of workers, at least 1.
    aggregator
        An aggregator or its spelling: ``"count"``, ``"sum(column=amount)"``, ``"top-k(k=10)"``.
        None: ``"count"``, unless there are `aggregators`.
    aggregators
        Several aggregators for one pass, by the names of their result columns:
        ``{"orders": "count", "revenue": Sum("amount")}``. Each has one result per key. The result
        of an aggregator with several result columns is a struct. The result of an aggregator with
        several rows per key, such as a tally, is an array. None: only `aggregator` is used.
    window
        Length of tumbling windows of event time, such as ``"1 minute"``; needs `time`. Required in
        a stream: the results of a window are emitted once, when the watermark has passed the end of
        the window.
    watermark
        How far the watermark is behind the latest event time: a stream waits this long for late
        messages.
    max_ahead
        How far the event time of a stream's row may be ahead of the epoch's processing time. A row
        further ahead would move the watermark past later rows. So such a row is left out, and
        counted in the query's progress (`rows_far_ahead` reads the count). None: all rows are used,
        for example in streams whose times lie in the future. In a batch, all rows are used.
    time
        Timestamp column, needed for windows and used by groupings that use times. None: in a
        stream, the time of a row is the processing time of the epoch. In a batch, it is the
        position of the row in its partition divided by `rate`.
    rate
        Messages per second and source, used to compute times in a batch without `time`.
    load
        ``epoch``: local loads start at zero in each epoch, so each epoch is balanced separately.
        ``lifetime``: loads carry over from epoch to epoch, as in the papers.
    state
        Storage location of plans, and of what carries over from epoch to epoch, in addition to the
        query's checkpoint: a path or URI that the driver and all executors share. None: a temporary
        directory, deleted when the query ends, so that a restarted query learns again.
    position
        Column of whole numbers by which ``planned`` distributes the rows of split keys, such as
        Kafka's offset. It is meant for streams, because Spark does not number their rows.

    Returns
    -------
    DataFrame
        First ``window`` if there are windows: a struct, as Spark's ``groupBy(window)`` returns it.
        Then, if the aggregator has one result per key, the columns of the key under their own
        names. Then the result columns of the aggregator. If the aggregator has one result per
        window, such as ``top-k``, a key of several columns is one struct column ``key``.

    Raises
    ------
    ConfigurationError
        `route` raises this error; a column of the aggregator is missing or of a type that the
        aggregator does not accept; two columns of the result, key columns included, have the same
        name; `aggregator` and `aggregators` are both given; a stream has no `window`; a `window` is
        given without `time`; or a duration is invalid.

    Notes
    -----
    A null key is a key like any other, as in Spark's ``groupBy``.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> adding = {"aggregator": "sum(column=id)"}
    >>> totals = clicks.transform(aggregate, "user", "planned", workers=4, **adding)
    >>> sorted((row["user"], row["sum"]) for row in totals.collect())
    [('ann', 3920), ('bob', 1030)]
    """
    check_frame(df)
    chosen = _chosen(aggregator, aggregators)
    keys = column_names(key)
    check_groupable(df, keys)
    check_windows(df, time=time, window=window, watermark=watermark, max_ahead=max_ahead)
    if df.isStreaming and time is not None and max_ahead is not None:
        df = without_far_ahead(df, time_column(df, time), max_ahead)
    grouping = parse_grouping(grouping)
    check_state(state)
    learned = None
    planned = planner_of(grouping)
    if df.isStreaming and planned is not None and planned.learns_epochs:
        grouping.router(workers)
        tables, mark = tables_of(df.sparkSession, state, str(planned), workers)
        learned = Learned(tables, mark, OfWorkers(planned, workers))
    if df.isStreaming and state is not None:
        grouping.router(workers)
        tables, mark = tables_of(df.sparkSession, state, str(grouping), workers)
        why = ""
        if WORKER in chosen.columns:
            why = f"{chosen.name} uses the workers that a key is on while a window is open"
        known = SameAggregator(tables, mark, str(chosen), chosen.functions_digest, why)
        df = with_same_aggregator(df, known)
    placeable = routed(
        df,
        key,
        grouping,
        workers,
        time=time,
        rate=rate,
        load=load,
        state=state,
        column=WORKER,
        position=position,
        learn=learned or True,
        spread=True,
        contents=_used(df, keys, chosen, time, position),
    )

    def worker(bound: Aggregator, by: tuple[str, ...]) -> WorkerTask:
        check_result(df, keys, bound, windowed=window is not None)
        if learned is None or planned is None:
            return WorkerTask(bound, by)
        return CountingWorker(bound, by, learned, planned)

    partials, bound = worked(placeable, key, chosen, workers, worker, time=time, window=window)
    if df.isStreaming:
        listen(df.sparkSession)  # the listener says why Spark refuses the states in a checkpoint
    merged = merge_partials(
        partials,
        bound,
        window=window,
        watermark=watermark,
        zoned=not (time is not None and _has_no_zone(df, time)),
    )
    return with_keys(merged, keys) if bound.scope == "key" else merged


def _used(
    df: DataFrame, keys: tuple[str, ...], aggregator: Aggregator, *more: str | None
) -> list[str]:
    """List the columns of a frame that the aggregation uses; Spark need not read the others."""
    wanted = {*keys, *aggregator.columns, *(name for name in more if name is not None)}
    return [name for name in df.columns if any(same_name(df, name, each) for each in wanted)]


def _chosen(
    aggregator: str | Aggregator | None, aggregators: Mapping[str, str | Aggregator] | None
) -> Aggregator:
    """Parse the requested aggregator."""
    if aggregators is None:
        return parse("count" if aggregator is None else aggregator)
    if aggregator is not None:
        message = (
            f"aggregator = {shown(aggregator)}: aggregators are given too; pass one of the two"
        )
        raise ConfigurationError(message)
    return parse_all(aggregators)


def check_windows(
    df: DataFrame,
    *,
    time: str | None,
    window: str | None,
    watermark: str,
    max_ahead: str | None,
) -> None:
    """Check that durations are valid, that a window has a time, and that a stream has a window.

    Raises
    ------
    ConfigurationError
        A stream has no `window`, a `window` is given without `time`, or a duration is invalid.
    """
    durations = {"window": window, "watermark": watermark, "max_ahead": max_ahead}
    for name, duration in durations.items():
        if duration is not None or name == "watermark":
            check_text(name, duration, "1 minute")
    if window is not None and time is None:
        message = f"window = {window!r} needs time=...: the timestamp column of the messages"
        raise ConfigurationError(message)
    for name, duration in durations.items():
        if duration is not None and not _DURATION.fullmatch(duration):
            message = f"{name} = {duration!r}: must be a duration, such as '1 minute'"
            raise ConfigurationError(message)
    if window is not None and not re.search("[1-9]", window):
        message = f"window = {window!r}: must be longer than 0"
        raise ConfigurationError(message)
    if df.isStreaming and window is None:
        message = (
            "a stream is aggregated in windows: pass window=... (such as '1 minute') and time=..."
        )
        raise ConfigurationError(message)


def _has_no_zone(df: DataFrame, time: str) -> bool:
    (found,) = find_columns(df, time, "time")
    return isinstance(df.schema[found].dataType, TimestampNTZType)


def merge_partials(
    partials: DataFrame,
    aggregator: Aggregator,
    *,
    window: str | None,
    watermark: str,
    zoned: bool = True,
    clock: str | None = None,
) -> DataFrame:
    """Merge partial aggregates by window and key, and compute the results.

    `clock` is a column of timestamps that the watermark of a stream follows instead of the rows'
    own times: while the clock does not advance, all windows stay open and no row is late. Rows with
    different clock values are not merged.

    Column ``window`` is a struct, as Spark's ``groupBy(window)`` returns it. Spark has no
    watermarks on times without a zone. So if the times of the messages have no zone (`zoned` is
    False), the partial aggregates have these times as UTC. This function then removes the zone from
    the windows.

    In a stream, this uses Spark's stateful aggregation with a watermark, in append mode. In a
    batch, states are sorted before they are merged, so that rounding is the same in every run.
    """
    by: tuple[str, ...] = ("key",) if aggregator.scope == "key" else ()
    groups = [F.col(name) for name in by]
    if window is not None:
        if partials.isStreaming:
            partials = partials.withWatermark(clock or TIME, watermark)
        groups = [F.window(TIME, window).alias("window"), *groups]
    if isinstance(aggregator, Algebraic):
        types = {field.name: field.dataType for field in partials.schema}
        states = [
            merged_natively(how, name, types[name]).alias(name)
            for name, how in aggregator.merges.items()
        ]
    else:
        collected = F.collect_list(F.struct(*aggregator.state.names))
        # Spark cannot sort maps.
        kinds = StructType([partials.schema[name] for name in aggregator.state.names])
        if not partials.isStreaming and "map<" not in kinds.simpleString():
            collected = F.sort_array(collected)
        states = [collected.alias(STATES)]
    clocks = [] if clock is None else [clock]
    merged = partials.groupBy(*clocks, *groups).agg(*states).drop(*clocks)
    if window is not None:
        by = ("window", *by)
        if not zoned:
            merged = merged.withColumn("window", _without_zone(merged))
            # Spark recognizes windows by this metadata, which the aliases above lose over Connect.
            merged = merged.withMetadata("window", {"spark.timeWindow": True})
    if isinstance(aggregator, Algebraic):
        merged = count_overflows(merged, aggregator)
        if aggregator.casts is not None:
            return merged.select(*by, *finished_natively(aggregator, aggregator.casts))
    finish = FinishTask if isinstance(aggregator, Algebraic) else MergeTask
    fields = [merged.schema[name] for name in by]
    schema = StructType([*fields, *from_arrow_schema(aggregator.result).fields])
    task = in_workers(merged.sparkSession, finish(aggregator, by))
    return merged.mapInArrow(task, schema)


def _without_zone(merged: DataFrame) -> Column:
    """Convert the bounds of the windows from UTC to timestamps without a time zone."""
    bounds = []
    for end in ("start", "end"):
        seconds = F.unix_micros(f"window.{end}").cast("decimal(20)") / F.lit(1_000_000)
        bound = F.expr("TIMESTAMP_NTZ '1970-01-01'") + F.make_dt_interval(secs=seconds)
        bounds.append(bound.alias(end))
    windows = F.struct(*bounds)
    if merged.schema["window"].nullable:
        windows = F.when(F.col("window").isNotNull(), windows)
    return windows
