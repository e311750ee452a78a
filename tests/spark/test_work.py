"""The tasks of workers and aggregators, called on batches without Spark."""

from __future__ import annotations

import itertools
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import parse
from evenkey.spark.aggregates import partial_task as work
from evenkey.spark.aggregates.partial_task import (
    STATES,
    TIME,
    WINDOW,
    FinishTask,
    MergeTask,
    WorkerTask,
)

MESSAGES = 2000
WINDOW_MICROS = 60_000_000


@pytest.fixture(scope="module")
def messages():
    """Make messages of four windows, in random order of time."""
    random = np.random.default_rng(0)
    times = random.integers(0, 4 * WINDOW_MICROS, MESSAGES)
    timestamps = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "key": [f"key {rank % 300}" for rank in random.zipf(1.3, MESSAGES)],
            "amount": random.integers(-5, 50, MESSAGES),
            WINDOW: pa.array(times - times % WINDOW_MICROS).cast(timestamps),
            TIME: pa.array(times).cast(timestamps),
        }
    )


def run(task, batches):
    """Pickle and run a task, as Spark's worker process does; None if it has no output."""
    out = list(pickle.loads(pickle.dumps(task))(batches))
    return pa.Table.from_batches(out) if out else None


def rows(table):
    return sorted(table.to_pylist(), key=str)


def worked(messages, spelling, by, batch_rows=100):
    """Return the aggregator, bound to the messages, and a worker's partial results."""
    bound = parse(spelling).bind(messages.schema)
    batches = messages.to_batches(max_chunksize=batch_rows)
    return bound, run(WorkerTask(bound, by), batches)


SPELLINGS = ["count", "sum(column=amount)", "mean(column=amount)"]


@pytest.mark.parametrize("spelling", [*SPELLINGS, "top-k(k=3,capacity=400)"])
def test_a_worker_emits_one_partial_aggregate_a_group(messages, spelling):
    by = ("key",) if parse(spelling).scope == "key" else ()
    bound, partials = worked(messages, spelling, by)
    assert rows(partials) == rows(bound.partial(messages, by))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_windows_partial_aggregates_carry_its_latest_time(messages, spelling):
    bound, partials = worked(messages, spelling, (WINDOW, "key"))
    latest = {
        row[WINDOW]: row[f"{TIME}_max"]
        for row in messages.group_by(WINDOW).aggregate([(TIME, "max")]).to_pylist()
    }
    expected = [
        {TIME: latest[row.pop(WINDOW)], **row}
        for row in bound.partial(messages, (WINDOW, "key")).to_pylist()
    ]
    assert rows(partials) == sorted(expected, key=str)


def sizes_of_merges(bound, monkeypatch):
    """Return a list to which each later merge adds the bytes of its input."""
    sizes = []
    merge = type(bound).merge

    def weighed(aggregator, partials, by):
        sizes.append(partials.nbytes)
        return merge(aggregator, partials, by)

    monkeypatch.setattr(type(bound), "merge", weighed)
    return sizes


@pytest.mark.parametrize("spelling", [*SPELLINGS, "top-k(k=3,capacity=40)"])
def test_merging_on_the_way_changes_no_result(messages, spelling, monkeypatch):
    by = (WINDOW, "key") if parse(spelling).scope == "key" else (WINDOW,)
    bound, at_the_end = worked(messages, spelling, by)
    monkeypatch.setattr(work, "_HELD_BYTES", 4000)
    merges = sizes_of_merges(bound, monkeypatch)
    _, on_the_way = worked(messages, spelling, by)
    # It merges more than once, but not for every batch: the merged state may double first.
    assert 2 <= len(merges) < 15
    if bound.scope == "key":
        assert rows(on_the_way) == rows(at_the_end)
    else:
        for once, often in zip(at_the_end.to_pylist(), on_the_way.to_pylist(), strict=True):
            assert once[TIME] == often[TIME]
            assert often["keys"][0] == once["keys"][0]


def test_what_a_worker_holds_is_bounded(messages, monkeypatch):
    """A partial of top-k is one row with any number of keys, so bytes are limited, not rows."""
    monkeypatch.setattr(work, "_HELD_BYTES", 50_000)
    bound = parse("top-k(k=3,capacity=400)").bind(messages.schema)
    merged = sizes_of_merges(bound, monkeypatch)
    for _ in WorkerTask(bound, ())(messages.to_batches(max_chunksize=100) * 20):
        pass
    assert len(merged) > 2
    assert max(merged) < 60_000


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_messages_no_partial_aggregates(messages, spelling):
    bound = parse(spelling).bind(messages.schema)
    empty = messages.slice(0, 0).to_batches() or [pa.RecordBatch.from_pylist([], messages.schema)]
    assert run(WorkerTask(bound, (WINDOW, "key")), empty) is None
    assert run(WorkerTask(bound, ("key",)), []) is None


class Held(WorkerTask):
    def __call__(self, batches):
        self.rows, self.closed = 0, False
        for batch in super().__call__(batches):
            assert self.closed
            yield batch

    def hold(self, messages):
        assert not self.closed
        self.rows += messages.num_rows

    def close(self):
        self.closed = True


def test_a_subclass_holds_every_message_and_closes_before_anything_leaves(messages):
    task = Held(parse("count"), ("key",))
    assert list(task(messages.to_batches(max_chunksize=333)))
    assert task.rows == MESSAGES
    assert task.closed


@pytest.mark.slow(1)
@pytest.mark.parametrize("spelling", [*SPELLINGS, "top-k(k=3,capacity=400)"])
@given(cuts=st.lists(st.integers(0, MESSAGES), max_size=5))
def test_collected_partial_aggregates_merge_to_the_result(messages, spelling, cuts):
    bound = parse(spelling).bind(messages.schema)
    by = ("key",) if bound.scope == "key" else ()
    ends = [0, *sorted(cuts), MESSAGES]
    parts = [
        bound.partial(messages.slice(start, stop - start), by)
        for start, stop in itertools.pairwise(ends)
        if stop > start
    ]
    result = run(MergeTask(bound, by), [_collected(pa.concat_tables(parts), bound, by)])
    expected = bound.finish(bound.partial(messages, by), by)
    assert rows(result) == rows(expected)


def _collected(partials, bound, by):
    """Return states as Spark's collect_list does: one row per group, with a list of its states."""
    groups = defaultdict(list)
    for row in partials.to_pylist():
        group = tuple(row[name] for name in by)
        groups[group].append({name: row[name] for name in bound.state.names})
    columns: dict[str, Any] = {name: [group[i] for group in groups] for i, name in enumerate(by)}
    lists = pa.list_(pa.struct(list(bound.state)))
    columns[STATES] = pa.array(list(groups.values()), lists)
    return pa.RecordBatch.from_pydict(columns)


def test_merging_no_groups_gives_nothing():
    bound = parse("top-k(k=3)").bind(pa.schema([("key", pa.string())]))
    lists = pa.list_(pa.struct(list(bound.state)))
    empty = pa.RecordBatch.from_pydict({STATES: pa.array([], lists)})
    assert run(MergeTask(bound, ()), [empty]) is None


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_merged_aggregates_are_finished(messages, spelling):
    bound = parse(spelling).bind(messages.schema)
    merged = bound.partial(messages, ("key",))
    result = run(FinishTask(bound, ("key",)), merged.to_batches(max_chunksize=50))
    assert rows(result) == rows(bound.finish(merged, ("key",)))
