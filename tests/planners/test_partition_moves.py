"""The planner of keyed state: balance, and as little state moved as balance needs."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from evenkey.core.planners import SLACK, moved

LOADS = st.lists(st.floats(0, 100), min_size=1, max_size=40)


def totals(owners, loads, workers):
    return np.array([loads[owners == worker].sum() for worker in range(workers)])


@given(LOADS, st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_all_partitions_have_a_worker_and_no_load_grows_beyond_the_largest(
    loads, before, after, seed
):
    random, loads = np.random.default_rng(seed), np.array(loads)
    owners = random.integers(0, before, len(loads)).astype(np.int32)
    planned = moved(owners, loads, random.random(len(loads)), after)
    assert planned.dtype == np.int32
    assert ((planned >= 0) & (planned < after)).all()
    if after >= before:
        assert totals(planned, loads, after).max() <= totals(owners, loads, after).max() + 1e-9
    again = moved(planned, loads, np.ones(len(loads)), after)
    assert totals(again, loads, after).max() <= totals(planned, loads, after).max() + 1e-9


@given(st.integers(2, 12), st.integers(0, 99))
def test_many_small_partitions_are_within_the_bound(workers, seed):
    random = np.random.default_rng(seed)
    loads = random.random(64 * workers)
    owners = random.integers(0, workers, len(loads)).astype(np.int32)
    planned = moved(owners, loads, np.ones(len(loads)), workers)
    mean = loads.sum() / workers
    assert totals(planned, loads, workers).max() <= (1 + SLACK) * mean
    # A worker within the bound gives up nothing.
    within = totals(owners, loads, workers) <= (1 + SLACK) * mean
    stays = within[owners]
    assert (planned[stays] == owners[stays]).all()


def test_nothing_moves_within_the_bound():
    owners, loads = np.array([0, 1, 2], dtype=np.int32), np.array([1.0, 1.02, 0.98])
    assert moved(owners, loads, np.ones(3), 3).tolist() == [0, 1, 2]


def test_the_hottest_partition_stays_and_its_worker_gives_up_the_others():
    loads = np.array([50.0, 2.0, 2.0, 10.0, 10.0, 10.0])
    owners = np.array([0, 0, 0, 1, 1, 2], dtype=np.int32)
    planned = moved(owners, loads, np.ones(6), 3)
    assert planned[0] == 0
    assert totals(planned, loads, 3)[0] == 50.0
    assert moved(planned, loads, np.ones(6), 3).tolist() == planned.tolist()


def test_partitions_are_exchanged_where_no_single_move_helps():
    loads = np.array([6.0, 5.0, 4.0, 3.0])
    owners = np.array([0, 0, 1, 1], dtype=np.int32)
    for sizes, owner in (([9.0, 1, 9, 1], [0, 1, 1, 0]), ([1.0, 9, 1, 9], [1, 0, 0, 1])):
        planned = moved(owners, loads, np.array(sizes), 2)
        assert planned.tolist() == owner
        assert totals(planned, loads, 2).tolist() == [9, 9]


@given(st.integers(4, 20), st.integers(0, 99))
def test_partitions_of_keys_of_any_load_below_the_mean_are_within_the_bound(workers, seed):
    random = np.random.default_rng(seed)
    loads = np.zeros(16 * workers)
    np.add.at(loads, random.integers(0, 16 * workers, 5000), 1 / np.arange(10, 5010))
    owners = random.integers(0, workers, len(loads)).astype(np.int32)
    limit = max(loads.sum() / workers, loads.max())
    planned = moved(owners, loads, np.ones(len(loads)), workers)
    assert totals(planned, loads, workers).max() <= (1 + SLACK) * limit


def test_partitions_with_little_state_move_first():
    loads, sizes = np.ones(20), np.ones(20)
    sizes[:5] = 1000.0
    owners = np.array([0] * 15 + [1] * 5, dtype=np.int32)
    planned = moved(owners, loads, sizes, 2)
    assert totals(planned, loads, 2).tolist() == [10, 10]
    assert (planned[:5] == 0).all()


def test_more_workers_get_what_others_have_above_the_mean():
    loads, owners = np.ones(80), np.arange(80, dtype=np.int32) % 8
    planned = moved(owners, loads, np.ones(80), 10)
    assert totals(planned, loads, 10).tolist() == [8] * 10
    assert (planned != owners).sum() == 16


def test_workers_that_are_gone_give_up_all_and_no_other_partition_moves():
    loads, owners = np.ones(80), np.arange(80, dtype=np.int32) % 8
    planned = moved(owners, loads, np.ones(80), 5)
    assert totals(planned, loads, 5).tolist() == [16] * 5
    assert (planned[owners < 5] == owners[owners < 5]).all()


def test_a_slow_drift_does_not_escape():
    """Each step is below the slack, and compared with the last step nothing ever changes."""
    owners = np.array([0, 0, 1, 1], dtype=np.int32)
    loads = np.full(4, 10.0)
    for _ in range(40):
        loads[:2] *= 1.02
        owners = moved(owners, loads, np.ones(4), 2)
    assert totals(owners, loads, 2).max() <= (1 + SLACK) * loads.sum() / 2
