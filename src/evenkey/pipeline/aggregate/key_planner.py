"""The planner of a run: it makes each epoch's plan from the counts of the previous epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.hashing import hash_strings
from evenkey.groupings import KeyCounts, KeyStatistics, limited
from evenkey.pipeline.aggregate.worker import PLACED
from evenkey.spark import RoutingTable, RoutingTables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from evenkey.core.streams import Splitter
    from evenkey.groupings import By, PlannedGrouping, Snapshot
    from evenkey.pipeline.runs import Reading, RunDirectory


@dataclass(frozen=True)
class PlannableInput:
    """An input that can be read at any position, and therefore counted before routing.

    Parameters
    ----------
    reading
        Reads rows of the input by position.
    splitter
        Splits lines of the input into messages; None: each row of the input is a message.
    epoch_messages
        Number of positions in an epoch.
    sources
        Number of tasks that count keys.
    """

    reading: Reading
    splitter: Splitter | None
    epoch_messages: int
    sources: int


class KeyPlanner:
    """Makes the plan of each epoch before the epoch starts.

    The planner writes the plans to the run's routing tables. The tasks of the run read the plans
    through the plan source `Latest` (`evenkey.spark.plans.plan_source`).

    Workers report their messages per key before an epoch ends. So the planner knows the exact
    count of each key over all workers, and makes the plan without delay and without another pass
    over the data. Some groupings require counts of the very epoch that is planned. For these
    groupings the planner counts the keys of that epoch before the epoch starts, which needs an
    input that can be read at any position. Topics cannot be read at any position. Their first epoch
    has no plan, and its hot keys are spread like unexpected hot keys.

    Parameters
    ----------
    spark
        The session, which runs the tasks that count keys.
    grouping, workers
        The grouping and the number of workers to plan for.
    directory
        Directory of the run, with the workers' counts and the plans.
    ahead
        The input, if its keys can be counted before they are routed; None if they cannot.
    by
        The unit of the planned loads: messages or weights.
    """

    def __init__(
        self,
        spark: SparkSession,
        grouping: PlannedGrouping,
        workers: int,
        directory: RunDirectory,
        ahead: PlannableInput | None,
        *,
        by: By = "messages",
    ) -> None:
        self._spark = spark
        self._grouping = grouping
        self._workers = workers
        self._files = directory.files
        self._workers_of = directory.workers_of
        self._tables = RoutingTables(directory.tables, str(grouping), workers)
        self._ahead = ahead
        self._by = by

    def plan_first(self) -> None:
        """Plan the first epoch of this process, unless the run already has plans.

        A run that continues with another layout, such as more workers, has no plans for this
        layout. Then the next epoch is planned from the workers' counts of the last epoch.
        """
        if self._tables.numbers():
            return
        held = self._files.epochs(PLACED)
        if held:
            self.plan_after(held[-1])
        elif self._ahead and self._grouping.counts_first({}):
            self._tables.write(0, RoutingTable(self._counted(self._ahead, {}, 0)))

    def plan_after(self, epoch: int) -> None:
        """Plan the epoch that follows `epoch`; `epoch` must be complete."""
        table = self._files.read(PLACED, [epoch])
        if table is None:
            return
        before = self._tables.read(epoch).memory
        held = self._held(table, workers=self._workers_of(epoch))
        memory = self._grouping.learned_of_workers(before, held, self._workers)
        if self._ahead and self._grouping.counts_first(memory):
            start = self._ahead.epoch_messages * self._epochs_until(epoch)
            memory = self._counted(self._ahead, memory, start) or memory
        self._tables.write(epoch + 1, RoutingTable(memory))

    def _held(self, table: pa.Table, workers: int) -> dict[int, KeyCounts]:
        """Return an epoch's counts per key, by worker.

        If the number of workers has changed since that epoch, all counts are under worker 0.
        """
        load = "messages" if self._by == "messages" else "weight"
        keys, loads = hash_strings(table["key"]), table[load].to_numpy().astype(np.float64)
        worker_of = table["worker"].to_numpy() * (workers == self._workers)
        empty = self._grouping.statistics(self._workers)
        return {
            int(worker): KeyCounts.of(
                keys[worker_of == worker], loads[worker_of == worker], empty, all_named=True
            )
            for worker in np.unique(worker_of)
        }

    def _epochs_until(self, epoch: int) -> int:
        """Count the non-empty epochs up to `epoch`, whose positions come before the next epoch."""
        return sum(each <= epoch for each in self._files.epochs(PLACED))

    def _counted(self, ahead: PlannableInput, memory: Snapshot, start: int) -> Snapshot:
        """Count the keys of the epoch that begins at position `start`, and return its plan.

        Return {} if the input has no position `start`.
        """
        stop = min(start + ahead.epoch_messages, ahead.reading.total)
        if start >= stop:
            return {}
        task = _CountTask(ahead, start, stop, self._grouping, self._workers, self._by)
        parts = self._spark.range(0, ahead.sources, 1, ahead.sources)
        statistics = self._grouping.statistics(self._workers)
        for row in parts.mapInArrow(task, "sketch binary, buckets binary").toArrow().to_pylist():
            arrays: Snapshot = {
                "part_sketch": np.frombuffer(row["sketch"], np.uint8),
                "part_buckets": np.frombuffer(row["buckets"], np.float64),
            }
            statistics.merge(KeyStatistics.from_arrays(arrays, "part"))
        return self._grouping.plan_ahead(statistics, self._workers, memory)


class _CountTask:
    """Counts the keys in one source's share of an epoch."""

    def __init__(
        self,
        ahead: PlannableInput,
        start: int,
        stop: int,
        grouping: PlannedGrouping,
        workers: int,
        by: By,
    ) -> None:
        self._ahead = ahead
        self._start = start
        self._stop = stop
        self._grouping = grouping
        self._workers = workers
        self._by = by

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        span = self._start, self._stop
        for batch in batches:
            statistics = self._grouping.statistics(self._workers)
            for source in batch.column(0).to_pylist():
                for rows in self._ahead.reading.read(*span, source, self._ahead.sources):
                    statistics.add(*self._keys(rows))
            arrays = statistics.to_arrays("part")
            values = [pa.array([array.tobytes()], pa.binary()) for array in arrays.values()]
            yield pa.RecordBatch.from_arrays(values, names=["sketch", "buckets"])

    def _keys(self, rows: pa.RecordBatch) -> tuple[NDArray[np.uint64], NDArray[np.float64] | None]:
        splitter = self._ahead.splitter
        messages = rows if splitter is None else splitter.split(rows["line"]).messages
        keys = hash_strings(messages["key"])
        if self._by == "messages":
            return keys, None
        # Rows of tables are not validated yet: rows that will become dead letters count as 1 here.
        counts = pc.fill_null(messages["count"], 1).to_numpy(zero_copy_only=False)
        return keys, limited(np.maximum(counts, 1)).astype(np.float64)
