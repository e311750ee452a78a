"""Plan sources: each gives the tasks of an epoch the routing table by which they place rows.

Routing is a pure function of a partition's rows, in order, and of the epoch's table. So all tasks
of an epoch must be given the same table. One task calls `PlanSource.decide` before the others
start (`evenkey.spark.sessions.before_epoch`); those that need the table in Python then call
`PlanSource.recall`, all others see what `decide` gave as a column. There are four cases:

=========== =================== ===================== =================== =====================
case        who decides         when it changes       a retry sees        a restart sees
=========== =================== ===================== =================== =====================
`Fixed`     the driver, before  never                 the same            what `KeptPlan` finds
            a row is read                                                 in the state
`Latest`    a planner, which    when the planner has  the newest table    the newest table
            writes tables       written the table of  up to its epoch     up to its epoch
                                the epoch
`PerEpoch`  the first task of   with each epoch       the same            the same, in an epoch
            the epoch: it keeps                                           that runs again
            the newest table
`Held`      as `PerEpoch`       with each epoch of    the same            the previous table,
                                the first run                             until no row can come
                                                                          again
=========== =================== ===================== =================== =====================

`Learned` is `PerEpoch` where no planner writes tables: the first task of an epoch makes its table,
of the previous one and of the statistics that the tasks of the previous epoch left.

A *planner* makes plans and a source supplies them. Planners are `Merge`, which `Learned` calls in
a task; `evenkey.spark.plans.stream_plans.learn_from`, which samples a stream; and the planner of
a run (`evenkey.pipeline.aggregate.key_planner`). The last two run in the driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from evenkey.core.stores import STATE_REMEDY, unseen
from evenkey.spark.plans.lessons import Lessons
from evenkey.spark.plans.tables import RoutingTable, layout_kept
from evenkey.spark.sessions.task_id import current_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkey.core.stores import SharedMark, Store
    from evenkey.groupings import Snapshot
    from evenkey.spark.plans.lessons import Lesson
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

PlanT_co = TypeVar("PlanT_co", covariant=True)

HELD, PAST = "held", "read-past-"
_EPOCH, _RUN = "joined", "run-"
MOST_RUNS = 100
_WHY = "in real time rows may come again after a restart, and must go to the workers that had them"


class PlanSource(Protocol[PlanT_co]):
    """Gives the plan of each epoch of each query: a `RoutingTable`, or what a join goes by."""

    def decide(self, task: TaskId) -> PlanT_co:
        """Give the plan of a task's epoch, and settle it where nobody has; in one task an epoch.

        Raises
        ------
        RunError
            The state cannot be read or written, or this host does not see it.
        ConfigurationError
            The plan belongs to another grouping or worker count.
        """

    def recall(self, task: TaskId) -> PlanT_co:
        """Give the plan of a task's epoch, which was decided before the task began.

        Raises
        ------
        RunError, ConfigurationError
            As `decide` does.
        """


@dataclass(frozen=True)
class Fixed:
    """One plan, which was made before any row is read.

    Parameters
    ----------
    memory
        The plan's arrays; empty: buckets are dealt to workers by number.

    Examples
    --------
    >>> source = Fixed()
    >>> source.decide(task=None) == source.recall(task=None)
    True
    """

    memory: Snapshot = field(default_factory=dict)

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the plan."""
        return self.recall(task)

    def recall(self, task: TaskId) -> RoutingTable:
        """Give the plan."""
        del task
        return RoutingTable(self.memory)


def newest(tables: RoutingTables, query: str, epoch: int) -> RoutingTable:
    """Read the newest table up to an epoch: the query's own, else that of all queries.

    Raises
    ------
    RunError
        The table cannot be read.
    ConfigurationError
        The table belongs to another grouping or worker count.
    """
    own = tables.of_query(query).read(epoch)
    return own if own.memory else tables.before_query(query, epoch)


@dataclass(frozen=True)
class Latest:
    """The newest table that a planner has written.

    The planner must write the table of an epoch before the epoch starts where tasks recall it.

    Parameters
    ----------
    tables
        Where tables lie.
    mark
        By which a task makes sure that it sees what is written there.
    """

    tables: RoutingTables
    mark: SharedMark

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the last table up to a task's epoch."""
        return self.recall(task)

    def recall(self, task: TaskId) -> RoutingTable:
        """Give the last table up to a task's epoch."""
        self.mark.check()
        return newest(self.tables, task.query, task.epoch)


@dataclass(frozen=True)
class PerEpoch:
    """The newest table when an epoch starts, for all of the epoch.

    Both sides of a join must follow the same plan, and each asks for it by itself, while the
    planner may just write a newer one. What the first of them finds it leaves in the store, by a
    create that only one can do. The other one, and the epoch if it runs again, take that.

    Parameters
    ----------
    tables, mark
        As for `Latest`.
    """

    tables: RoutingTables
    mark: SharedMark

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the table that is kept for a task's epoch; where there is none, keep one."""
        self.mark.check()
        kept = self._kept(task.query)
        names = kept.names()
        numbers = [number for number in kept.numbers(names) if number <= task.epoch]
        table = self._find(kept, task.epoch) if task.epoch in numbers else None
        if table is None:
            # Before any row of the epoch goes by it: an epoch that runs again finds it.
            table = kept.pin(task.epoch, self._make(task, kept, names, numbers))
            kept.drop_before(task.epoch, numbers)
        return table

    def recall(self, task: TaskId) -> RoutingTable:
        """Give the table that is kept for a task's epoch."""
        self.mark.check()
        kept = self._kept(task.query)
        table = self._find(kept, task.epoch)
        if table is None:
            raise unseen(kept.path(task.epoch), "the task that decided this epoch", STATE_REMEDY)
        return table

    def _kept(self, query: str) -> RoutingTables:
        """Say where the tables of epochs are kept."""
        return self.tables.of_query(query).under(_EPOCH)

    def _find(self, kept: RoutingTables, number: int) -> RoutingTable | None:
        return kept.find(number)

    def _make(
        self, task: TaskId, kept: RoutingTables, names: list[str], numbers: list[int]
    ) -> RoutingTable:
        """Give the table of an epoch that has none; `numbers` are those of earlier ones."""
        del kept, names, numbers
        return newest(self.tables, task.query, task.epoch)


class Merge(Protocol):
    """Makes the next table of one and the lessons of its epoch, by source; a pure function."""

    def __call__(self, before: RoutingTable, lessons: dict[int, Lesson]) -> RoutingTable:
        """Make it."""


@dataclass(frozen=True)
class Learned(PerEpoch):
    """Tables that are made of what the tasks of earlier epochs left.

    Each task leaves a lesson in the store when it has seen its last message. Table N is a pure
    function of table N - 1 and the lessons of epoch N - 1, so it does not matter who makes it, or
    how often.

    Parameters
    ----------
    tables
        Where they lie, under the id of each query.
    mark
        By which each task makes sure that it sees what the others write.
    merge
        Makes the next table.
    """

    merge: Merge

    def leave(self, task: TaskId, lesson: Lesson) -> None:
        """Leave what a task learned in its epoch.

        Raises
        ------
        RunError
            The state cannot be written.
        """
        Lessons(self._kept(task.query).store).leave(task.epoch, task.partition, lesson)

    def _kept(self, query: str) -> RoutingTables:
        return self.tables.of_query(query)

    def _make(
        self, task: TaskId, kept: RoutingTables, names: list[str], numbers: list[int]
    ) -> RoutingTable:
        """Make the table of the lessons.

        Those of several epochs may wait: an epoch of a stream that has no rows may have no tasks.
        """
        lessons = Lessons(kept.store)
        left = lessons.epochs(names)
        last = numbers[-1] if numbers else 0
        before = kept.find(last) if numbers else None
        table = self.tables.before_query(task.query, task.epoch) if before is None else before
        for epoch, sources in left.items():
            if last <= epoch < task.epoch:
                table = self.merge(table, lessons.read(sources))
        # The last ones stay, should their table be found corrupt.
        old = [each for epoch, each in left.items() if epoch < last]
        lessons.delete([name for sources in old for name in sources.values()])
        return table


@dataclass(frozen=True)
class Held(PerEpoch):
    """The newest table in a query's first run; after a restart the previous one until all is read.

    In micro-batches Spark writes down what an epoch reads before it runs, so an epoch that runs
    again has the same rows. A real-time epoch ends when its time is up: after a kill its rows are
    read again, and some of them, which it has sent on already, belong to the next epoch now. If
    that one followed another plan, they would go to other workers than before, and what was sent
    of them stood in the output permanently. So the plan stays the same until the query has read
    past all that was there when it began anew (`evenkey.spark.plans.stream_plans.watch_position`).
    """

    def _kept(self, query: str) -> RoutingTables:
        return held_of(self.tables, query)

    def _find(self, kept: RoutingTables, number: int) -> RoutingTable | None:
        with layout_kept(self.tables, _WHY):
            return kept.find(number)

    def _make(
        self, task: TaskId, kept: RoutingTables, names: list[str], numbers: list[int]
    ) -> RoutingTable:
        """Give the newest table if no row can come again, else the previous one."""
        run = current_run()
        runs = {name.split("-", 2)[2] for name in names if name.startswith(_RUN)}
        before = self._find(kept, numbers[-1]) if numbers else None
        if run and run not in runs:
            kept.store.put(f"{_RUN}{task.epoch:010d}-{run}", b"")
            _forget_runs(kept.store, names)
        none_repeats = (run and runs == {run}) or f"{PAST}{run}" in names
        if before is None or none_repeats:
            return newest(self.tables, task.query, task.epoch)
        return before


def held_of(tables: RoutingTables, query: str) -> RoutingTables:
    """Say where `Held` keeps a query's tables, and notes which runs have read past the old rows."""
    return tables.under(query).under(HELD)


def _forget_runs(store: Store, names: Iterable[str]) -> None:
    begun = sorted(name for name in names if name.startswith(_RUN))
    for old in begun[:-MOST_RUNS]:
        store.delete(old)
        store.delete(f"{PAST}{old.split('-', 2)[2]}")
