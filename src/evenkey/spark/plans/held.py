"""Plans of a real-time stream: a restart keeps the one of before until nothing is repeated.

In micro-batches Spark writes down what an epoch reads before it runs, so an epoch that runs again
has the same rows. A real-time epoch ends when its time is up: after a kill its rows are read again,
and some of them, which it has sent on already, belong to the next epoch now. If that one followed
another plan, they would go to other workers than before, and what was sent of them stood in the
output for ever. So the plan stays the same until the query has read past all that was there when it
began anew.
"""

from __future__ import annotations

import functools
import json
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from evenkey.core.errors import EvenkeyError
from evenkey.spark.plans.pinned_layout import layout_kept
from evenkey.spark.plans.store_at import store_of
from evenkey.spark.plans.tables import RoutingTables
from evenkey.spark.sessions.access import at_state
from evenkey.spark.sessions.query_events import listen
from evenkey.spark.sessions.task_id import current_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.spark.plans.lookup import Followed
    from evenkey.spark.plans.tables import RoutingTable
    from evenkey.spark.sessions.task_id import TaskId

logger = logging.getLogger(__name__)

_METRIC = "evenkey-read-past-"
_HELD = "held"
_RUN, _PAST = "run-", "read-past-"
_MOST_RUNS = 100
_WHY = "in real time rows may come again after a restart, and must go to the workers that had them"


@dataclass(frozen=True)
class HeldPlans:
    """Plans that somebody else makes, each kept for as long as rows may come again.

    Parameters
    ----------
    followed
        Gives the newest plan.
    """

    followed: Followed

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the plan of a task's epoch, and write it down.

        An epoch that runs again has the plan that it had. Other epochs have the newest one, but for
        those of a query that began anew and has not read past what was there then: these
        have the plan of the epoch before.

        Raises
        ------
        RunError
            The state cannot be read or written, or this host does not see it.
        ConfigurationError
            The query began with another grouping or worker count.
        """
        newest = self.followed.decide(task)
        own = self.followed.tables.under(task.query).under(_HELD)
        run = current_run()
        names = own.names()
        runs = {name.split("-", 2)[2] for name in names if name.startswith(_RUN)}
        numbers = [number for number in own.numbers(names) if number <= task.epoch]
        with layout_kept(self.followed.tables, _WHY):
            before = own.find(numbers[-1]) if numbers else None
        if before is not None and numbers[-1] == task.epoch:
            table = before
        elif before is None or (run and runs == {run}) or f"{_PAST}{run}" in names:
            table = newest
        else:
            table = before
        if run and run not in runs:
            own.store.put(f"{_RUN}{task.epoch:010d}-{run}", b"")
            _forget_runs(own.store, names)
        # Before any row of the epoch goes by it: a kill after this line finds it.
        own.put(task.epoch, table)
        own.drop_before(task.epoch, numbers)
        return table

    def recall(self, task: TaskId) -> RoutingTable:
        """Give the plan that was decided.

        Raises
        ------
        RunError, ConfigurationError
            As `decide` does.
        """
        return self.followed.tables.under(task.query).under(_HELD).read(task.epoch)


def _forget_runs(store: Store, names: Iterable[str]) -> None:
    begun = sorted(name for name in names if name.startswith(_RUN))
    for old in begun[:-_MOST_RUNS]:
        store.delete(old)
        store.delete(f"{_PAST}{old.split('-', 2)[2]}")


def watch_position(df: DataFrame, tables: RoutingTables) -> DataFrame:
    """Let a query that follows held plans say when it has read past all that was there.

    The driver hears of it with the progress of an epoch. Where it does not, because a source does
    not say how far it reaches, plans stay as they are until the query's next first start.
    """
    listen(df.sparkSession, metrics={_METRIC: _receive})
    # Metrics of one query must not share a name.
    where = json.dumps([tables.store.url, tables.grouping, tables.workers, uuid.uuid4().hex])
    return df.observe(f"{_METRIC}{where}", F.count(F.lit(1)).alias("rows"))


_bounds: dict[str, list[Any]] = {}
"""By run, how far its sources reached when it began; only of those that have not read past it."""
_past: dict[str, None] = {}


def _receive(session: SparkSession | None, name: str, values: Any, progress: Any) -> None:
    del values
    run = str(progress.runId)
    if session is None or run in _past:
        return
    latest = [each.latestOffset for each in progress.sources]
    if run not in _bounds and None in latest:
        return
    bounds = _bounds.setdefault(run, latest)
    if not all(
        reached(each.endOffset, bound) for each, bound in zip(progress.sources, bounds, strict=True)
    ):
        return
    where, grouping, workers, _ = json.loads(name.removeprefix(_METRIC))
    try:
        tables = RoutingTables(store_of(session, where), grouping, workers)
        store = tables.under(str(progress.id)).under(_HELD).store
        at_state(session, functools.partial(store.put, f"{_PAST}{run}", b""))
    except (EvenkeyError, PySparkException, OSError) as error:
        logger.warning("%s; the plan of before is followed on", error)
        return
    del _bounds[run]
    _past[run] = None
    for known in (_bounds, _past):
        for old in list(known)[:-_MOST_RUNS]:
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
