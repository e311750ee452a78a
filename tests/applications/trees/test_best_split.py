"""The best split, compared with a search over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.applications.trees.best_split import best_split, impurity
from evenkey.core.sketches import ApproximateHistogram
from tests.applications.trees.naive import naive_gain, naive_gini

LABELS = "abc"
RECORDS = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.sampled_from(LABELS)), min_size=1, max_size=30
)


def split_of(records, bins=16, min_leaf=1, candidates=30):
    together = ApproximateHistogram(bins)
    by_class = {}
    for place, label in enumerate(LABELS):
        values = [value for value, other in records if other == label]
        by_class[place] = ApproximateHistogram(bins)
        by_class[place].update(values)
        together = together.merge(by_class[place])
    return best_split(
        (3, 7),
        len(LABELS),
        by_class,
        together,
        candidates=candidates,
        criterion="gini",
        min_leaf=min_leaf,
    )


@given(RECORDS, st.integers(1, 4))
def test_exact_histograms_give_the_best_of_all_thresholds(records, min_leaf):
    values, labels = zip(*records, strict=True)
    split = split_of(records, min_leaf=min_leaf)
    best = naive_gain(values, labels, min_leaf)
    if split is None:
        assert best == -1
        return
    assert split.gain == pytest.approx(best, abs=1e-9)
    left = [label for value, label in records if value <= split.threshold]
    assert split.left.tolist() == [left.count(label) for label in LABELS]
    assert split.right.tolist() == [labels.count(each) - left.count(each) for each in LABELS]
    assert split.left.sum() >= min_leaf
    assert (split.leaf, split.feature) == (3, 7)


@given(st.lists(st.tuples(st.floats(-5, 5), st.sampled_from(LABELS)), min_size=1, max_size=60))
def test_few_bins_still_leave_weight_on_both_sides(records):
    split = split_of(records, bins=4, min_leaf=5)
    if split is not None:
        assert min(split.left.sum(), split.right.sum()) >= 5 - 1e-9
        assert (split.left >= 0).all()
        assert (split.right >= 0).all()


def test_a_feature_without_information_has_no_gain():
    records = [(value, label) for value in (0.0, 1.0) for label in LABELS]
    assert split_of(records).gain == pytest.approx(0)


@given(st.lists(st.sampled_from(LABELS), max_size=20))
def test_gini_equals_naive_twin(labels):
    counts = np.array([float(labels.count(label)) for label in LABELS])
    assert impurity(counts, "gini") * len(labels) == pytest.approx(naive_gini(labels))


def test_entropy():
    counts = np.array([[4.0, 0.0], [2.0, 2.0], [1.0, 3.0], [0.0, 0.0]])
    assert impurity(counts, "entropy") == pytest.approx([0, 1, 0.8112781, 0])
