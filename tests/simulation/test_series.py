"""A series with a bounded number of points for a long simulation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.simulation.series import Point, Series


def taken(samples, expected, length):
    series = Series(samples, expected)
    for t in range(1, length + 1):
        if t == series.due:
            series.take(Point(t, t / 2, 1.0, 2.0))
    return series.table(Point(length, length / 2, 1.0, 2.0))


@given(samples=st.integers(1, 30), length=st.integers(1, 300))
def test_known_length_gives_as_many_points_as_asked_for(samples, length):
    points = taken(samples, length, length)["messages"].to_pylist()
    count = min(samples, length)
    assert points == [k * length // count for k in range(1, count + 1)]


@given(samples=st.integers(1, 30), length=st.integers(1, 300))
def test_unknown_length_gives_equal_steps_and_the_end(samples, length):
    points = taken(samples, None, length)["messages"].to_pylist()
    step = points[0]
    assert points[:-1] == [k * step for k in range(1, len(points))]
    assert points[-1] == length <= points[-2] + step if points[1:] else length == step
    assert len(points) <= samples
    assert 2 * len(points) >= min(samples, length)


def test_columns():
    table = taken(2, 4, 4)
    assert table.to_pydict() == {
        "messages": [2, 4],
        "seconds": [1.0, 2.0],
        "imbalance": [1.0, 1.0],
        "local_imbalance": [2.0, 2.0],
    }


@pytest.mark.parametrize("expected", [None, 0])
def test_no_messages_no_points(expected):
    assert Series(3, expected).table(Point(0, 0.0, 0.0, 0.0)).num_rows == 0
