"""Plan sources: each supplies the tasks of an epoch with the routing table for placing rows.

Routing is a pure function of the ordered rows of a partition and of the epoch's table, so all tasks
of an epoch must get the same table. One task calls `PlanSource.decide` before the other tasks start
(`evenkey.spark.sessions.before_epoch`). Tasks that need the table in Python then call
`PlanSource.recall`. All other tasks read the result of `decide` from a column. There are four
cases:

=========== =================== ===================== =================== =====================
case        who decides         when it changes       a retry sees        a restart sees
=========== =================== ===================== =================== =====================
`Fixed`     the driver, before  never                 the same            what `KeptPlan` finds
            a row is read                                                 in the state
`Latest`    a planner, which    when the planner has  the newest table    the newest table
            writes tables       written the table of  up to its epoch     up to its epoch
                                the epoch
`PerEpoch`  the first task of   with each epoch       the same            the same, in an epoch
            the epoch: it saves                                           that runs again
            the newest table
`Held`      as `PerEpoch`       with each epoch of    the same            the previous table,
                                the first run                             until no row can come
                                                                          again
=========== =================== ===================== =================== =====================

`Learned` is a `PerEpoch` without a planner that writes tables: the first task of an epoch makes the
table, from the previous table and the statistics that the tasks of the previous epoch reported.

A *planner* makes plans, and a plan source supplies them. There are three planners: `Merge`, which
`Learned` calls in a task; `evenkey.spark.plans.stream_plans.learn_from`, which samples a stream;
and the planner of a run (`evenkey.pipeline.aggregate.key_planner`). The last two planners run in
the driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from evenkey.core.errors import RunError
from evenkey.core.stores import STATE_REMEDY, unseen
from evenkey.spark.plans.epoch_statistics import EpochStatistics
from evenkey.spark.plans.tables import CorruptTableError, RoutingTable, layout_kept
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
    """Supplies the plan of each epoch of each query: a `RoutingTable`, or the plan of a join."""

    def decide(self, task: TaskId) -> PlanT_co:
        """Return the plan of a task's epoch; if there is none, make it.

        One task per epoch calls this.

        Raises
        ------
        RunError
            The state cannot be read or written, or this host does not see the state.
        ConfigurationError
            The plan belongs to another grouping or worker count.
        """

    def recall(self, task: TaskId) -> PlanT_co:
        """Return the plan of a task's epoch, which `decide` made before the task began.

        Raises
        ------
        RunError, ConfigurationError
            As `decide` does.
        """


@dataclass(frozen=True)
class Fixed:
    """Supplies one plan, which is made before any row is read.

    Parameters
    ----------
    memory
        Arrays of the plan. Empty: there is no plan, and the workers get the buckets in turn.

    Examples
    --------
    >>> source = Fixed()
    >>> source.decide(task=None) == source.recall(task=None)
    True
    """

    memory: Snapshot = field(default_factory=dict)

    def decide(self, task: TaskId) -> RoutingTable:
        """Return the plan."""
        return self.recall(task)

    def recall(self, task: TaskId) -> RoutingTable:
        """Return the plan."""
        del task
        return RoutingTable(self.memory)


def newest(tables: RoutingTables, query: str, epoch: int) -> RoutingTable:
    """Read the newest table up to an epoch: the query's own table, else the table for all queries.

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
    """Supplies the newest table that a planner has written.

    If tasks call `recall`, the planner must write the table of an epoch before the epoch starts.

    Parameters
    ----------
    tables
        Tables that the planner writes.
    mark
        Mark that a task must see: it shows that task and driver share the storage location.
    """

    tables: RoutingTables
    mark: SharedMark

    def decide(self, task: TaskId) -> RoutingTable:
        """Return the newest table whose number is at most the task's epoch."""
        return self.recall(task)

    def recall(self, task: TaskId) -> RoutingTable:
        """Return the newest table whose number is at most the task's epoch."""
        self.mark.check()
        return newest(self.tables, task.query, task.epoch)


@dataclass(frozen=True)
class PerEpoch:
    """Supplies one table for a whole epoch: the table that is the newest when the epoch starts.

    Both sides of a join must use the same table (plan). But each side reads the newest table
    separately, and a newer table may be written between the two reads. So the side that reads first
    saves a copy for this epoch, by an exclusive create. The other side uses that copy, and so does
    a rerun of the epoch.

    Parameters
    ----------
    tables, mark
        As for `Latest`.
    """

    tables: RoutingTables
    mark: SharedMark

    def decide(self, task: TaskId) -> RoutingTable:
        """Return the stored table of a task's epoch; if there is none, store the newest table."""
        self.mark.check()
        kept = self._kept(task.query)
        names = kept.names()
        numbers = [number for number in kept.numbers(names) if number <= task.epoch]
        table = self._find(kept, task.epoch) if task.epoch in numbers else None
        if table is None:
            # Store the table before any row is routed, so that the epoch finds it if it runs again.
            table = kept.pin(task.epoch, self._make(task, kept, names, numbers))
            kept.drop_before(task.epoch, numbers)
        return table

    def recall(self, task: TaskId) -> RoutingTable:
        """Return the stored table of a task's epoch."""
        self.mark.check()
        kept = self._kept(task.query)
        table = self._find(kept, task.epoch)
        if table is None:
            raise unseen(kept.path(task.epoch), "the task that decided this epoch", STATE_REMEDY)
        return table

    def _kept(self, query: str) -> RoutingTables:
        """Return the tables in which this source stores the table of each epoch of a query."""
        return self.tables.of_query(query).under(_EPOCH)

    def _find(self, kept: RoutingTables, number: int) -> RoutingTable | None:
        return kept.find(number)

    def _make(
        self, task: TaskId, kept: RoutingTables, names: list[str], numbers: list[int]
    ) -> RoutingTable:
        """Make the table of an epoch; `numbers` are the epochs of the tables stored so far."""
        del kept, names, numbers
        return newest(self.tables, task.query, task.epoch)


class Merge(Protocol):
    """A pure function that makes the next table from an epoch's table and statistics."""

    def __call__(self, before: RoutingTable, reported: dict[int, TaskStatistics]) -> RoutingTable:
        """Make the next table from the table `before` and the statistics of each source."""


@dataclass(frozen=True)
class Learned(PerEpoch):
    """Supplies tables that are made from the statistics which tasks of earlier epochs reported.

    Each task writes its statistics to the store after its last message. Table N is a pure function
    of table N - 1 and the statistics of epoch N - 1. So it does not matter which task makes the
    table, or how often it is made.

    Parameters
    ----------
    tables
        Routing tables of all queries. The tables of each query are in a folder below them, which is
        named by the query's id.
    mark
        Mark that each task must see: it shows that tasks see what other tasks write.
    merge
        Function that makes the next table.
    """

    merge: Merge

    def report(self, task: TaskId, statistics: TaskStatistics) -> None:
        """Write the statistics of a task for its epoch.

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

        This may read the statistics of several epochs: an epoch without rows may have had no tasks,
        so no task made its table.
        """
        statistics = EpochStatistics(kept.store)
        written = statistics.epochs(names)
        last = numbers[-1] if numbers else 0
        before = kept.find(last) if numbers else None
        table = self.tables.before_query(task.query, task.epoch) if before is None else before
        for epoch, sources in written.items():
            if last <= epoch < task.epoch:
                table = self.merge(table, statistics.read(sources))
        # Statistics since the last table are kept, in case the table made from them is corrupt.
        old = [each for epoch, each in written.items() if epoch < last]
        statistics.delete([name for sources in old for name in sources.values()])
        return table


@dataclass(frozen=True)
class Held(PerEpoch):
    """A source for real time: after a restart the plan stays until old rows have been read again.

    In the first run of a query, each epoch follows the newest table.

    Before a micro-batch runs, Spark records which rows it reads, so an epoch that runs again has
    the same rows. A real-time epoch has no such record: it ends when its time is up. If the query
    is killed, the rows of this epoch are read again. Rows that the epoch had already sent may then
    belong to the next epoch. If the next epoch followed another plan, these rows would go to other
    workers, and the output would keep both results. So the plan stays the same until the query has
    read all rows that existed when it restarted
    (`evenkey.spark.plans.stream_plans.watch_position`).
    """

    def _kept(self, query: str) -> RoutingTables:
        return held_of(self.tables, query)

    def _find(self, kept: RoutingTables, number: int) -> RoutingTable | None:
        try:
            with layout_kept(self.tables, _WHY):
                return kept.find(number)
        except CorruptTableError as error:
            message = (
                f"routing table {kept.path(number)} is corrupt ({error.reason}), and rows that are "
                "read again must follow it: restore it, or start with a new checkpoint and a new "
                "state"
            )
            raise RunError(message) from error

    def _make(
        self, task: TaskId, kept: RoutingTables, names: list[str], numbers: list[int]
    ) -> RoutingTable:
        """Return the newest table if no row can be read again, else the previous table."""
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
    """Return the tables that `Held` stores for a query.

    Beside these tables, `Held` records which runs of the query have read all old rows.
    """
    return tables.under(query).under(HELD)


def _forget_runs(store: Store, names: Iterable[str]) -> None:
    begun = sorted(name for name in names if name.startswith(_RUN))
    for old in begun[:-MOST_RUNS]:
        store.delete(old)
        store.delete(f"{PAST}{old.split('-', 2)[2]}")
