"""How what tasks learn inside an epoch becomes the routing table of the next one.

Each task leaves a lesson in the store when it has seen its last message. Table N is a pure function
of table N - 1 and the lessons of epoch N - 1, so it does not matter who makes it, or how often. One
task does: Spark runs a scalar subquery by one task before the stage that uses its value, so the
table lies there before any task of the epoch starts. Nothing is left to the driver: there is no
lag, and it goes on after a restart.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.errors import RunError
from evenkey.spark.lessons import Lessons
from evenkey.spark.routing_table import RoutingTable
from evenkey.spark.task import current_task
from evenkey.spark.workers import in_workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.groupings import Grouping, Snapshot
    from evenkey.spark.lessons import Lesson
    from evenkey.spark.meeting import Meeting
    from evenkey.spark.routing_table import RoutingTables
    from evenkey.spark.task import TaskId


class Merge(Protocol):
    """Makes the next table of one and the lessons of its epoch, by source; a pure function."""

    def __call__(self, before: RoutingTable, lessons: dict[int, Lesson]) -> RoutingTable:
        """Make it."""


@dataclass(frozen=True)
class OfRouters:
    """Merges what routers learned; a source without a lesson keeps its own state."""

    grouping: Grouping

    def __call__(self, before: RoutingTable, lessons: dict[int, Lesson]) -> RoutingTable:
        """Make the next table."""
        in_order = [lessons[source] for source in sorted(lessons)]
        heard = {source: each.local for source, each in lessons.items() if each.local}
        memory = self.grouping.merge_memories([each.memory for each in in_order])
        return RoutingTable(memory, {**before.local, **heard})


class Tables(Protocol):
    """Knows the routing table of each epoch of each query."""

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the table of a task's epoch, and make it where nobody has; in one task an epoch."""


@dataclass(frozen=True)
class Learning:
    """The routing tables of queries that learn, and the lessons that they are made of.

    Parameters
    ----------
    tables
        Where they lie, under the id of each query.
    meeting
        By which each task makes sure that it sees what the others write.
    merge
        Makes the next table.
    first
        What a query starts from for which no table is there.
    """

    tables: RoutingTables
    meeting: Meeting
    merge: Merge
    first: Snapshot = field(default_factory=dict)

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the table of a task's epoch; where it is not there, make it of the lessons.

        Lessons of several epochs may wait: an epoch of a stream that has no rows may have no tasks.

        Raises
        ------
        RunError
            The state cannot be read or written, or this host does not see it.
        ConfigurationError
            The table before belongs to another grouping or worker count.
        """
        self.meeting.check()
        own = self.tables.under(task.query)
        names = own.names()
        numbers = [number for number in own.numbers(names) if number <= task.epoch]
        if numbers[-1:] == [task.epoch]:
            made = own.find(task.epoch)
            if made is not None:
                return made
        lessons = Lessons(own.store)
        left = lessons.epochs(names)
        last = numbers[-1] if numbers else 0
        table = (own.find(last) if numbers else None) or self._start(task)
        for epoch, sources in left.items():
            if last <= epoch < task.epoch:
                table = self.merge(table, lessons.read(sources))
        own.put(task.epoch, table)
        own.drop_before(task.epoch, numbers)
        # The last ones stay, should their table be found corrupt.
        old = [each for epoch, each in left.items() if epoch < task.epoch - 1]
        lessons.delete([name for sources in old for name in sources.values()])
        return table

    def _start(self, task: TaskId) -> RoutingTable:
        shared = self.tables.read(task.epoch)
        return shared if shared.memory else RoutingTable(dict(self.first))

    def recall(self, task: TaskId) -> RoutingTable:
        """Read the table of a task's epoch, which was decided before the task began.

        Raises
        ------
        RunError
            It cannot be read, or this host does not see it.
        """
        self.meeting.check()
        own = self.tables.under(task.query)
        table = own.find(task.epoch)
        if table is None:
            message = (
                f"host {platform.node()} does not see routing table {own.path(task.epoch)}, which "
                "another task of the query has written: state must be a place that the driver and "
                "all executors share"
            )
            raise RunError(message)
        return table

    def leave(self, task: TaskId, lesson: Lesson) -> None:
        """Leave what a task learned in its epoch.

        Raises
        ------
        RunError
            The state cannot be written.
        """
        Lessons(self.tables.under(task.query).store).leave(task.epoch, task.partition, lesson)


class _DecideTask:
    """Decides the epoch's table, in place of the one row that there is."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            task = current_task()
            self._tables.decide(task)
            yield pa.RecordBatch.from_arrays([pa.array([task.epoch])], names=["epoch"])


def decided(df: DataFrame, tables: Tables) -> DataFrame:
    """Let the rows of a stream wait until the epoch's table is decided.

    The condition is always true. Spark computes it once an epoch, before any task starts.
    """
    task = in_workers(df.sparkSession, _DecideTask(tables))
    epoch = df.sparkSession.range(0, 1, 1, 1).mapInArrow(task, "epoch bigint")
    return df.where(epoch.scalar() >= F.lit(0))
