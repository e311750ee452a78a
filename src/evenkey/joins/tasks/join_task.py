"""Join task: what a slot does in one epoch."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.event_clock import EventClock
from evenkey.joins.balance.epoch_log import SlotRecord
from evenkey.joins.balance.work import CLOCKS
from evenkey.joins.matching.partition_join import FIRST, PARTITION, SLOT
from evenkey.spark.keys import seconds_of
from evenkey.spark.sessions import BATCH
from evenkey.spark.slots import CacheKey, WorkerCache, process_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkey.joins.balance.epoch_log import EpochPlan
    from evenkey.joins.balance.epoch_plans import EpochPlans
    from evenkey.joins.balance.work import LoadClock
    from evenkey.joins.matching.following import Following
    from evenkey.joins.matching.partition_join import PartitionJoin
    from evenkey.joins.static.manifest import StaticVersion
    from evenkey.spark.sessions import TaskId

_ROWS = 1 << 16
"""Number of rows that are collected before they are joined, so that each partition gets large
batches."""


class JoinTask:
    """Joins the rows of one slot with the slot's static partitions.

    Parameters
    ----------
    join
        Joins the rows of one partition.
    plans
        Provides the plan of the epoch, and the log in which the slot's work is recorded.
    cache_bytes
        Maximum total size of the static partitions that are kept, in bytes.
    cache_static
        True: static partitions stay in this process for the next epoch (STAL). False: static
        partitions are loaded in each epoch (STRL).
    time
        Column of event times, which the slot's `EventClock` follows; None: there is no such column.
    then
        Function to apply to the joined rows; None: the joined rows are returned as they are.
    load_clock
        Clock that measures the seconds of work.
    stays
        True: rows are not moved, because each process holds the whole static side. All tasks of a
        process then share one cached partition. There is nothing to balance, so the work is not
        recorded.
    """

    def __init__(
        self,
        join: PartitionJoin,
        plans: EpochPlans,
        *,
        cache_bytes: int,
        cache_static: bool,
        time: str | None,
        then: Following | None = None,
        load_clock: LoadClock = "processor",
        stays: bool = False,
    ) -> None:
        self._join = join
        self._plans = plans
        self._cache_bytes = cache_bytes
        self._cache_static = cache_static
        self._time = time
        self._then = then
        self._load_clock = load_clock
        self._stays = stays

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one slot."""
        task = self._plans.task()
        yield from self.joined(batches, task, self._plans.recall(task))

    def joined(
        self, batches: Iterable[pa.RecordBatch], task: TaskId, plan: EpochPlan
    ) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one slot, with a given plan."""
        number = 0 if self._stays else task.partition
        slot = _Slot(self, number, plan, CLOCKS[self._load_clock], self._then)
        for rows in _gathered(batches):
            slot.take_times(rows, self._time)
            yield from slot.join(rows)
        if task.query != BATCH and not self._stays:
            self._plans.log(task.query).record(task.epoch, slot.record())

    def cache(self, plan: EpochPlan) -> WorkerCache:
        """Return the cache to use; partitions that the plan does not need here are dropped."""
        if not self._cache_static:
            return WorkerCache(self._cache_bytes)
        cache, store = process_cache(self._cache_bytes), self._plans.static.url
        cache.drop(
            lambda key: (
                key.store == store
                and (key.version != plan.version or not plan.serves(key.slot, key.partition))
            )
        )
        return cache

    def load(self, version: StaticVersion, partition: int) -> Any:
        """Load and prepare a static partition."""
        table = self._plans.static.read(version, partition)
        return self._join.prepare(table, partition)

    def key(self, slot: int, partition: int, version: StaticVersion) -> CacheKey:
        """Return the key under which a partition is cached."""
        return CacheKey(self._plans.static.url, slot, partition, version)

    def match(self, prepared: Any, rows: pa.Table) -> Iterator[pa.Table]:
        """Join rows with a partition."""
        return self._join.match(prepared, rows)


class _Slot:
    """One slot in one epoch: joins the rows of the slot and measures the work."""

    def __init__(
        self,
        task: JoinTask,
        number: int,
        plan: EpochPlan,
        clock: Callable[[], float] = thread_time,
        then: Following | None = None,
    ) -> None:
        self._task = task
        self._number = number
        self._version = plan.version
        self._clock = clock
        self._then = then
        self._cache = task.cache(plan)
        self._work: dict[int, tuple[int, float, int]] = {}
        self._loaded: dict[int, float] = {}
        self._event_clock = EventClock()
        self._distinct: int | None = None

    def join(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Join rows, partition by partition."""
        numbers = rows[PARTITION].to_numpy()
        order = np.argsort(numbers, kind="stable")
        if FIRST in rows.column_names:
            self._distinct = (self._distinct or 0) + (pc.sum(rows[FIRST]).as_py() or 0)
        added = [name for name in (PARTITION, SLOT, FIRST) if name in rows.column_names]
        columns = rows.drop_columns(added).take(order)
        found, starts = np.unique(numbers[order], return_index=True)
        for partition, start, stop in zip(found, starts, [*starts[1:], len(order)], strict=True):
            yield from self._join_one(int(partition), columns.slice(start, stop - start))

    def _join_one(self, partition: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        prepared = self._prepared(partition)
        joined, started = 0, self._clock()
        for table in self._task.match(prepared, rows):
            joined += table.num_rows
            # During `yield`, Spark processes the rows. This time counts as work on them (decision
            # 085).
            for result in [table] if self._then is None else self._then(table):
                yield from result.combine_chunks().to_batches()
        items, spent, before = self._work.get(partition, (0, 0.0, 0))
        spent += self._clock() - started
        self._work[partition] = (items + rows.num_rows, spent, before + joined)

    def _prepared(self, partition: int) -> Any:
        started = self._clock()
        key = self._task.key(self._number, partition, self._version)
        load = self._task.load
        prepared, loaded = self._cache.get(key, lambda: load(self._version, partition))
        if loaded:
            before = self._loaded.get(partition, 0.0)
            self._loaded[partition] = before + self._clock() - started
        return prepared

    def take_times(self, rows: pa.Table, column: str | None) -> None:
        """Advance the slot's clock by the event times of rows."""
        if column is not None:
            self._event_clock.follow(seconds_of(rows[column]))

    def record(self) -> SlotRecord:
        """Return the record of the slot's work."""
        began, ended = self._event_clock.earliest, self._event_clock.latest
        times = (None, None) if np.isnan(ended) else (float(began), float(ended))
        return SlotRecord(
            self._number,
            self._work,
            self._loaded,
            began=times[0],
            ended=times[1],
            distinct=self._distinct,
        )


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine small batches, so that the join works on many rows together."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(each.num_rows for each in held) >= _ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
