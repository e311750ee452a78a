"""Space partitioners make exactly P leaves, and every point is in one of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.joins.space.partitioners import Leaves, kdb, quad_tree
from tests.joins.naive import leaves_of_box
from tests.tiers import most_in_soak

coordinates = st.integers(-4, 4).map(float) | st.floats(-1e6, 1e6)
points = st.lists(st.tuples(coordinates, coordinates), max_size=30).map(
    lambda rows: np.array(rows, dtype=np.float64).reshape(-1, 2)
)


@pytest.mark.slow(4)
@pytest.mark.parametrize("partitioner", most_in_soak([kdb, quad_tree], 4, slow=[quad_tree]))
@given(points, st.integers(1, 12), points)
def test_every_point_lies_in_one_leaf_of_exactly_p(partitioner, known, partitions, asked):
    leaves = partitioner(known, partitions)
    assert leaves.bounds.shape == (partitions, 4)
    assert (leaves.bounds[:, :2] < leaves.bounds[:, 2:]).all()
    found, where = leaves.touched(np.concatenate([asked, asked], axis=1))
    assert list(found) == list(range(len(asked)))
    assert np.array_equal(leaves.locate(*asked.T), where)


@pytest.mark.slow(2)
@pytest.mark.parametrize("partitioner", most_in_soak([kdb, quad_tree], 2, slow=[quad_tree]))
@given(points, st.integers(1, 9), points)
def test_boxes_meet_the_leaves_that_a_loop_finds(partitioner, known, partitions, corners):
    leaves = partitioner(known, partitions)
    boxes = np.concatenate([corners, corners + 1.5], axis=1)
    objects, where = leaves.touched(boxes)
    for number, box in enumerate(boxes):
        assert list(where[objects == number]) == leaves_of_box(leaves.bounds, box)


def test_kdb_leaves_hold_as_many_points_each():
    spread = np.random.default_rng(1).exponential(size=(6400, 2))
    leaf = kdb(spread, 64).locate(*spread.T)
    assert np.bincount(leaf).max() <= 101
    assert np.bincount(leaf).min() >= 99


def test_quad_tree_divides_the_leaf_with_the_most_points():
    crowd = np.array([[1.0, 1.0]] * 50 + [[1.1, 1.2], [9.0, 9.0], [0.0, 0.0], [10.0, 10.0]])
    bounds = quad_tree(crowd, 7).bounds
    assert [2.5, 2.5] in bounds[:, 2:].tolist()
    assert [5.0, 5.0] in bounds[:, :2].tolist()


@given(points, st.integers(1, 9))
def test_json_keeps_the_leaves(known, partitions):
    leaves = kdb(known, partitions)
    back = Leaves.from_json(json.loads(json.dumps(leaves.to_json())))
    assert np.array_equal(back.bounds, leaves.bounds)


@pytest.mark.parametrize("partitioner", [kdb, quad_tree])
def test_there_is_at_least_one_partition(partitioner):
    with pytest.raises(ConfigurationError, match="partitions = 0"):
        partitioner(np.zeros((3, 2)), 0)
