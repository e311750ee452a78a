"""The counts that workers leave after an epoch: plans from them equal plans from all messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.groupings import KeyCounts, PlannedGrouping

if TYPE_CHECKING:
    from evenkey.groupings import Snapshot

WORKERS = 4


def left_by(grouping, keys, workers):
    """Return the counts that each worker leaves, given its messages."""
    empty = grouping.statistics(WORKERS)
    held = {}
    for worker in np.unique(workers):
        distinct, loads = np.unique(keys[workers == worker], return_counts=True)
        order = np.random.default_rng(int(worker)).permutation(len(distinct))
        counts = KeyCounts.of(distinct[order], loads[order].astype(np.float64), empty)
        held[int(worker)] = KeyCounts.from_arrays(counts.to_arrays())
    return held


def planned_from_all(grouping, keys, workers, memory):
    """Return the next memory, made from the counts of all keys."""
    statistics = grouping.statistics(WORKERS)
    distinct, loads = np.unique(keys, return_counts=True)
    statistics.add_counted(distinct, loads.astype(np.float64))
    sent = np.bincount(workers, minlength=WORKERS)
    return grouping.learned(
        memory, statistics, WORKERS, None if grouping.surprise is not None else sent
    )


def assert_same(one, other):
    assert sorted(one) == sorted(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.slow(6)
@given(
    st.integers(0, 1000),
    st.sampled_from([1.1, 1.4, 2.0]),
    st.sampled_from([8, 1024]),
    st.sampled_from([None, 0.1]),
)
def test_plans_from_worker_counts_are_those_from_all_messages(seed, z, tracked, surprise):
    random = np.random.default_rng(seed)
    grouping = PlannedGrouping(tracked=tracked, buckets=64, surprise=surprise)
    memory: Snapshot = {}
    for _ in range(3):
        keys = random.zipf(z, 3000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        router = grouping.router(WORKERS)
        router.remember(memory)
        workers = router.route(keys)
        expected = planned_from_all(grouping, keys, workers, memory)
        memory = grouping.learned_of_workers(memory, left_by(grouping, keys, workers), WORKERS)
        assert_same(memory, expected)


def test_of_many_keys_the_hottest_are_listed_and_none_is_lost(monkeypatch):
    monkeypatch.setattr("evenkey.groupings.planned.exact_counts._LEAST_KEPT", 3)
    empty = PlannedGrouping(tracked=2, buckets=8).statistics(WORKERS)
    keys, loads = np.arange(5, dtype=np.uint64), np.array([1.0, 5.0, 2.0, 2.0, 2.0])
    counts = KeyCounts.of(keys, loads, empty)
    assert counts.keys.tolist() == [1, 2, 3]
    assert counts.bucket_loads.tolist() == [1.0, 5.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0]
    assert counts.total == 12.0


def test_all_parts_of_a_split_key_count_if_all_are_listed(monkeypatch):
    """An unexpected hot key has a small part on a worker with hotter keys; that part counts."""
    monkeypatch.setattr("evenkey.groupings.planned.exact_counts._LEAST_KEPT", 1)
    grouping = PlannedGrouping(tracked=1, buckets=8)
    empty = grouping.statistics(2)
    parts = {
        0: (np.array([1, 2], np.uint64), np.array([60.0, 30.0])),
        1: (np.array([1, 3], np.uint64), np.array([10.0, 50.0])),
    }
    shares = {}
    for all_named in (False, True):
        held = {
            worker: KeyCounts.of(*part, empty, all_named=all_named)
            for worker, part in parts.items()
        }
        memory = grouping.learned_of_workers({}, held, 2)
        (heaviest,) = memory["expected_keys"].tolist()
        shares[all_named] = heaviest, memory["expected_shares"].tolist()
        assert memory["past_buckets"].tolist() == [0, 70, 30, 50, 0, 0, 0, 0]
    assert shares[True] == (1, pytest.approx([70 / 150]))
    assert shares[False] == (1, pytest.approx([60 / 150]))


def test_distinct_keys_are_counted_only_if_all_are_listed(monkeypatch):
    """Otherwise all buckets are assumed to have equally many keys, as with random hashes."""
    monkeypatch.setattr("evenkey.groupings.planned.exact_counts._LEAST_KEPT", 1)
    grouping = PlannedGrouping(tracked=1, buckets=2, even_keys=True)
    keys, loads = np.array([0, 1, 3, 5], np.uint64), np.ones(4)
    seen = []

    def learned(_, memory, statistics, workers, sent=None):
        del memory, workers, sent
        seen.append(statistics.bucket_keys)
        return {}

    monkeypatch.setattr(PlannedGrouping, "learned", learned)
    for all_named in (False, True):
        held = {0: KeyCounts.of(keys, loads, grouping.statistics(2), all_named=all_named)}
        grouping.learned_of_workers({}, held, 2)
    assert seen[0] is None
    assert seen[1].tolist() == [1, 3]


def test_a_follower_routes_as_a_learning_router():
    grouping = PlannedGrouping(planning="previous")
    keys = np.random.default_rng(0).zipf(1.3, 5000).astype(np.uint64)
    first = grouping.router(WORKERS)
    first.route(keys)
    memory = grouping.merge_memories([first.memory()])
    routed = []
    for make in (grouping.router, grouping.follower):
        router = make(WORKERS, 2)
        router.remember(memory)
        routed.append(router.route(~keys).tolist())
        assert ("epoch_sketch" in router.memory()) is (make == grouping.router)
    assert routed[0] == routed[1]


def test_an_epoch_in_which_nobody_held_anything_changes_nothing():
    grouping = PlannedGrouping()
    memory = grouping.plan(np.array([7], np.uint64), np.array([3.0]), WORKERS)
    assert grouping.learned_of_workers(memory, {}, WORKERS) is memory


def test_a_plan_that_is_fitted_stays():
    grouping = PlannedGrouping(planning="fit")
    keys = np.array([7, 7, 8], np.uint64)
    held = left_by(grouping, keys, np.array([0, 0, 1]))
    assert grouping.learned_of_workers({}, held, WORKERS) == {}


def test_the_order_in_which_messages_came_does_not_matter():
    """A retried task gets its rows in another order, and leaves the same counts."""
    empty = PlannedGrouping().statistics(WORKERS)
    keys, loads = np.unique(np.random.default_rng(0).zipf(1.3, 3000), return_counts=True)
    left = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(keys))
        counts = KeyCounts.of(keys[order].astype(np.uint64), loads[order].astype(float), empty)
        left.append({name: array.tobytes() for name, array in counts.to_arrays().items()})
    assert left[0] == left[1] == left[2]
