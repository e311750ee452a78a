"""Partial states: the rows of a hot key are combined before the shuffle, and merged after it."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.spark.sessions import current_task
from evenkey.spark.sessions.task_id import current_run
from evenkey.spark.states.key_function import Called
from evenkey.spark.states.reserved_columns import (
    CONTENT,
    COUNT,
    HASH,
    PART,
    PARTITION,
    SECONDS,
    SLOT,
    TIME,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from evenkey.spark.states.deciding import StatePlans
    from evenkey.spark.states.key_function import KeyFunction
    from evenkey.spark.states.key_states import KeyStates
    from evenkey.spark.states.state_plan import StatePlan

_ROWS = 1 << 16
"""Number of rows of hot keys that a task collects before it combines them."""
_MOST_HOT = 64
"""Number of keys whose rows a slot records."""


class CombineTask:
    """Replaces the rows of hot keys, which the plan names, by partial states of these keys.

    Parameters
    ----------
    function
        The user's function, which makes a partial state of rows of a key without state.
    plans
        Supplies the plan of each epoch.
    schema
        Schema of the rows that come, and then columns `COUNT` and `SECONDS` and the columns of a
        partial state, which begin with `PART`.
    """

    def __init__(self, function: KeyFunction, plans: StatePlans, schema: pa.Schema) -> None:
        self._function = function
        self._plans = plans
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one task of the source."""
        task = current_task()
        plan = self._plans.recall(task, current_run() or task.query)
        for table in self.combined(batches, plan):
            yield from table.to_batches()

    def combined(self, batches: Iterable[pa.RecordBatch], plan: StatePlan) -> Iterator[pa.Table]:
        """Run over batches, with a given plan."""
        hot = np.array(plan.hot, dtype=np.int64)
        held: list[pa.Table] = []
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            is_hot = np.isin(rows[HASH].to_numpy(), hot)
            if TIME in rows.column_names and plan.now is not None:
                # The slot leaves late rows out, and counts them.
                late = pc.fill_null(pc.less(rows[TIME], plan.now), fill_value=False)
                is_hot &= ~np.asarray(late)
            yield self._filled(rows.filter(pa.array(~is_hot)))
            held.append(rows.filter(pa.array(is_hot)))
            if sum(each.num_rows for each in held) >= _ROWS:
                yield self._parts(pa.concat_tables(held), plan)
                held = []
        if any(each.num_rows for each in held):
            yield self._parts(pa.concat_tables(held), plan)

    def _parts(self, rows: pa.Table, plan: StatePlan) -> pa.Table:
        """Return a partial state for each key."""
        started = thread_time()
        states, counts = self._function.parts(rows, plan.now)
        seconds = thread_time() - started
        hashes = states[HASH].to_numpy()
        columns = {name: states[name] for name in (HASH, *self._function.keys)}
        columns[CONTENT] = pa.array(np.zeros(len(hashes), dtype=np.int64))
        columns[COUNT] = pa.array(counts)
        columns[SECONDS] = pa.array(seconds * counts / counts.sum())
        partitions = plan.partitions_of(hashes)
        columns[PARTITION] = pa.array(partitions)
        columns[SLOT] = pa.array(np.array(plan.owners)[partitions])
        if TIME in rows.column_names:
            latest = pc.max(rows[TIME]).as_py()
            columns[TIME] = pa.array([latest] * len(hashes), pa.int64())
        for number, name in enumerate(self._function.columns):
            columns[f"{PART}{number}"] = states[name]
        return self._filled(pa.table(columns))

    def _filled(self, rows: pa.Table) -> pa.Table:
        """Return rows with all columns of the schema; those that they lack are null."""
        there = set(rows.column_names)
        columns = [
            rows[field.name].cast(field.type)
            if field.name in there
            else pa.nulls(rows.num_rows, field.type)
            for field in self._schema
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)


def with_parts(
    function: KeyFunction,
    merge: KeyFunction,
    states: KeyStates,
    rows: pa.Table,
    now: int | None,
) -> Called:
    """Call `function` with the rows of a partition, and `merge` with the partial states.

    A key has either rows or partial states in an epoch, so the calls change different keys.
    """
    is_part = pc.is_valid(rows[COUNT])
    added = [name for name in rows.column_names if name.startswith(PART)]
    plain = rows.filter(pc.invert(is_part)).drop_columns(added)
    parts = rows.filter(is_part)
    if not parts.num_rows:
        return function(states, plain, now)
    named = [HASH, CONTENT, *function.keys, *((TIME,) if TIME in rows.column_names else ())]
    own = parts.select([*named, *added]).rename_columns([*named, *function.columns])
    timed = np.ones(states.table.num_rows, dtype=bool)
    found = states.find(own)
    timed[found[found >= 0]] = False
    first = function(states, plain, now, timed)
    nobody = np.zeros(first.states.table.num_rows, dtype=bool)
    second = merge(first.states, own, now, nobody)
    changes = pa.concat_tables([first.changes, second.changes])
    order = np.argsort(changes[HASH].to_numpy(), kind="stable")
    return Called(
        second.states,
        changes.take(pa.array(order)).combine_chunks(),
        pa.concat_tables([first.results, second.results]),
    )


def rows_in(rows: pa.Table) -> int:
    """Return the number of rows of the stream, of which a partial state has several."""
    if COUNT not in rows.column_names:
        return int(rows.num_rows)
    return int(_counts(rows).sum())


def combining_seconds(rows: pa.Table) -> float:
    """Return the seconds of work of the tasks that made the partial states."""
    if SECONDS not in rows.column_names:
        return 0.0
    return float(pc.sum(rows[SECONDS]).as_py() or 0.0)


def hottest(rows: pa.Table) -> tuple[tuple[int, int], ...]:
    """Return the hashes of the keys with most rows, and their numbers of rows."""
    of_rows = rows[HASH].to_numpy()
    if COUNT not in rows.column_names:
        hashes, counts = np.unique(of_rows, return_counts=True)
    else:
        hashes, numbers = np.unique(of_rows, return_inverse=True)
        counts = np.bincount(numbers, _counts(rows), minlength=len(hashes)).astype(np.int64)
    most = np.argsort(-counts, kind="stable")[:_MOST_HOT]
    return tuple((int(hashes[each]), int(counts[each])) for each in most)


def _counts(rows: pa.Table) -> NDArray[np.int64]:
    """Return the number of rows of the stream in each row, int64[n]."""
    return np.asarray(pc.fill_null(rows[COUNT], 1))
