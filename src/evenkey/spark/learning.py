"""How what tasks learn inside an epoch reaches the routing table of the next one.

Each task adds its router's memory to a Spark accumulator when it has routed its last
message. Spark applies a task's accumulator updates on the driver before the epoch ends, so
the next epoch's table is complete before any of its tasks starts: there is no lag. Updates
are keyed by (query, epoch, source), so a task that runs twice replaces what it said before.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.accumulators import AccumulatorParam

from evenkey.errors import EvenkeyError
from evenkey.spark.routing_table import RoutingTable
from evenkey.spark.task import TaskId

if TYPE_CHECKING:
    from evenkey.groupings import Grouping, Snapshot
    from evenkey.spark.routing_table import RoutingTables

__all__ = ["Lesson", "LessonCollector"]

logger = logging.getLogger(__name__)


class Lesson(NamedTuple):
    """What one source hands on at the end of an epoch."""

    memory: Snapshot
    local: Snapshot


class _Epoch(NamedTuple):
    number: int
    lessons: dict[int, Lesson]
    local_before: dict[int, Snapshot]


class LessonCollector(AccumulatorParam[dict[TaskId, Lesson]]):
    """Gathers lessons; on the driver it writes each epoch's into the next epoch's table.

    Parameters
    ----------
    tables
        Where the tables go.
    grouping
        Knows how to merge memories.
    """

    def __init__(self, tables: RoutingTables, grouping: Grouping) -> None:
        self._tables: RoutingTables | None = tables
        self._grouping = grouping
        self._epochs: dict[str, _Epoch] = {}

    def __getstate__(self) -> dict[str, Any]:
        # A copy in a task only gathers: tables are written by the driver alone.
        return {**self.__dict__, "_tables": None, "_epochs": {}}

    def zero(self, value: dict[TaskId, Lesson]) -> dict[TaskId, Lesson]:
        """Nothing learned yet."""
        del value
        return {}

    def addInPlace(  # noqa: N802 - the name is Spark's
        self, value1: dict[TaskId, Lesson], value2: dict[TaskId, Lesson]
    ) -> dict[TaskId, Lesson]:
        """Add lessons: in a task keep them, on the driver learn from them."""
        if self._tables is None:
            return {**value1, **value2}
        for task, lesson in value2.items():
            try:
                self._learn(self._tables, task, lesson)
            except EvenkeyError as error:
                # Raising here would break Spark's accumulator server; results stay exact.
                logger.warning("%s; balance is learned anew in the next epoch", error)
        return {}

    def _learn(self, tables: RoutingTables, task: TaskId, lesson: Lesson) -> None:
        tables = tables.under(task.query)
        epoch = self._epochs.get(task.query)
        if epoch is None or task.epoch > epoch.number:
            epoch = _Epoch(task.epoch, {}, tables.read(task.epoch).local)
            self._epochs[task.query] = epoch
        elif task.epoch < epoch.number:
            return
        epoch.lessons[task.partition] = lesson
        in_order = [epoch.lessons[source] for source in sorted(epoch.lessons)]
        heard = {source: each.local for source, each in epoch.lessons.items() if each.local}
        table = RoutingTable(
            memory=self._grouping.merge_memories([each.memory for each in in_order]),
            local={**epoch.local_before, **heard},
        )
        tables.write(task.epoch + 1, table)
