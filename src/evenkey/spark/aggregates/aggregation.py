"""`aggregate`: route and place rows, compute partial aggregates on workers, merge them by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.aggregators import WORKER, Aggregator, parse, parse_all
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import parse as parse_grouping
from evenkey.spark.aggregates.merged_states import check_result, merge_partials, with_keys
from evenkey.spark.aggregates.partial import worked
from evenkey.spark.aggregates.rows_to_aggregate import BatchRows, RowsToAggregate, StreamRows
from evenkey.spark.keys.event_times import Windows
from evenkey.spark.keys.given_columns import check_groupable, column_names, find_used, has_zone
from evenkey.spark.routing.add_worker import routed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping
    from evenkey.spark.routing.tasks import Load


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
    if aggregator is not None and aggregators is not None:
        message = (
            f"aggregator = {shown(aggregator)}: aggregators are given too; pass one of the two"
        )
        raise ConfigurationError(message)
    grouping = parse_grouping(grouping)
    if aggregators is None:
        chosen = parse("count" if aggregator is None else aggregator)
    else:
        chosen = parse_all(aggregators)
    check_groupable(df, key)
    keys = column_names(key)
    used = find_used(df, [*keys, *chosen.columns, *filter(None, (time, position))])
    windows = Windows(time, window, watermark, max_ahead)
    rows: RowsToAggregate = (
        StreamRows(df, windows, grouping, workers, chosen, state)
        if df.isStreaming
        else BatchRows(df, windows)
    )
    prepared = rows.prepared()
    placeable = routed(
        prepared.df,
        key,
        grouping,
        workers,
        time=time,
        rate=rate,
        load=load,
        state=state,
        column=WORKER,
        position=position,
        learn=prepared.learn,
        spread=True,
        contents=used,
    )
    partials, bound = worked(
        placeable, key, chosen, workers, prepared.worker, time=time, window=window
    )
    check_result(df, keys, bound, windowed=window is not None)
    zoned = time is None or has_zone(df, time)
    merged = merge_partials(partials, bound, window=window, watermark=watermark, zoned=zoned)
    return with_keys(merged, keys) if bound.scope == "key" else merged
