"""Drive the epochs of keyed state without Spark, with tasks that die, and count independently.

`Driver` plays Spark's part: it runs the deciding task and then the tasks of all slots of an epoch,
and commits the epoch. What it replaces is only the shuffle: rows go to the slots that the deciding
task returned. `Count` is the independent count: a dict over all rows, in one loop.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from evenkey.core.hashing import hash_longs
from evenkey.core.stores import LocalStore
from evenkey.spark.sessions import TaskId
from evenkey.spark.slots.cache import process_cache
from evenkey.spark.states import deciding
from evenkey.spark.states.deciding import StatePlans
from evenkey.spark.states.key_function import KeyFunction
from evenkey.spark.states.partial_states import CombineTask
from evenkey.spark.states.reserved_columns import (
    CONTENT,
    COUNT,
    HASH,
    PART,
    PARTITION,
    SECONDS,
    SEEN,
    SLOT,
    TIME,
)
from evenkey.spark.states.slot_task import SlotTask
from evenkey.spark.states.state_shape import StateShape

CACHE = 1 << 30
MODULUS = 1_000_003
STATE = pa.schema([("n", pa.int64()), ("digest", pa.int64()), ("timer", pa.timestamp("us", "UTC"))])
RESULTS = pa.schema([("key", pa.int64()), ("n", pa.int64()), ("digest", pa.int64())])
ROWS = pa.schema([("key", pa.int64()), ("value", pa.int64())])
_runs = itertools.count()


class Killed(BaseException):
    """The process was killed."""


class MortalStore(LocalStore):
    """A store whose user is killed at its n-th request, before or after the request is done."""

    left: int | None = None
    late = False

    def _die(self, *, late: bool) -> None:
        if MortalStore.left is None or late != MortalStore.late:
            return
        MortalStore.left -= 1
        if MortalStore.left < 0:
            raise Killed

    def _mortally(self, name, *arguments, **named):
        self._die(late=False)
        result = getattr(LocalStore, name)(self, *arguments, **named)
        self._die(late=True)
        return result

    def read(self, name):
        return self._mortally("read", name)

    def put(self, name, content, *, durable=False):
        return self._mortally("put", name, content, durable=durable)

    def create(self, name, content, *, durable=False):
        return self._mortally("create", name, content, durable=durable)

    def names(self, name=""):
        return self._mortally("names", name)

    def delete(self, name):
        return self._mortally("delete", name)


def folded(batch):
    """Count the rows of each key, and fold their values in order; a value below 0 deletes."""
    counts = batch.states["n"].fill_null(0).to_numpy().copy()
    digests = batch.states["digest"].fill_null(0).to_numpy().copy()
    gone = np.zeros(len(counts), dtype=bool)
    for position, value in zip(batch.positions, batch.rows["value"].to_pylist(), strict=True):
        if value < 0:
            counts[position], digests[position], gone[position] = 0, 0, True
        else:
            counts[position] += 1
            digests[position] = (digests[position] * 31 + value) % MODULUS
            gone[position] = False
    states = pa.Table.from_arrays(
        [
            pa.array(counts, mask=gone),
            pa.array(digests, mask=gone),
            pa.nulls(len(counts), STATE.field("timer").type),
        ],
        schema=STATE,
    )
    keys = batch.states["key"]
    return states, pa.Table.from_arrays([keys, *states.columns[:2]], schema=RESULTS)


class Count:
    """The same in one loop over all rows, with a dict."""

    def __init__(self):
        self.states = {}

    def epoch(self, rows):
        """Process rows (key, value, time, content); return the results of the epoch."""
        touched = defaultdict(list)
        for key, value, time, content in rows:
            touched[key].append((time, content, value))
        for key, values in touched.items():
            for _, _, value in sorted(values):
                n, digest = self.states.pop(key, (0, 0))
                if value >= 0:
                    self.states[key] = (n + 1, (digest * 31 + value) % MODULUS)
        return Counter((key, *self.states.get(key, (None, None))) for key in touched)


def hashes_of(keys, bits=64):
    """Hash keys; with few bits, different keys have the same hash."""
    hashed = hash_longs(np.array([0 if key is None else key for key in keys], dtype=np.int64))
    nulls = np.array([key is None for key in keys], dtype=np.uint64)
    hashed = (hashed + nulls) & np.uint64((1 << bits) - 1)
    return hashed.view(np.int64) if bits == 64 else hashed.astype(np.int64)


def table_of(rows, plan, bits=64, *, timed=True):
    """Make a task's input of rows (key, value, time in microseconds, content), without slots."""
    keys = [row[0] for row in rows]
    hashes = hashes_of(keys, bits)
    columns = {
        "key": pa.array(keys, pa.int64()),
        "value": pa.array([row[1] for row in rows], pa.int64()),
        HASH: pa.array(hashes),
        CONTENT: pa.array([row[3] for row in rows], pa.int64()),
        PARTITION: pa.array(plan.partitions_of(hashes).astype(np.int32)),
    }
    if timed:
        columns[TIME] = pa.array([row[2] for row in rows], pa.int64())
    return pa.table(columns)


class Driver:
    """Runs epochs as Spark does; each start is a new run, as after a restart."""

    def __init__(
        self,
        directory,
        function=folded,
        *,
        merge=None,
        partitions=8,
        workers=3,
        bits=64,
        seed=0,
        timer=None,
        expire_after=None,
        state=STATE,
        results=RESULTS,
        event_time=True,
        clock=lambda: 0.0,
        **plans,
    ):
        self.random = np.random.default_rng(seed)
        self.bits, self.event_time = bits, event_time
        seen = [] if expire_after is None else [pa.field(SEEN, pa.int64())]
        self.function = KeyFunction(
            function=function,
            keys=("key",),
            stored=pa.schema([pa.field(HASH, pa.int64()), ROWS.field("key"), *state, *seen]),
            shown=pa.schema([ROWS.field("key"), *state]),
            results=results,
            timer=timer,
            expire_after=expire_after,
        )
        self.merge = None if merge is None else replace(self.function, function=merge, name="merge")
        shape = StateShape(
            (("key", "bigint"),),
            tuple((field.name, str(field.type)) for field in state),
            partitions,
            timer,
            event_time,
            expire_after is not None,
        )
        self.plans = StatePlans(
            root=MortalStore(directory),
            shape=shape,
            operator="one",
            workers=workers,
            most_workers=plans.pop("most_workers", workers),
            by_rows=True,
            merges=merge is not None,
            clock=clock,
            **plans,
        )
        self.restart()

    def restart(self, **changes):
        """Begin a new run, in processes that know nothing."""
        self.run = f"run-{next(_runs)}"
        self.plans = replace(self.plans, operator=self.run, **changes)
        self.forget()

    def forget(self):
        """Replace all processes of executors."""
        process_cache(CACHE).drop(lambda _: True)
        deciding._generations.clear()

    def decide(self, epoch):
        return self.plans.decide(TaskId("q", epoch, 0), self.run)

    def inputs(self, rows, plan):
        """Return the batches of each slot, in a random order of rows."""
        table = table_of(rows, plan, self.bits, timed=self.event_time)
        if self.merge is not None:
            table = self.combined(table, plan)
        slots = np.array(plan.owners, dtype=np.int32)[table[PARTITION].to_numpy()]
        table = table.append_column(SLOT, pa.array(slots))
        for slot in range(self.plans.most_workers):
            mine = self.random.permutation(np.flatnonzero(slots == slot))
            yield slot, table.take(pa.array(mine)).to_batches(max_chunksize=7), table.schema

    def combined(self, table, plan):
        """Combine the rows of hot keys in three source tasks, which have any rows."""
        parts = [pa.field(f"{PART}{number}", field.type) for number, field in enumerate(STATE)]
        added = [pa.field(COUNT, pa.int64()), pa.field(SECONDS, pa.float64())]
        schema = pa.schema([*table.schema, *added, *parts])
        task = CombineTask(self.function, self.plans, schema)
        sources = self.random.integers(0, 3, table.num_rows)
        found = [schema.empty_table()]
        for source in range(3):
            mine = table.filter(pa.array(sources == source))
            found += task.combined(mine.to_batches(max_chunksize=9), plan)
        self.shuffled = pa.concat_tables(found)
        return self.shuffled

    def slot(self, epoch, slot, batches, schema, run=None):
        task = SlotTask(self.function, self.merge, schema, self.plans, CACHE)
        return task.processed(self.plans, batches, TaskId("q", epoch, slot), run or self.run)

    def epoch(self, epoch, rows, attempts=1):
        """Run an epoch to its end; return its results, those of the last attempt of each task."""
        plan = self.decide(epoch)
        results = []
        for slot, batches, schema in self.inputs(rows, plan):
            for _ in range(attempts):
                tables = self.slot(epoch, slot, batches, schema)
            results += tables
        return Counter(tuple(row.values()) for table in results for row in table.to_pylist())

    def states(self, epoch):
        """Read all states at the beginning of an epoch from the store alone."""
        plan, log = self.decide(epoch), self.plans.log("q")
        found = {}
        for partition, head in enumerate(plan.heads):
            if head is None:
                continue
            tables, _ = log.pieces.chain(head, partition)
            states = self.function.nothing()
            for table in tables:
                states = self.function.applied(states, table)
            for row in states.table.to_pylist():
                assert row["key"] not in found
                found[row["key"]] = (row["n"], row["digest"])
        return found


def some_rows(random, epoch, count=60, keys=25, *, deletes=True, shift=0):
    """Draw rows of an epoch; times and contents differ, so that their order is known.

    The hottest key has number 1, plus `shift`.
    """
    rows = []
    for number in range(count):
        key = (int(random.zipf(1.5)) + shift) % keys
        value = -1 if deletes and random.random() < 0.05 else int(random.integers(0, 1000))
        time = epoch * 1_000_000 + int(random.permutation(count)[0]) * 10
        rows.append((None if key == 7 else key, value, time, epoch * count + number))
    return rows


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)
