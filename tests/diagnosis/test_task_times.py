"""Times of tasks on slots, compared with obvious implementations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis.task_times import fit_line, fullness, skew_cost

SECONDS = st.lists(st.integers(0, 1000), min_size=1, max_size=30)


def naive_makespan(seconds, slots):
    """Simulate second by second: a free slot takes the next task."""
    left = [0] * slots
    waiting, clock = list(seconds), 0
    while waiting or any(left):
        for slot in range(slots):
            while left[slot] == 0 and waiting:
                left[slot] = waiting.pop(0)
        step = min(each for each in left if each) if any(left) else 0
        clock += step
        left = [max(0, each - step) for each in left]
    return clock


@given(SECONDS, st.integers(1, 8))
def test_makespan_is_that_of_playing(seconds, slots):
    assert makespan(seconds, slots) == naive_makespan(seconds, slots)


@given(SECONDS, st.integers(1, 8))
def test_balanced_tasks_cost_nothing(seconds, slots):
    assert skew_cost([seconds[0]] * len(seconds), slots) == pytest.approx(0, abs=1e-6)
    assert 0 <= skew_cost(seconds, slots) <= makespan(seconds, slots)


def test_no_tasks_take_no_time():
    assert makespan([], 4) == 0
    assert skew_cost([], 4) == 0
    assert fullness([]) == fullness([0, 0]) == 1


@given(
    st.floats(0, 10),
    st.floats(0, 1),
    st.lists(st.integers(0, 1000), min_size=2, max_size=20, unique=True),
)
def test_a_line_is_found_again(fixed, slope, rows):
    line = fit_line(rows, [fixed + slope * each for each in rows])
    assert line.fixed == pytest.approx(fixed, abs=1e-6)
    assert line.slope == pytest.approx(slope, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 100)), min_size=1, max_size=20))
def test_neither_part_of_a_line_is_below_0(tasks):
    line = fit_line([rows for rows, _ in tasks], [seconds for _, seconds in tasks])
    assert line.fixed >= 0
    assert line.slope >= 0
