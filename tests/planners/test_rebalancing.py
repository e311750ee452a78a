"""The greedy planner: the paper's Figure 2, and properties for any loads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.metrics import max_load_distance
from evenkey.core.planners import GOOD_ENOUGH, greedy, load_per_location


@pytest.mark.parametrize("left", [[40, 20], [20, 20, 20], [30, 10, 20]])
@pytest.mark.parametrize("middle", [[20], [10, 10]])
def test_figure_2_is_nearly_equal_after_two_moves(left, middle):
    owners = np.array([0] * len(left) + [1] * len(middle) + [2, 2], dtype=np.int32)
    loads = np.array([*left, *middle, 10.0, 10.0])
    new = greedy(owners, loads, 3)
    assert sorted(load_per_location(new, loads, 3)) == [30, 30, 40]
    assert np.sum(new != owners) == 2


def test_a_tie_goes_on_while_the_variance_falls():
    # The first location has the maximum load, but its only partition is too large to move.
    owners = np.array([0, 1, 1, 2], dtype=np.int32)
    loads = np.array([50.0, 20.0, 20.0, 10.0])
    new = greedy(owners, loads, 3)
    assert list(load_per_location(new, loads, 3)) == [50, 20, 30]


def test_three_of_sixteen_locations_with_most_of_the_load():
    owners = np.arange(64, dtype=np.int32) % 16
    loads = np.where(owners < 3, 0.7 / 12, 0.3 / 52)
    assert max_load_distance(load_per_location(owners, loads, 16)) == pytest.approx(2.73, abs=0.01)
    new = greedy(owners, loads, 16)
    assert max_load_distance(load_per_location(new, loads, 16)) < 0.25
    assert np.sum(new != owners) <= 27


def best_single_move(owners, loads, workers):
    """Return the least maximum load that moving at most one partition can reach."""
    best = max(sum(x for o, x in zip(owners, loads, strict=True) if o == w) for w in range(workers))
    for partition in range(len(owners)):
        for worker in range(workers):
            moved = [worker if p == partition else o for p, o in enumerate(owners)]
            totals = [0.0] * workers
            for owner, load in zip(moved, loads, strict=True):
                totals[owner] += load
            best = min(best, max(totals))
    return best


@st.composite
def placements(draw):
    workers = draw(st.integers(1, 5))
    count = draw(st.integers(1, 8))
    owners = draw(st.lists(st.integers(0, workers - 1), min_size=count, max_size=count))
    loads = draw(st.lists(st.integers(0, 50), min_size=count, max_size=count))
    return np.array(owners, dtype=np.int32), np.array(loads, dtype=np.float64), workers


@given(placements())
def test_it_never_does_worse_than_the_best_single_move_to_the_emptiest(placement):
    owners, loads, workers = placement
    before = owners.copy()
    new = greedy(owners, loads, workers)
    assert np.array_equal(owners, before)
    assert set(new) <= set(range(workers))
    old_totals = load_per_location(owners, loads, workers)
    totals = load_per_location(new, loads, workers)
    if max_load_distance(old_totals) <= GOOD_ENOUGH:
        assert np.array_equal(new, owners)
    else:
        assert totals.max() <= best_single_move(owners, loads, workers) + 1e-9
    assert np.var(totals) <= np.var(old_totals) + 1e-9
    assert np.array_equal(new[loads == 0], owners[loads == 0])
