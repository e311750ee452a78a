"""Choose the plan source of a stream, and write new plans when Spark reports an epoch."""

from __future__ import annotations

import functools
import json
import logging
import uuid
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError, EvenkeyError
from evenkey.spark.plans.batch_plans import filled, sketches
from evenkey.spark.plans.places import store_of, tables_of
from evenkey.spark.plans.plan_source import (
    MOST_RUNS,
    PAST,
    Held,
    Latest,
    Learned,
    held_of,
    newest,
)
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.access import at_state
from evenkey.spark.sessions.query_events import listen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import KeyStatistics, PlannedGrouping
    from evenkey.spark.plans.plan_source import PlanSource

    Write: TypeAlias = Callable[[SparkSession, Callable[[], RoutingTables], Any, Any], None]

logger = logging.getLogger(__name__)

_KEYS, _POSITION = "evenkey-keys-", "evenkey-read-past-"
_SAMPLE = "__evenkey_sample"
_SAMPLED = 8
"""One of this many rows of a stream is counted."""
_LAG = 2


def plans_of_stream(
    df: DataFrame,
    hashed: Column,
    grouping: PlannedGrouping,
    workers: int,
    state: str | Path | Store | None,
    learn: bool | Learned,  # noqa: FBT001 - as it was passed
    *,
    real_time: bool,
) -> tuple[DataFrame, PlanSource[RoutingTable]]:
    """Return a stream, and the plan source by which its rows are routed.

    Parameters
    ----------
    df, hashed
        The rows to route, and the column of the hashes of their keys.
    grouping, workers, state
        As for `evenkey.spark.routing.add_worker.route`.
    learn
        True: the driver makes plans from samples of the stream. False: another planner writes plans
        to `state`. A `Learned`: the plan source to use.
    real_time
        Whether the stream runs in real-time mode, in which a restart must keep the plan.

    Raises
    ------
    ConfigurationError
        The grouping counts the keys of each epoch before it routes the epoch's rows, which is not
        possible in a stream.
    """
    if learn and grouping.counts_ahead:
        message = (
            f"{grouping}: it counts the rows of an epoch before it routes them, but in a stream "
            "Spark routes rows as it reads them; route in foreachBatch, or leave out "
            "planning=current"
        )
        raise ConfigurationError(message)
    if isinstance(learn, Learned):
        return df, learn
    tables, mark = tables_of(df.sparkSession, state, str(grouping), workers)
    if learn and grouping.learns_epochs:
        df = learn_from(df, hashed, grouping, workers, tables)
    if real_time:
        return watch_position(df, tables), Held(tables, mark)
    return df, Latest(tables, mark)


def _observed(
    df: DataFrame, tables: RoutingTables, kind: str, write: Write, *measured: Column
) -> DataFrame:
    """Observe aggregates of a stream, and call `write` on the driver with the values of each epoch.

    Parameters
    ----------
    df
        The stream.
    tables
        Tables that `write` writes to.
    kind
        Beginning of the name of the metric.
    write
        A function of this module. Its arguments are the session, a function that returns the
        tables, the values of the aggregates, and the progress of the epoch. If it fails to write,
        the error is logged.
    measured
        Aggregates to observe.
    """
    listen(df.sparkSession, metrics={kind: functools.partial(_receive, kind, write)})
    # The metric's name carries all that the driver needs, so the driver keeps no object for the
    # stream. Metrics of one query must have different names.
    where = json.dumps([tables.store.url, tables.grouping, tables.workers, uuid.uuid4().hex])
    return df.observe(f"{kind}{where}", *measured)


def _receive(
    kind: str, write: Write, session: SparkSession | None, name: str, values: Any, progress: Any
) -> None:
    if session is None:
        return
    url, grouping, workers, _ = json.loads(name.removeprefix(kind))
    try:
        write(
            session,
            lambda: RoutingTables(store_of(session, url), grouping, workers),
            values,
            progress,
        )
    except (EvenkeyError, PySparkException, OSError) as error:
        logger.warning("%s; the previous plan stays in use", error)


# Groupings by their spelling: the dict has one entry per grouping, however many streams there are.
_groupings: dict[str, PlannedGrouping] = {}


def learn_from(
    df: DataFrame, hashed: Column, grouping: PlannedGrouping, workers: int, tables: RoutingTables
) -> DataFrame:
    """Count the keys of a stream, epoch by epoch, and make plans from the counts.

    One row in 8, drawn at random, is counted. When the counts of epoch N reach the driver, epoch
    N + 1 may already have started. So the table of epoch N + 2 is made from the counts of epoch N.
    """
    _groupings[str(grouping)] = grouping
    # Spark allows no random numbers in observed expressions, so they are drawn in a column.
    sampled = df.withColumn(_SAMPLE, F.when(F.rand() < 1 / _SAMPLED, hashed))
    measured = sketches(F.col(_SAMPLE), grouping.statistics(workers))
    return _observed(sampled, tables, _KEYS, _write_plan, *measured).drop(_SAMPLE)


def _write_plan(
    session: SparkSession, place: Callable[[], RoutingTables], values: Any, progress: Any
) -> None:
    if values.get("keys") is None:
        return
    tables = place()
    grouping = _groupings[tables.grouping]
    statistics = filled(grouping.statistics(tables.workers), values)
    query, epoch = str(progress.id), progress.batchId + _LAG
    at_state(session, functools.partial(_learn, tables, query, epoch, grouping, statistics))


def _learn(
    tables: RoutingTables,
    query: str,
    epoch: int,
    grouping: PlannedGrouping,
    statistics: KeyStatistics,
) -> None:
    before = newest(tables, query, epoch).memory
    memory = grouping.learned(before, statistics, tables.workers)
    tables.of_query(query).write(epoch, RoutingTable(memory))


def watch_position(df: DataFrame, tables: RoutingTables) -> DataFrame:
    """Record when a query with `Held` plans has read all rows that existed when it started.

    The driver compares the offsets in the progress of each epoch. If a source does not report its
    latest offset, nothing is recorded. A restarted query then keeps its plan until it starts with a
    new checkpoint.
    """
    return _observed(df, tables, _POSITION, _write_read_past, F.count(F.lit(1)).alias("rows"))


_bounds: dict[str, list[Any]] = {}
"""Latest offsets of the sources when a run began, until the run has read up to these offsets."""
_past: dict[str, None] = {}


def _write_read_past(
    session: SparkSession, place: Callable[[], RoutingTables], values: Any, progress: Any
) -> None:
    del values
    run = str(progress.runId)
    if run in _past:
        return
    latest = [each.latestOffset for each in progress.sources]
    if run not in _bounds and None in latest:
        return
    bounds = _bounds.setdefault(run, latest)
    if not all(
        reached(each.endOffset, bound) for each, bound in zip(progress.sources, bounds, strict=True)
    ):
        return
    store = held_of(place(), str(progress.id)).store
    at_state(session, functools.partial(store.put, f"{PAST}{run}", b""))
    del _bounds[run]
    _past[run] = None
    for known in (_bounds, _past):
        for old in list(known)[:-MOST_RUNS]:
            del known[old]


def reached(end: str | None, bound: str | None) -> bool:
    """Return whether a source was read up to `bound`.

    Parameters
    ----------
    end, bound
        The offset that was read, and the offset to reach, as in Spark's progress: JSON, such as
        ``{"topic": {"0": 17}}``. None: unknown, so the result is False.

    Examples
    --------
    >>> reached('{"clicks": {"0": 17, "1": 4}}', '{"clicks": {"0": 17, "1": 5}}')
    False
    """
    if end is None or bound is None:
        return False
    try:
        return _at_least(json.loads(end), json.loads(bound))
    except (ValueError, TypeError):
        return False


def _at_least(end: Any, bound: Any) -> bool:
    if not isinstance(bound, dict):
        return bool(end >= bound)
    return isinstance(end, dict) and all(
        name in end and _at_least(end[name], part) for name, part in bound.items()
    )
