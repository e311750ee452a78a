"""Plans of a stream: their source, and what the driver writes when Spark reports an epoch."""

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
"""Of so many rows of a stream one is counted."""
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
    """Give the source of the plans that a stream is routed by, and the stream.

    Parameters
    ----------
    df, hashed
        The rows to route, and the hashes of their keys.
    grouping, workers, state
        As for `evenkey.spark.routing.add_worker.route`.
    learn
        Whether the driver makes plans of samples of the stream; or what gives them.
    real_time
        Whether a restart must hold the plan.

    Raises
    ------
    ConfigurationError
        The grouping counts an epoch first.
    """
    if learn and grouping.counts_ahead:
        message = (
            f"{grouping}: Spark routes an epoch of a stream while it reads it; route in "
            "foreachBatch, where it is counted first, or choose another planning"
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
    """Measure a stream, and let the driver write what follows from an epoch's figures.

    Parameters
    ----------
    df
        The stream.
    tables
        Which are written.
    kind
        How the name of the metric begins.
    write
        A function of this module: it takes the session, a function that gives the tables, the
        figures and the progress of the epoch. What cannot be written is logged.
    measured
        Aggregates.
    """
    listen(df.sparkSession, metrics={kind: functools.partial(_receive, kind, write)})
    # The stream's plan holds the name, and nobody else must; those of one query must differ.
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


# By their spelling: there are as many as groupings, however many streams there are.
_groupings: dict[str, PlannedGrouping] = {}


def learn_from(
    df: DataFrame, hashed: Column, grouping: PlannedGrouping, workers: int, tables: RoutingTables
) -> DataFrame:
    """Count the keys of a stream, epoch by epoch, and plan from them.

    One row in 8, drawn at random, is counted. An epoch's figures reach the driver when the next
    one may have started, so they serve the one after that: table N + 2 is made of epoch N.
    """
    _groupings[str(grouping)] = grouping
    # Observed expressions must not draw random numbers themselves.
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
    """Let a query whose plans are `Held` say when it has read past all that was there.

    The driver hears of it with the progress of an epoch. Where it does not, because a source does
    not say how far it reaches, plans stay as they are until the query's next first start.
    """
    return _observed(df, tables, _POSITION, _write_read_past, F.count(F.lit(1)).alias("rows"))


_bounds: dict[str, list[Any]] = {}
"""By run, how far its sources reached when it began; only of those that have not read past it."""
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
    """Say whether a source was read up to a position.

    Parameters
    ----------
    end, bound
        Positions as Spark's progress has them: JSON, such as ``{"topic": {"0": 17}}``.

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
