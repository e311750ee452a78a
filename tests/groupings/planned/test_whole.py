"""Plans that split no key: keys by falling load, each to the least loaded worker."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.groupings.planned import whole_plan

BUCKETS = 4
LOADS = st.lists(st.integers(0, 20), min_size=BUCKETS, max_size=8)


def plan_of(loads, workers):
    keys = np.arange(len(loads) - BUCKETS, dtype=np.uint64) + 100
    counts = np.array(loads, dtype=np.float64)
    return keys, whole_plan(keys, counts[BUCKETS:], counts[:BUCKETS], workers)


def naive_loads(loads, workers):
    placed = [0] * workers
    for load in sorted(loads, reverse=True):
        placed[placed.index(min(placed))] += load
    return sorted(placed)


def least_possible(loads, workers):
    """Return the least maximum load of all placements."""
    every = itertools.product(range(workers), repeat=len(loads))
    return min(np.bincount(each, loads, minlength=workers).max() for each in every)


@pytest.mark.slow(4)
@given(LOADS, st.integers(1, 3))
def test_the_maximum_load_is_within_the_bound(loads, workers):
    keys, plan = plan_of(loads, workers)
    assert sorted(plan.loads) == naive_loads(loads, workers)
    assert plan.loads.max() <= (4 / 3) * least_possible(loads, workers) + 1e-9
    counts = np.array(loads, dtype=np.float64)
    followed = plan.loads_of(keys, counts[BUCKETS:], counts[:BUCKETS])
    np.testing.assert_array_equal(followed, plan.loads)
    assert plan.extra_pairs == 0


def test_items_without_load_are_assigned_in_turn():
    keys = np.array([9], dtype=np.uint64)
    plan = whole_plan(keys, np.array([5.0]), np.zeros(64), workers=4)
    assert np.bincount(plan.owners).tolist() == [16, 16, 16, 16]


def test_there_must_be_a_worker():
    with pytest.raises(ConfigurationError, match="workers = 0"):
        whole_plan(np.empty(0, np.uint64), np.empty(0), np.ones(4), workers=0)
