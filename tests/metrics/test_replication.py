"""Pairs, keys and loads, compared with counting by Python sets."""

from __future__ import annotations

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import LoadCounts, PairCounts, dist_cost_lower_bound

WORKERS = 5
keys = st.one_of(st.integers(0, 6), st.sampled_from([2**63, 2**64 - 1]))
messages = st.lists(st.tuples(st.integers(0, WORKERS - 1), keys, st.integers(1, 9)), max_size=60)


def added(counts, batch, *, weigh=True):
    workers, hashes, weights = zip(*batch, strict=True) if batch else ((), (), ())
    counts.add(
        np.array(workers, dtype=np.int32),
        np.array(hashes, dtype=np.uint64),
        np.array(weights, dtype=np.int64) if weigh else None,
    )
    return counts


def figures(counts):
    held = counts.keys_held.tolist()
    return counts.loads.tolist(), counts.pairs, counts.keys, counts.dist_cost, held


def naive(batch):
    loads: Counter[int] = Counter()
    for worker, _, weight in batch:
        loads[worker] += weight
    pairs = {(worker, key) for worker, key, _ in batch}
    distinct = {key for _, key, _ in batch}
    cost = len(pairs) / len(distinct) if distinct else 1.0
    held = [sum(worker == each for each, _ in pairs) for worker in range(WORKERS)]
    return [loads[worker] for worker in range(WORKERS)], len(pairs), len(distinct), cost, held


def test_hand_checked():
    # key 1 on workers 0 and 1, key 2 on worker 1, key 3 on workers 0, 1 and 2
    batch = [(0, 1, 1), (1, 1, 1), (1, 1, 1), (1, 2, 1), (0, 3, 1), (1, 3, 1), (2, 3, 5)]
    expected = ([2, 4, 5, 0, 0], 6, 3, 2.0, [2, 3, 1, 0, 0])
    assert figures(added(PairCounts(WORKERS), batch)) == expected


@given(st.lists(messages, max_size=4))
def test_batches_add_up(batches):
    counts = PairCounts(WORKERS)
    for batch in batches:
        added(counts, batch)
    assert figures(counts) == naive([message for batch in batches for message in batch])


@given(st.lists(messages, max_size=4))
def test_keys_have_moved_to_workers_that_did_not_hold_them(epochs):
    """A new key on several workers has not moved; the run adds up the epochs."""
    run, known, held, moves = PairCounts(WORKERS), set(), set(), []
    for epoch in epochs:
        counts = added(PairCounts(WORKERS, run), epoch)
        moved = [(w, key, n) for w, key, n in epoch if key in known and (w, key) not in held]
        assert counts.moved_keys == len({(w, key) for w, key, _ in moved})
        load, total = (sum(n for *_, n in each) for each in (moved, epoch))
        assert counts.moved_load == pytest.approx(load / total if total else 0)
        run.merge(counts)
        moves.append((counts.moved_keys, load))
        known |= {key for _, key, _ in epoch}
        held |= {(w, key) for w, key, _ in epoch}
    assert run.moved_keys == sum(keys for keys, _ in moves)
    assert run.moved_load * max(1, run.loads.sum()) == pytest.approx(sum(n for _, n in moves))


@given(messages)
def test_without_counts_each_message_counts_once(batch):
    once = [(worker, key, 1) for worker, key, _ in batch]
    assert figures(added(PairCounts(WORKERS), batch, weigh=False)) == naive(once)


@given(messages, messages)
def test_merge_is_adding_both(one, other):
    counts, second = added(PairCounts(WORKERS), one), added(PairCounts(WORKERS), other)
    counts.merge(second)
    assert figures(counts) == naive(one + other)
    assert figures(second) == naive(other)


def test_it_grows_and_pickles():
    rng = np.random.default_rng(3)
    hashes = rng.integers(0, 2**64, 50_000, dtype=np.uint64)
    counts = PairCounts(WORKERS)
    for worker in (0, 3):
        counts.add(np.full(len(hashes), worker), hashes)
    counts = pickle.loads(pickle.dumps(counts))
    loads = [50_000, 0, 0, 50_000, 0]
    assert figures(counts) == (loads, 100_000, 50_000, 2.0, loads)


@pytest.mark.parametrize("workers", [1, 2, 3, 256, 257, 5000])
def test_keys_are_held_apart_on_any_number_of_workers(workers):
    """This includes the hash 0 on worker 0, whose word is that of a free slot."""
    on = np.random.default_rng(1).integers(0, workers, 3000)
    hashes = np.random.default_rng(2).integers(0, 40, 3000, dtype=np.uint64)
    counts = PairCounts(workers)
    counts.add(on, hashes)
    pairs = {*zip(on.tolist(), hashes.tolist(), strict=True)}
    expected = np.bincount([worker for worker, _ in pairs], minlength=workers)
    np.testing.assert_array_equal(counts.keys_held, expected)


@given(messages)
def test_workers_of_keys(batch):
    counts = added(PairCounts(WORKERS), batch)
    known = {key: {worker for worker, each, _ in batch if each == key} for _, key, _ in batch}
    without = next(key for key in range(len(known) + 1) if key not in known)
    hashes = np.array([*known, without], dtype=np.uint64)
    assert counts.workers_of(hashes).tolist() == [*map(len, known.values()), 0]


def test_loads_are_a_copy():
    counts = added(PairCounts(WORKERS), [(0, 1, 1)])
    counts.loads[0] = 99
    assert counts.loads[0] == 1


@pytest.mark.parametrize(
    ("workers", "hashes", "weights", "fix"),
    [
        ([0, 5], [1, 1], None, "workers 0 to 5: with workers = 5 they must be 0 to 4"),
        ([-1], [1], None, "workers -1"),
        ([0], [1, 1], None, "1 workers for 2 keys"),
        ([0], [1], [1, 1], r"one count \(2 given\)"),
        ([0], [1], [0], "count 0: the count of a message must be at least 1"),
    ],
)
def test_senseless_messages(workers, hashes, weights, fix):
    counts = PairCounts(WORKERS)
    weights = None if weights is None else np.array(weights)
    with pytest.raises(ConfigurationError, match=fix):
        counts.add(np.array(workers), np.array(hashes, dtype=np.uint64), weights)
    assert figures(counts) == naive([])


def test_senseless_workers():
    with pytest.raises(ConfigurationError, match="at least 1 worker"):
        PairCounts(0)
    with pytest.raises(ConfigurationError, match="cannot be merged"):
        PairCounts(2).merge(PairCounts(3))


@given(st.lists(messages, min_size=1, max_size=4))
def test_the_lower_bound_counts_weights_of_keys(batches):
    parts = [added(PairCounts(WORKERS), batch) for batch in batches]
    for part in parts[1:]:
        parts[0].merge(part)
    weights: Counter[int] = Counter()
    for _, key, weight in (message for batch in batches for message in batch):
        weights[key] += weight
    total = sum(weights.values())
    # In whole numbers, a key of weight w needs ceil(w W 100 / (105 total)) workers.
    needed = [-(-weight * WORKERS * 100 // (105 * total)) for weight in weights.values()]
    expected = sum(needed) / len(needed) if needed else 1.0
    assert parts[0].dist_cost_lower_bound == pytest.approx(expected)


def test_lower_bound_takes_a_message_without_a_count_for_one():
    """One key has nine messages, another has one message that counts nine: each fits one worker."""
    counts = PairCounts(2)
    counts.add(np.zeros(9, dtype=np.int32), np.full(9, 1, dtype=np.uint64))
    counts.add(np.array([1]), np.array([2], dtype=np.uint64), np.array([9]))
    assert counts.dist_cost_lower_bound == 1.0


def test_lower_bound_lets_keys_fit_exactly():
    """A key that exactly fits one or two workers must not get another by rounding."""
    for count in (3, 0.1, 1e9 / 7):
        assert dist_cost_lower_bound([count] * 3, 3, 0) == 1.0
        assert dist_cost_lower_bound([2 * count, count], 3, 0) == 1.5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1], 0), "workers = 0: there must be at least 1 worker"),
        (([0], 1), "a count is 0: every count must be above 0"),
        (([1], 1, -0.1), "imbalance = -0.1: must be at least 0"),
    ],
)
def test_the_lower_bound_refuses_bad_arguments(arguments, says):
    with pytest.raises(ConfigurationError, match=says):
        dist_cost_lower_bound(*arguments)


def test_figures_that_are_not_counted_are_nan():
    counts = added(LoadCounts(WORKERS), [(0, 7, 2), (3, 7, 1)])
    assert counts.loads.tolist() == [2, 0, 0, 1, 0]
    figures = (counts.pairs, counts.keys, counts.dist_cost, counts.dist_cost_lower_bound)
    assert all(map(math.isnan, figures))
    assert np.isnan(counts.keys_held).tolist() == [True] * WORKERS
