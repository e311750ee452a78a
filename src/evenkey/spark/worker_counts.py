"""Exact statistics of keys, which workers leave for the plan of the next epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.groupings import KeyCounts
from evenkey.spark.lessons import Lesson
from evenkey.spark.routing_table import RoutingTable
from evenkey.spark.task import current_epoch
from evenkey.spark.work import WorkerTask

if TYPE_CHECKING:
    from evenkey.aggregators import Aggregator
    from evenkey.groupings import PlannedGrouping
    from evenkey.spark.deciding import Learning

HASH = "__hash"
"""Column of the hash of each message's key, as the grouping sees it."""


class CountingWorker(WorkerTask):
    """A worker that counts what it holds by key, and leaves the counts when it has held all.

    Parameters
    ----------
    aggregator, by
        As for `WorkerTask`.
    learning
        Takes the counts; its tables are of the grouping.
    grouping
        By which the messages were placed.
    """

    def __init__(
        self,
        aggregator: Aggregator,
        by: tuple[str, ...],
        learning: Learning,
        grouping: PlannedGrouping,
    ) -> None:
        super().__init__(aggregator, by)
        self._learning = learning
        self._grouping = grouping
        self._held: list[pa.Table] = []

    def hold(self, messages: pa.Table) -> None:
        """Count the messages by key."""
        self._held.append(messages.select([HASH]).group_by(HASH).aggregate([([], "count_all")]))

    def close(self) -> None:
        """Leave the counts."""
        if not self._held:
            return
        held = pa.concat_tables(self._held).group_by(HASH).aggregate([("count_all", "sum")])
        self._held = []
        counts = KeyCounts.of(
            held[HASH].to_numpy().view(np.uint64),
            held["count_all_sum"].to_numpy().astype(np.float64),
            self._grouping.statistics(self._learning.tables.workers),
        )
        self._learning.leave(current_epoch(), Lesson(counts.to_arrays(), {}))


@dataclass(frozen=True)
class OfWorkers:
    """Plans the next epoch of what the workers held in one, by the function of `evenkey run`."""

    grouping: PlannedGrouping
    workers: int

    def __call__(self, before: RoutingTable, lessons: dict[int, Lesson]) -> RoutingTable:
        """Make the next table."""
        counts = {
            worker: KeyCounts.from_arrays(lesson.memory) for worker, lesson in lessons.items()
        }
        return RoutingTable(self.grouping.learned_of_workers(before.memory, counts, self.workers))
