"""Exact counts of keys, which workers report for the plan of the next epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings import KeyCounts
from evenkey.spark.aggregates.partial_task import WorkerTask
from evenkey.spark.plans.epoch_statistics import TaskStatistics
from evenkey.spark.plans.tables import RoutingTable
from evenkey.spark.sessions.task_id import current_epoch

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.aggregators import Aggregator
    from evenkey.groupings import PlannedGrouping
    from evenkey.spark.plans.plan_source import Learned

HASH = "__hash"
"""Column with the hash of each message's key, by which the grouping routes."""
_HELD = 1 << 20
"""Number of hashes that a worker buffers before it counts them: large batches are faster."""


class CountingWorker(WorkerTask):
    """A worker that counts its messages by key, and reports the counts after the last message.

    Parameters
    ----------
    aggregator, by
        As for `WorkerTask`.
    learned
        Plan source to which the counts are reported; its tables belong to `grouping`.
    grouping
        Grouping that placed the messages.
    """

    def __init__(
        self,
        aggregator: Aggregator,
        by: tuple[str, ...],
        learned: Learned,
        grouping: PlannedGrouping,
    ) -> None:
        super().__init__(aggregator, by)
        self._learned = learned
        self._grouping = grouping
        self._hashes: list[NDArray[np.uint64]] = []
        self._held = 0
        self._counted: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []

    def hold(self, messages: pa.Table) -> None:
        """Count the messages by key."""
        # A copy: a view would keep the whole batch in memory.
        self._hashes.append(messages[HASH].to_numpy().view(np.uint64).copy())
        self._held += messages.num_rows
        if self._held >= _HELD:
            self._count()

    def close(self) -> None:
        """Report the counts."""
        self._count()
        if not self._counted:
            return
        keys, counts = (np.concatenate(each) for each in zip(*self._counted, strict=True))
        if len(self._counted) > 1:
            keys, rows = np.unique(keys, return_inverse=True)
            counts = np.bincount(rows, counts)
        self._counted = []
        empty = self._grouping.statistics(self._learned.tables.workers)
        left = KeyCounts.of(keys, counts.astype(np.float64), empty)
        self._learned.report(current_epoch(), TaskStatistics(left.to_arrays(), {}))

    def _count(self) -> None:
        if self._held:
            hashes = np.concatenate(self._hashes)
            self._counted.append(np.unique(hashes, return_counts=True))
        self._hashes, self._held = [], 0


@dataclass(frozen=True)
class OfWorkers:
    """Makes the plan of the next epoch from the workers' counts of keys, as `evenkey run` does."""

    grouping: PlannedGrouping
    workers: int

    def __call__(self, before: RoutingTable, reported: dict[int, TaskStatistics]) -> RoutingTable:
        """Make the next table from the table `before` and the counts that each worker reported."""
        counts = {worker: KeyCounts.from_arrays(each.memory) for worker, each in reported.items()}
        return RoutingTable(self.grouping.learned_of_workers(before.memory, counts, self.workers))
