"""How what tasks learn inside an epoch reaches the routing table of the next one.

Each task adds its router's memory to a Spark accumulator when it has routed its last
message. Spark applies a task's accumulator updates on the driver before the epoch ends, so
the next epoch's table is complete before any of its tasks starts: there is no lag. Updates
are keyed by (learner, query, epoch, source), so a task that runs twice replaces what it said
before. There is one accumulator a process, as Spark never lets go of one.
"""

from __future__ import annotations

import logging
import threading
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.accumulators import AccumulatorParam

from evenkey.errors import EvenkeyError
from evenkey.spark.listening import listen
from evenkey.spark.routing_table import RoutingTable
from evenkey.spark.task import TaskId

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

    from evenkey.groupings import Grouping, Snapshot
    from evenkey.spark.routing_table import RoutingTables

logger = logging.getLogger(__name__)


class Lesson(NamedTuple):
    """What one source hands on at the end of an epoch."""

    memory: Snapshot
    local: Snapshot


class TableLearner(NamedTuple):
    """Who learns: the sources of one routed frame, in whichever query they run.

    Parameters
    ----------
    name
        Like no other's.
    tables
        Where what they learn goes.
    grouping
        Knows how to merge memories.
    """

    name: str
    tables: RoutingTables
    grouping: Grouping

    def teach(self, task: TaskId, lesson: Lesson) -> Lessons:
        """Make what a task adds to the accumulator."""
        return {(self.name, task): (self, lesson)}


Lessons = dict[tuple[str, TaskId], tuple[TableLearner, Lesson]]
"""Lessons of tasks, each with who learns it."""


class _Epoch(NamedTuple):
    number: int
    lessons: dict[int, Lesson]
    local_before: dict[int, Snapshot]


class LessonCollector(AccumulatorParam[Lessons]):
    """Gathers lessons; on the driver it writes each epoch's into the next epoch's table.

    Parameters
    ----------
    on_driver
        Whether this is the driver's; False: a copy in a task, which only gathers, as tables are
        written by the driver alone.
    """

    def __init__(self, *, on_driver: bool = True) -> None:
        self._on_driver = on_driver
        self._epochs: dict[tuple[str, str], _Epoch] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_task, ()

    def zero(self, value: Lessons) -> Lessons:
        """Nothing learned yet."""
        del value
        return {}

    def addInPlace(self, value1: Lessons, value2: Lessons) -> Lessons:  # noqa: N802 - Spark's name
        """Add lessons: in a task keep them, on the driver learn from them."""
        if not self._on_driver:
            return {**value1, **value2}
        for (_, task), (who, lesson) in value2.items():
            try:
                with self._lock:
                    self._learn(who, task, lesson)
            except EvenkeyError as error:
                # Raising here would break Spark's accumulator server; results stay exact.
                logger.warning("%s; balance is learned anew in the next epoch", error)
        return {}

    def forget(self, query: str) -> None:
        """Drop what is held of a query that has ended."""
        with self._lock:
            for key in [key for key in self._epochs if key[1] == query]:
                del self._epochs[key]

    @property
    def held(self) -> int:
        """Of how many queries something is held."""
        return len(self._epochs)

    def _learn(self, who: TableLearner, task: TaskId, lesson: Lesson) -> None:
        tables = who.tables.under(task.query)
        epoch = self._epochs.get((who.name, task.query))
        if epoch is None or task.epoch > epoch.number:
            epoch = _Epoch(task.epoch, {}, tables.read(task.epoch).local)
            self._epochs[who.name, task.query] = epoch
        elif task.epoch < epoch.number:
            return
        epoch.lessons[task.partition] = lesson
        in_order = [epoch.lessons[source] for source in sorted(epoch.lessons)]
        heard = {source: each.local for source, each in epoch.lessons.items() if each.local}
        table = RoutingTable(
            memory=who.grouping.merge_memories([each.memory for each in in_order]),
            local={**epoch.local_before, **heard},
        )
        tables.write(task.epoch + 1, table)


def _in_task() -> LessonCollector:
    return LessonCollector(on_driver=False)


_collector = LessonCollector()
_lock = threading.Lock()
_accumulators: list[Accumulator[Lessons]] = []


def learner(
    session: SparkSession, tables: RoutingTables, grouping: Grouping
) -> tuple[TableLearner, Accumulator[Lessons]]:
    """Make a learner, and give the accumulator that its tasks add to."""
    with _lock:
        if not _accumulators:
            _accumulators.append(session.sparkContext.accumulator({}, _collector))
    listen(session, ended=_collector.forget)
    return TableLearner(uuid.uuid4().hex, tables, grouping), _accumulators[0]
