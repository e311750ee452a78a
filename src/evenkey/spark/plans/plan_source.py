"""Plan sources: each gives the tasks of an epoch the routing table by which they place rows.

Routing is a pure function of a partition's rows, in order, and of the epoch's table. So all tasks
of an epoch must get the same table. One task calls `PlanSource.decide` before the others start
(`evenkey.spark.sessions.before_epoch`). Tasks that need the table in Python then call
`PlanSource.recall`; all others read the result of `decide` from a column. There are four cases:

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
from the previous one and the statistics that the tasks of the previous epoch reported.

A *planner* makes plans and a source supplies them. Planners are `Merge`, which `Learned` calls in
a task; `evenkey.spark.plans.stream_plans.learn_from`, which samples a stream; and the planner of
a run (`evenkey.pipeline.aggregate.key_planner`). The last two run in the driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from evenkey.core.stores import STATE_REMEDY, unseen
from evenkey.spark.plans.epoch_statistics import EpochStatistics
from evenkey.spark.plans.tables import RoutingTable, layout_kept
from evenkey.spark.sessions.task_id import current_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkey.core.stores import SharedMark, Store
    from evenkey.groupings import Snapshot
    from evenkey.spark.plans.epoch_statistics import TaskStatistics
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

PlanT_co = TypeVar("PlanT_co", covariant=True)

HELD, PAST = "held", "read-past-"
_EPOCH, _RUN = "joined", "run-"
MOST_RUNS = 100
_WHY = "in real time rows may come again after a restart, and must go to the workers that had them"


class PlanSource(Protocol[PlanT_co]):
    """Gives the plan of each epoch of each query: a `RoutingTable`, or the plan of a join."""

    def decide(self, task: TaskId) -> PlanT_co:
        """Give the plan of a task's epoch, and fix it if no task has; one task per epoch calls it.

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
    """One plan, which is made before any row is read.

    Parameters
    ----------
    memory
        The plan's arrays. If empty, buckets go to workers by their number.

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
        With which a task checks that it shares that location with the driver.
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

    Both sides of a join must follow the same plan, but each reads it separately, and meanwhile the
    planner may write a newer one. So the first side stores the table that it finds, by an exclusive
    create. The other side uses the stored table, and so does the epoch if it runs again.

    Parameters
    ----------
    tables, mark
        As for `Latest`.
    """

    tables: RoutingTables
    mark: SharedMark

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the table that is kept for a task's epoch; if there is none, keep the newest."""
        self.mark.check()
        kept = self._kept(task.query)
        names = kept.names()
        numbers = [number for number in kept.numbers(names) if number <= task.epoch]
        table = self._find(kept, task.epoch) if task.epoch in numbers else None
        if table is None:
            # Before any row of the epoch follows it: an epoch that runs again finds it.
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
    """Makes the next table from a table and its epoch's statistics by source; a pure function."""

    def __call__(self, before: RoutingTable, reported: dict[int, TaskStatistics]) -> RoutingTable:
        """Make it."""


@dataclass(frozen=True)
class Learned(PerEpoch):
    """Tables made from the statistics that the tasks of earlier epochs reported.

    Each task writes its statistics to the store after its last message. Table N is a pure function
    of table N - 1 and the statistics of epoch N - 1, so it does not matter which task makes it, or
    how often.

    Parameters
    ----------
    tables
        Where they lie, under the id of each query.
    mark
        With which each task checks that it sees what the others write.
    merge
        Makes the next table.
    """

    merge: Merge

    def report(self, task: TaskId, statistics: TaskStatistics) -> None:
        """Write what a task learned in its epoch.

        Raises
        ------
        RunError
            The state cannot be written.
        """
        written = EpochStatistics(self._kept(task.query).store)
        written.write(task.epoch, task.partition, statistics)

    def _kept(self, query: str) -> RoutingTables:
        return self.tables.of_query(query)

    def _make(
        self, task: TaskId, kept: RoutingTables, names: list[str], numbers: list[int]
    ) -> RoutingTable:
        """Make the table from the epoch statistics.

        It may use those of several epochs: an epoch without rows may have no tasks.
        """
        statistics = EpochStatistics(kept.store)
        written = statistics.epochs(names)
        last = numbers[-1] if numbers else 0
        before = kept.find(last) if numbers else None
        table = self.tables.before_query(task.query, task.epoch) if before is None else before
        for epoch, sources in written.items():
            if last <= epoch < task.epoch:
                table = self.merge(table, statistics.read(sources))
        # The latest are kept in case their table turns out to be corrupt.
        old = [each for epoch, each in written.items() if epoch < last]
        statistics.delete([name for sources in old for name in sources.values()])
        return table


@dataclass(frozen=True)
class Held(PerEpoch):
    """The newest table in a query's first run; after a restart the previous one until all is read.

    In micro-batch mode Spark records what an epoch reads before it runs, so an epoch that runs
    again has the same rows. A real-time epoch ends when its time is up. After a kill its rows are
    read again, and some that it already sent now belong to the next epoch. If that epoch followed
    another plan, these rows would go to other workers, and the output would keep both results. So
    the plan stays the same until the query has read all rows that were there when it restarted
    (`evenkey.spark.plans.stream_plans.watch_position`).
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
    """Say where `Held` keeps a query's tables and records which runs have read all old rows."""
    return tables.under(query).under(HELD)


def _forget_runs(store: Store, names: Iterable[str]) -> None:
    begun = sorted(name for name in names if name.startswith(_RUN))
    for old in begun[:-MOST_RUNS]:
        store.delete(old)
        store.delete(f"{PAST}{old.split('-', 2)[2]}")
