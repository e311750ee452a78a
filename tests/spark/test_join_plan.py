"""Plans of joins: which side of a key is dealt, and that each dealt row meets its copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.groupings import Plan, PlannedGrouping
from evenkey.spark.joins.dealt_and_copied import JoinPlan, _balanced_load, make_join_plan
from evenkey.spark.joins.join_counts import JoinCounts
from evenkey.spark.joins.join_kinds import kind_of
from evenkey.spark.joins.witnesses import _FirstOfTask
from evenkey.spark.plans.packed_plan import WORKER_BITS, Positions, each_worker_once, pack_plan

LOW = (1 << WORKER_BITS) - 1


def counts_of(rows, workers):
    """Make counts of keys with these (left, right) rows, and of a few cold keys."""
    buckets = PlannedGrouping().bucket_count(workers)
    keys = np.arange(1, len(rows) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    left, right = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    work = (left + right + left * right).astype(np.float64)
    in_buckets = (keys & np.uint64(buckets - 1)).astype(np.int64)
    bucket_work = np.bincount(in_buckets, work, minlength=buckets).astype(np.float64) + 1
    most = int(right.max(initial=0))
    return JoinCounts(keys, left, right, work, bucket_work, most, np.empty(0))


@pytest.mark.parametrize(
    ("how", "rows", "dealt"),
    [
        # Either side may be dealt: the larger one is.
        ("inner", (5000, 10_000), "right"),
        ("inner", (10_000, 5000), "left"),
        ("full", (5000, 10_000), "right"),
        # The outer side is dealt if it has enough rows for its parts.
        ("left", (5000, 10_000), "left"),
        ("left", (2, 10_000), "right"),
        ("left", (500, 10_000), "right"),
        ("left", (500, 400), "left"),
        ("right", (10_000, 5000), "right"),
        ("right", (10_000, 2), "left"),
        # A semi join cannot copy left rows.
        ("semi", (5000, 10_000), "left"),
        ("anti", (2, 10_000), "neither"),
        ("inner", (3, 4), "neither"),
    ],
)
def test_the_side_that_is_dealt(how, rows, dealt):
    plan = make_join_plan(counts_of([rows], 16), kind_of(how), "output", 16, 0.0)
    split = "left" if len(plan.dealt_left) else "right" if len(plan.split) else "neither"
    assert split == dealt
    if dealt != "neither":
        assert plan.imbalance < 1.02


@pytest.mark.slow(3)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=40),
    st.integers(1, 12),
    st.sampled_from(["inner", "left", "right", "full", "semi"]),
)
def test_plans_hold_all_work(rows, workers, how):
    counts = counts_of(rows, workers)
    made = make_join_plan(counts, kind_of(how), "output", workers, 0.0)
    plan = made.plan
    assert plan is not None
    assert plan.loads.sum() == pytest.approx(counts.bucket_work.sum())
    assert (np.diff(plan.keys.astype(np.float64)) >= 0).all()
    for start, stop in zip(plan.starts, plan.starts[1:], strict=False):
        assert plan.shares[start:stop].sum() == pytest.approx(1)
    kept = JoinPlan.from_arrays(made.to_arrays(), how, "output", workers)
    np.testing.assert_array_equal(kept.dealt_left, made.dealt_left)
    np.testing.assert_array_equal(kept.dealt_right, made.dealt_right)


@given(
    st.lists(st.tuples(st.integers(1, 9000), st.integers(1, 9000)), min_size=1, max_size=8),
    st.integers(2, 20),
)
def test_a_dealt_row_goes_only_where_copies_go(rows, workers):
    """Copies go to the first worker of each of a key's cells, rows to the second worker too."""
    plan = make_join_plan(counts_of(rows, workers), kind_of("inner"), "output", workers, 0.0).plan
    assert plan is not None
    words = pack_plan(plan)
    first = Positions.of(len(plan.owners), workers).slots
    slots = 1 << (32 - int(words[0]))
    for place in words[first + 1 : first + 2 * slots : 2]:
        cells = words[place & 0xFFFFFFFF :][: place >> 32]
        copies = (cells & LOW).tolist()
        assert len(set(copies)) == len(copies)
        assert {*((cells >> WORKER_BITS) & LOW).tolist()} <= {*copies}


def test_a_worker_that_a_key_has_twice_is_taken_once():
    key = np.array([5, 9], np.uint64)
    shares = np.array([0.5, 0.25, 0.25, 1.0])
    places = np.array([2, 0, 2, 1], np.int32)
    plan = Plan(np.zeros(4, np.int32), key, np.array([0, 3, 4]), places, shares, np.zeros(3))
    once = each_worker_once(plan)
    assert once.starts.tolist() == [0, 2, 3]
    assert once.places.tolist() == [0, 2, 1]
    assert once.shares.tolist() == [0.25, 0.75, 1.0]


@pytest.mark.parametrize(
    ("loads", "others", "balanced"),
    [([0, 0], 4, 2), ([5, 0], 3, 3), ([5, 1, 0], 3, 2), ([1, 2, 3], 6, 4), ([7], 0, 7)],
)
def test_the_load_that_workers_reach(loads, others, balanced):
    assert _balanced_load(np.array(loads, dtype=np.float64), others) == balanced


def hashes_of(pairs):
    kind = pa.struct([("hash", pa.int64()), ("contents", pa.int64())])
    return pa.array([each and {"hash": each[0], "contents": each[1]} for each in pairs], kind)


def test_a_task_names_the_first_row_of_each_key_once():
    batches: list[list[Any]] = [[7, 8, -3, 7], [], [-3, 9, 8, 5], [None, 0, 9]]
    said = _FirstOfTask([-3, 9, 7, 0]).say(
        hashes_of([None if each is None else (each, -each) for each in batch]) for batch in batches
    )
    assert [each.to_pylist() for each in said] == [
        [True, False, True, False],
        [],
        [False, True, False, False],
        [False, True, False],
    ]


def test_keys_of_one_hash_have_first_rows_of_their_own():
    batches = [[(7, 1), (7, 1), (8, 2)], [(7, 1), (7, 2), (9, 1), (7, 2)], [(7, 2), (7, 0)]]
    said = _FirstOfTask([7, 9]).say(hashes_of(each) for each in batches)
    assert [each.to_pylist() for each in said] == [
        [True, False, False],
        [False, True, True, False],
        [False, True],
    ]
