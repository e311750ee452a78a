"""Plans of a running pipeline: each epoch's is made of what the workers held in the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.groupings.planned import KeyStatistics, Plan
from evenkey.hashing import hash_strings
from evenkey.spark.routing_table import RoutingTable, RoutingTables
from evenkey.topology.worker import PLACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from evenkey.groupings import Planned, Snapshot
    from evenkey.streams.splits import Splitter
    from evenkey.topology.run_directory import RunDirectory
    from evenkey.topology.sources import Reading

__all__ = ["EpochPlanner"]


class EpochPlanner:
    """Makes the plan of each epoch before the epoch starts.

    Workers tell how many messages of each key they held before an epoch ends, so its plan is made
    without a lag and without another pass. Where the grouping asks for the next epoch to be
    counted first, the planner counts it, which it can since the pipeline's input can be read at
    any position.

    Parameters
    ----------
    spark
        Runs the counting.
    grouping, workers
        What is planned.
    reading, splitter
        The input, and what finds the messages in its lines; None: it holds messages.
    directory
        Where the workers' counts and the plans lie.
    epoch_messages
        Positions of an epoch.
    sources
        Tasks that count.
    """

    def __init__(
        self,
        spark: SparkSession,
        grouping: Planned,
        workers: int,
        reading: Reading,
        splitter: Splitter | None,
        directory: RunDirectory,
        *,
        epoch_messages: int,
        sources: int,
    ) -> None:
        self._spark = spark
        self._grouping = grouping
        self._workers = workers
        self._reading = reading
        self._splitter = splitter
        self._files = directory.files
        self._tables = RoutingTables(directory.tables, str(grouping), workers)
        self._epoch_messages = epoch_messages
        self._sources = sources

    def start(self) -> None:
        """Plan the first epoch, unless a run that goes on has its plans."""
        if not self._tables.numbers() and self._grouping.counts_first({}):
            self._tables.write(0, RoutingTable(self._counted({}, 0)))

    def end(self, epoch: int) -> None:
        """Plan the epoch after `epoch`, which has ended."""
        table = self._files.read(PLACED, [epoch])
        if table is None:
            return
        counts = table["messages"].to_numpy()
        sent = np.bincount(table["worker"].to_numpy(), counts, minlength=self._workers)
        before = self._tables.read(epoch).memory
        if self._grouping.planning in ("auto", "previous"):
            statistics = self._grouping.statistics(self._workers)
            keys, places = np.unique(hash_strings(table["key"]), return_inverse=True)
            statistics.add_counted(keys, np.bincount(places, counts).astype(np.float64))
            memory = self._grouping.learned(
                before, statistics, self._workers, sent.astype(np.int64)
            )
        else:
            memory = before
        if self._grouping.counts_first(memory):
            memory = self._counted(memory, self._position(epoch)) or memory
        self._tables.write(epoch + 1, RoutingTable(memory))

    def _position(self, epoch: int) -> int:
        """Where the epoch after `epoch` begins: those that held messages lie before it."""
        return self._epoch_messages * sum(each <= epoch for each in self._files.epochs(PLACED))

    def _counted(self, memory: Snapshot, start: int) -> Snapshot:
        """Count the epoch that begins at a position, and plan it; empty past the input's end."""
        stop = min(start + self._epoch_messages, self._reading.total)
        if start >= stop:
            return {}
        task = _CountTask(
            self._reading,
            self._splitter,
            (start, stop, self._sources),
            self._grouping,
            self._workers,
        )
        parts = self._spark.range(0, self._sources, 1, self._sources)
        statistics = self._grouping.statistics(self._workers)
        for row in parts.mapInArrow(task, "sketch binary, buckets binary").toArrow().to_pylist():
            arrays: Snapshot = {
                "part_sketch": np.frombuffer(row["sketch"], np.uint8),
                "part_buckets": np.frombuffer(row["buckets"], np.float64),
            }
            statistics.merge(KeyStatistics.from_arrays(arrays, "part"))
        previous = Plan.from_arrays(memory) if memory else None
        plan = self._grouping.plan_of(statistics, self._workers, previous)
        return plan.to_arrays()


class _CountTask:
    """Counts the keys of one source's share of an epoch."""

    def __init__(
        self,
        reading: Reading,
        splitter: Splitter | None,
        span: tuple[int, int, int],
        grouping: Planned,
        workers: int,
    ) -> None:
        self._reading = reading
        self._splitter = splitter
        self._span = span
        self._grouping = grouping
        self._workers = workers

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        start, stop, sources = self._span
        for batch in batches:
            statistics = self._grouping.statistics(self._workers)
            for source in batch.column(0).to_pylist():
                for rows in self._reading.read(start, stop, source, sources):
                    statistics.add(hash_strings(self._keys(rows)))
            arrays = statistics.to_arrays("part")
            values = [pa.array([array.tobytes()], pa.binary()) for array in arrays.values()]
            yield pa.RecordBatch.from_arrays(values, names=["sketch", "buckets"])

    def _keys(self, rows: pa.RecordBatch) -> pa.Array:
        if self._splitter is None:
            return rows["key"]
        return self._splitter.split(rows["line"]).messages["key"]
