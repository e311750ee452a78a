"""The model of a tree: leaves of records, predictions, and a round trip through a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.applications.trees import TreeModel
from evenkey.applications.trees.model import NodeSplit
from evenkey.core.errors import RunError
from tests.applications.trees.naive import naive_leaf

CLASSES = ("a", "b")


def tree_of(tests):
    """Make a tree by splitting leaves in turn; each split is (which leaf, feature, threshold)."""
    tree = TreeModel.empty().knowing(CLASSES)
    for place, feature, threshold in tests:
        leaf = int(tree.leaves[place % len(tree.leaves)])
        sides = np.array([place + 1.0, 2.0]), np.array([2.0, 1.0])
        tree = tree.grown([NodeSplit(leaf, feature, threshold, 1.0, *sides)])
    return tree


TREES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(-3, 3)), max_size=12
).map(tree_of)
RECORDS = st.lists(
    st.lists(st.one_of(st.integers(-4, 4), st.just(float("nan"))), min_size=3, max_size=3),
    max_size=20,
)


@pytest.mark.slow(2)
@given(TREES, RECORDS)
def test_leaves_equal_naive_twin(tree, records):
    values = np.array(records, dtype=float).reshape(-1, 3)
    assert tree.leaves_of(values).tolist() == [naive_leaf(tree, record) for record in records]


@given(TREES)
def test_a_tree_survives_a_round_trip_through_a_table(tree):
    restored = TreeModel.from_table(tree.to_table())
    assert restored.to_table().equals(tree.to_table(), check_metadata=True)
    assert restored.classes == tree.classes
    assert restored.counts.shape == tree.counts.shape


def test_depths_and_children():
    tree = tree_of([(0, 1, 0.5), (1, 0, 2.0)])
    assert tree.features.tolist() == [1, -1, 0, -1, -1]
    assert tree.children.tolist() == [[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]]
    assert tree.depths.tolist() == [0, 1, 1, 2, 2]
    assert tree.depth == 2


def test_the_most_frequent_class_of_the_leaf_is_predicted():
    tree = tree_of([(0, 0, 0.5)])
    records = pa.table({"features": [[0.0], None, [1.0]]})
    assert tree.counts.tolist() == [[0, 0], [1, 2], [2, 1]]
    assert tree.predict(records).to_pylist() == ["b", None, "a"]
    assert tree.predict(records.slice(0, 0)).to_pylist() == []


def test_a_tree_without_records_predicts_null():
    assert TreeModel.empty().classify(np.zeros((2, 3))).to_pylist() == [None, None]


def test_new_classes_keep_the_counts_of_the_old():
    tree = tree_of([(0, 0, 0.5)]).knowing(["aa", "b"])
    assert tree.classes == ("a", "aa", "b")
    assert tree.counts.tolist() == [[0, 0, 0], [1, 0, 2], [2, 0, 1]]


def test_records_with_too_few_features_are_rejected():
    tree = tree_of([(0, 2, 0.5)])
    with pytest.raises(RunError, match="2 features, but the tree tests feature number 2"):
        tree.classify(np.zeros((1, 2)))
    with pytest.raises(RunError, match=r"records have \[1, 2\] features"):
        tree.predict(pa.table({"features": [[1.0], [1.0, 2.0]]}))
