"""Slot task of keyed state: what a slot does in one epoch."""

from __future__ import annotations

import uuid
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import RunError
from evenkey.core.stores import at_once
from evenkey.spark.sessions import current_task
from evenkey.spark.sessions.task_id import current_run
from evenkey.spark.slots import CacheKey, process_cache
from evenkey.spark.states.key_states import KeyStates
from evenkey.spark.states.partial_states import combining_seconds, hottest, rows_in, with_parts
from evenkey.spark.states.pieces import Piece, Version
from evenkey.spark.states.reserved_columns import PARTITION, SLOT, TIME
from evenkey.spark.states.state_plan import SlotWork, Work, Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkey.spark.sessions import TaskId
    from evenkey.spark.states.deciding import StatePlans
    from evenkey.spark.states.key_function import KeyFunction
    from evenkey.spark.states.state_log import StateLog
    from evenkey.spark.states.state_plan import StatePlan

SNAPSHOT_EVERY = 10
"""A partition whose states change in each epoch is written as a whole in each tenth epoch."""
_SNAPSHOT_SHARE = 0.5
"""A partition is written as a whole if its changes have at least this share of its rows."""


class Held(NamedTuple):
    """The states of a partition, as a process keeps them for the next epoch.

    Parameters
    ----------
    states
        The states.
    chain
        The versions whose pieces make up these states, oldest first.
    changed
        Number of rows of changes since the snapshot.
    """

    states: KeyStates
    chain: tuple[Version, ...]
    changed: int

    @property
    def nbytes(self) -> int:
        """Size of the states, in bytes."""
        return self.states.nbytes


class SlotTask:
    """Processes the rows and timers of one slot, and writes the states that they change.

    Parameters
    ----------
    function
        The user's function.
    merge
        The user's function that merges partial states; None: there are none.
    schema
        Schema of the rows that come.
    plans
        Supplies the plan of each epoch. None: the rows are a batch, whose keys begin without
        states, and nothing is stored.
    cache_bytes
        Maximum total size of the states that a process keeps, in bytes.
    """

    def __init__(
        self,
        function: KeyFunction,
        merge: KeyFunction | None,
        schema: pa.Schema,
        plans: StatePlans | None,
        cache_bytes: int,
    ) -> None:
        self._function = function
        self._merge = merge
        self._schema = schema
        self._plans = plans
        self._cache_bytes = cache_bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one slot."""
        if self._plans is None:
            yield from self._of_batch(batches)
            return
        task = current_task()
        tables = self.processed(self._plans, batches, task, current_run() or task.query)
        while tables:
            yield from tables.pop(0).to_batches()

    def processed(
        self, plans: StatePlans, batches: Iterable[pa.RecordBatch], task: TaskId, run: str
    ) -> list[pa.Table]:
        """Process the rows of an epoch; return the results once the states are stored.

        Nothing is returned before the record of this attempt is stored. So also if Spark does not
        read all results, the states are those after all rows of the epoch.

        Raises
        ------
        RunError
            The state cannot be read or written, or the function fails.
        """
        plan, log = plans.recall(task, run), plans.log(task.query)
        functions = self._function, self._merge
        if task.partition >= plans.most_workers:
            what = (
                f"there is a task of slot {task.partition}, and the slots are {plans.most_workers}"
            )
            raise _other_partitions(what)
        slot = _Slot(*functions, plan, log, task.partition, self._cache_bytes)
        return slot.processed(self._gathered(batches))

    def _of_batch(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _by_partition(self._gathered(batches)).values():
            called = self._function(self._function.nothing(), rows, None)
            yield from called.results.to_batches()

    def _gathered(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Return all rows; a task without rows gets no batch, which would have the schema."""
        found = [each for each in batches if each.num_rows]
        return pa.Table.from_batches(found) if found else self._schema.empty_table()


class _Slot:
    """One attempt of a slot's task in one epoch."""

    def __init__(
        self,
        function: KeyFunction,
        merge: KeyFunction | None,
        plan: StatePlan,
        log: StateLog,
        number: int,
        limit: int,
    ) -> None:
        self._function = function
        self._merge = merge
        self._plan = plan
        self._log = log
        self._number = number
        self._version = Version(plan.epoch, uuid.uuid4().hex[:16])
        regrouped = {partition for _, *both in plan.regrouped for partition in both}
        self._regrouped = regrouped.intersection(plan.of_slot(number)).difference(plan.unused)
        self._cache = process_cache(limit)
        self._cache.drop(self._useless)
        self._loaded: dict[int, float] = {}
        self._work: dict[int, Work] = {}
        self._pieces: dict[int, Piece] = {}
        self._held: dict[int, Held] = {}
        self._dropped: list[tuple[Version, int]] = []

    def processed(self, rows: pa.Table) -> list[pa.Table]:
        """Process all rows of the slot, store the states and the record, and return the results."""
        rows, latest, late = self._on_time(rows)
        self._check(rows)
        own, nothing = _by_partition(rows), rows.slice(0, 0)
        results = [
            self._call(partition, own.get(partition, nothing))
            for partition in sorted({*own, *self._due(), *self._regrouped})
        ]
        write = self._log.pieces.write
        at_once(lambda each: write(self._version, *each), [*self._pieces.items()])
        function = self._function
        written = {
            partition: Written(held.states.table.num_rows, function.next_timer(held.states))
            for partition, held in self._held.items()
        }
        record = SlotWork(
            self._number,
            self._version.attempt,
            written,
            self._work,
            self._loaded,
            tuple(self._dropped),
            latest,
            late,
            hottest(rows),
        )
        self._log.record(self._plan, record)
        self._cache.drop(self._replaced)
        for partition, held in self._held.items():
            self._cache.put(self._key(partition, self._version), held)
        return [each for each in results if each.num_rows]

    def _on_time(self, rows: pa.Table) -> tuple[pa.Table, int | None, int]:
        """Leave out late rows; return the latest event time, and the number of late rows."""
        if TIME not in rows.column_names:
            return rows, None, 0
        latest: int | None = pc.max(rows[TIME]).as_py()
        if self._plan.now is None:
            return rows, latest, 0
        late = pc.fill_null(pc.less(rows[TIME], self._plan.now), fill_value=False)
        kept = rows.filter(pc.invert(late))
        return kept, latest, rows.num_rows - kept.num_rows

    def _check(self, rows: pa.Table) -> None:
        """Check that all rows are of this slot.

        Raises
        ------
        RunError
            Spark has combined, cut or renumbered the partitions of the shuffle.
        """
        others = [each for each in pc.unique(rows[SLOT]).to_pylist() if each != self._number]
        if others:
            what = f"the task of slot {self._number} got rows of slot {others[0]}"
            raise _other_partitions(what)

    def _due(self) -> list[int]:
        """Return the partitions of the slot that have a timer which is due."""
        now, timers = self._plan.now, self._plan.timers
        found = []
        for partition in self._plan.of_slot(self._number):
            timer = timers[partition]
            if now is not None and timer is not None and timer <= now:
                found.append(partition)
        return found

    def _call(self, partition: int, rows: pa.Table) -> pa.Table:
        regrouped = partition in self._regrouped
        held = self._after_regrouping(partition) if regrouped else self._states(partition)
        started = thread_time()
        if self._merge is None:
            called = self._function(held.states, rows, self._plan.now)
        else:
            called = with_parts(self._function, self._merge, held.states, rows, self._plan.now)
        spent = thread_time() - started
        self._work[partition] = Work(
            rows_in(rows), spent, called.results.num_rows, rows.num_rows, combining_seconds(rows)
        )
        count = called.changes.num_rows
        if count or regrouped:
            changed = held.changed + count
            if self._is_whole(partition, held, called.states, changed):
                self._dropped += [(version, partition) for version in held.chain]
                self._pieces[partition] = Piece(called.states.table, ())
                self._held[partition] = Held(called.states, (self._version,), 0)
            else:
                chain = (*held.chain, self._version)
                self._pieces[partition] = Piece(called.changes, held.chain)
                self._held[partition] = Held(called.states, chain, changed)
        return called.results

    def _is_whole(self, partition: int, held: Held, states: KeyStates, changed: int) -> bool:
        """Return whether to write all states of a partition, and not only what has changed.

        Partitions take turns, so that an epoch does not write all states.
        """
        return (
            not held.chain
            or (self._plan.epoch + partition) % SNAPSHOT_EVERY == 0
            or len(held.chain) >= 2 * SNAPSHOT_EVERY
            or changed >= _SNAPSHOT_SHARE * states.table.num_rows
        )

    def _after_regrouping(self, partition: int) -> Held:
        """Return the states of the keys that a partition has from this epoch on.

        These are written as a whole, so nobody needs the pieces of the previous epoch's partitions.
        """
        held, plan = self._states(partition), self._plan
        states = held.states
        self._dropped += [(version, partition) for version in held.chain]
        lost = [key for key, source, _ in plan.regrouped if source == partition]
        stays = ~np.isin(states.hashes, np.array(lost, dtype=np.int64))
        tables = [states.table.filter(pa.array(stays))]
        for key, source, target in plan.regrouped:
            if target == partition:
                other = self._states(source)
                tables.append(other.states.table.filter(pa.array(other.states.hashes == key)))
                if source in plan.unused:
                    self._dropped += [(version, source) for version in other.chain]
        return Held(states.with_table(pa.concat_tables(tables)), (), 0)

    def _states(self, partition: int) -> Held:
        head = self._plan.heads[partition]
        if head is None:
            return Held(self._function.nothing(), (), 0)
        started = perf_counter()
        held: Held
        held, loaded = self._cache.get(
            self._key(partition, head), lambda: self._load(head, partition)
        )
        if loaded:
            self._loaded[partition] = perf_counter() - started
        return held

    def _load(self, head: Version, partition: int) -> Held:
        tables, chain = self._log.pieces.chain(head, partition)
        states = KeyStates(tables[0], self._function.keys)
        for table in tables[1:]:
            states = self._function.applied(states, table)
        return Held(states, chain, sum(each.num_rows for each in tables[1:]))

    def _key(self, partition: int, version: Version) -> CacheKey:
        return CacheKey(self._log.store.url, self._number, partition, version)

    def _useless(self, key: CacheKey) -> bool:
        """Return whether no task of this epoch, nor of the next one, needs a cached partition."""
        if key.store != self._log.store.url or not isinstance(key.version, Version):
            return False
        plan, partition = self._plan, key.partition
        needed = partition < len(plan.heads) and (key.version, key.slot) == (
            plan.heads[partition],
            plan.owners[partition],
        )
        return key.version.epoch < plan.epoch and not needed

    def _replaced(self, key: CacheKey) -> bool:
        """Return whether this epoch has replaced the states of a cached partition."""
        head = self._plan.heads[key.partition] if key.partition in self._held else None
        return head is not None and key == self._key(key.partition, head)


def _other_partitions(what: str) -> RunError:
    message = (
        f"{what}: Spark has changed the partitions of the shuffle; write results to a sink before "
        "a union with other rows, and set spark.sql.adaptive.enabled to false"
    )
    return RunError(message)


def _by_partition(rows: pa.Table) -> dict[int, pa.Table]:
    """Divide rows by their state partitions."""
    numbers = rows[PARTITION].to_numpy()
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    ordered = rows.take(pa.array(order))
    stops = [*starts, len(order)][1:]
    return {
        int(partition): ordered.slice(start, stop - start)
        for partition, start, stop in zip(found, starts, stops, strict=True)
    }
