"""Place routed rows on workers, and compute partial aggregates there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType, TimestampType

from evenkey.aggregators import WORKER
from evenkey.core.errors import ConfigurationError
from evenkey.spark.aggregates.key_counts import HASH, CountingWorker
from evenkey.spark.aggregates.partial_task import TIME, WEIGHT, WINDOW
from evenkey.spark.keys.any_names import NamedTask, with_plain_names
from evenkey.spark.keys.given_columns import (
    column_names,
    hash_of,
    key_columns,
    one_key,
    windowed_column,
)
from evenkey.spark.routing.to_workers import to_partitions
from evenkey.spark.sessions.versions import from_arrow_schema, to_arrow_schema
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from evenkey.aggregators import Aggregator
    from evenkey.spark.aggregates.partial_task import WorkerTask


def worked(
    routed: DataFrame,
    key: str | Sequence[str],
    aggregator: Aggregator,
    workers: int,
    worker: Callable[[Aggregator, tuple[str, ...]], WorkerTask],
    *,
    time: str | None,
    window: str | None,
    weight: str | None = None,
) -> tuple[DataFrame, Aggregator]:
    """Move routed rows to their workers, which compute partial aggregates.

    Parameters
    ----------
    routed
        Rows with the column `WORKER`.
    worker
        Function that makes a worker's task from the bound aggregator and the grouping columns.
    key, aggregator, workers, time, window
        As for `aggregate`.
    weight
        Column of whole numbers, the weight of each message; None: messages have no weights.

    Returns
    -------
    tuple
        The partial aggregates, for `merge_partials`, and the bound aggregator.
    """
    messages, bound = _messages_of(routed, key, aggregator, time=time, window=window, weight=weight)
    by = [*([] if window is None else [WINDOW]), *(["key"] if bound.scope == "key" else [])]
    task = worker(bound, tuple(by))
    held = to_partitions(messages, workers, WORKER)
    fields = [
        StructField(TIME, TimestampType()) if name == WINDOW else held.schema[name]
        for name in task.by
    ]
    schema = StructType([*fields, *from_arrow_schema(bound.state).fields])
    if WORKER not in bound.columns:
        # The worker is the number of the partition, so it need not go to Python with each message.
        held = held.drop(WORKER)
    if isinstance(task, CountingWorker):
        # Hash after the shuffle, so that the shuffle does not move the hashes too.
        held = held.withColumn(HASH, hash_of([F.col("key")]))
    plain = with_plain_names(held)
    named = in_workers(held.sparkSession, NamedTask(task, held.columns))
    return plain.mapInArrow(named, schema), bound


def _messages_of(
    routed: DataFrame,
    key: str | Sequence[str],
    aggregator: Aggregator,
    *,
    time: str | None,
    window: str | None,
    weight: str | None = None,
) -> tuple[DataFrame, Aggregator]:
    """Select the columns that workers need, and bind the aggregator to them.

    With `weight`, a column of whole numbers, the columns include `WEIGHT`.

    Returns
    -------
    tuple
        A DataFrame, and the bound aggregator. The DataFrame has the worker, ``key`` (a struct if
        the key has several columns) and the aggregator's columns. With a window, it also has the
        start of the window (`WINDOW`) and the event time (`TIME`).
    """
    keys = column_names(key)
    taken = {"key": "is not the key", WINDOW: "is not a window", TIME: "is not a time"}
    for name in aggregator.columns:
        if name in taken and not (name == "key" and keys == ("key",)):
            message = (
                f"{aggregator}: it uses a column named {name!r} that {taken[name]}: rename the "
                "column first"
            )
            raise ConfigurationError(message)
    chosen = {"key": one_key(routed, keys)}
    timed = {}
    if window is not None and time is not None:
        event_time = windowed_column(routed, time)
        timed = {WINDOW: F.window(event_time, window).start, TIME: event_time}
    for name in aggregator.columns:
        chosen |= {name: key_columns(routed, name, f"{aggregator}: column")[0]}
    values = routed.select(*(column.alias(name) for name, column in chosen.items()))
    zone = routed.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    bound = aggregator.bind(to_arrow_schema(values.schema, timezone=zone))
    chosen |= timed
    if weight is not None:
        chosen[WEIGHT] = F.col(weight)
    chosen[WORKER] = F.col(WORKER)
    return routed.select(*(column.alias(name) for name, column in chosen.items())), bound
