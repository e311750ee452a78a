"""The approximate histogram: equal to naive versions, the paper's example, guarantees."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.sketches import ApproximateHistogram
from evenkey.core.sketches.histograms import Bins
from tests.sketches.naive import naive_histogram, naive_sum

# Few distinct numbers make equal values, equal gaps and full histograms common.
VALUES = st.one_of(st.integers(-8, 8).map(float), st.floats(-1e3, 1e3), st.just(1e300))
MESSAGES = st.lists(st.tuples(VALUES, st.integers(0, 3)), max_size=60)
CAPACITIES = st.integers(2, 9)
POINTS = [-2e300, -1e3, -3.5, -1.0, 0.0, 0.25, 2.0, 5.5, 8.0, 999.0, 1e300]


def histogram_of(capacity, messages):
    histogram = ApproximateHistogram(capacity)
    histogram.update([value for value, _ in messages], [weight for _, weight in messages])
    return histogram


def singles(messages):
    return [(value, float(weight), value, value) for value, weight in messages if weight]


def exact(messages, points):
    return np.array([sum(w for value, w in messages if value <= point) for point in points])


@given(CAPACITIES, MESSAGES)
def test_update_equals_naive_twin(capacity, messages):
    twin = naive_histogram(capacity, ([bin_] for bin_ in singles(messages)))
    assert histogram_of(capacity, messages).bins().tolist() == twin


@given(CAPACITIES, st.lists(st.tuples(VALUES, st.integers(0, 3), st.integers(0, 2)), max_size=60))
def test_groups_are_summarized_each_as_alone(capacity, messages):
    values, weights, groups = np.array(messages).reshape(-1, 3).T
    made = Bins.summarize(capacity, values, weights, groups.astype(np.int64), 3)
    assert len(made.offsets) == 4
    for group, (start, stop) in enumerate(pairwise(made.offsets)):
        own = [(value, weight) for value, weight, of in messages if of == group]
        bins = zip(*(column[start:stop] for column in made[1:]), strict=True)
        assert [*bins] == histogram_of(capacity, own).bins().tolist()


@pytest.mark.slow(4)
@given(CAPACITIES, st.lists(MESSAGES, min_size=1, max_size=5))
def test_merge_of_many_equals_naive_twin(capacity, parts):
    whole = Bins(
        np.cumsum([0, *(len(singles(part)) for part in parts)]),
        *np.array([bin_ for part in parts for bin_ in sorted(singles(part))]).reshape(-1, 4).T,
    )
    merged = whole.merged(capacity, np.zeros(len(parts), dtype=np.int64), 1)
    everything = [bin_ for part in parts for bin_ in singles(part)]
    twin = naive_histogram(capacity, [everything])
    assert np.allclose(ApproximateHistogram.of(capacity, merged).bins().tolist() or [], twin or [])


@given(CAPACITIES, MESSAGES)
def test_sum_equals_naive_twin(capacity, messages):
    histogram = histogram_of(capacity, messages)
    bins = histogram.bins().tolist()
    twin = [naive_sum(bins, point) if bins else 0.0 for point in POINTS]
    assert np.allclose(histogram.sum(POINTS), twin)


def papers_histogram():
    """Make the paper's example: ten values in five bins, none of which counts as a single value."""
    positions = np.array([2, 9.5, 58 / 3, 98 / 3, 45])
    weights = np.array([1.0, 2, 3, 3, 1])
    wide = np.full(5, 100.0)
    return ApproximateHistogram.of(
        5, Bins(np.array([0, 5]), positions, weights, positions - wide, wide)
    )


def test_examples_of_the_paper():
    first, second = ApproximateHistogram(5), ApproximateHistogram(5)
    first.update([23, 19, 10, 16, 36, 2, 9])
    second.update([32, 30, 45])
    merged = first.merge(second).bins()
    assert np.allclose(merged["position"], [2, 9.5, 58 / 3, 98 / 3, 45])
    assert merged["weight"].tolist() == [1, 2, 3, 3, 1]
    assert papers_histogram().sum([15]) == pytest.approx([3.275], abs=0.001)
    assert papers_histogram().uniform(3) == pytest.approx([15.21, 28.98], abs=0.02)


def test_of_equally_close_bins_the_left_ones_are_joined():
    """0, 1 and 2 are equally close, and 0 and 1 are joined, in any order of insertion."""
    whole, first, second = (ApproximateHistogram(3) for _ in range(3))
    whole.update([0, 1, 2, 10])
    first.update([0, 2])
    second.update([1, 10])
    for histogram in (whole, first.merge(second), second.merge(first)):
        assert histogram.bins().tolist() == [(0.5, 2, 0, 1), (2, 1, 2, 2), (10, 1, 10, 10)]


@given(CAPACITIES, st.lists(MESSAGES, min_size=1, max_size=5), st.booleans())
def test_bounds_hold_in_any_cut_and_order_of_merging(capacity, parts, forth):
    histograms = [histogram_of(capacity, part) for part in (parts if forth else parts[::-1])]
    merged = histograms[0]
    for histogram in histograms[1:]:
        assert merged.merge(histogram) == histogram.merge(merged)
        merged = merged.merge(histogram)
    truth = exact([message for part in parts for message in part], POINTS)
    least, most = merged.bounds(POINTS)
    about = merged.sum(POINTS)
    assert (least <= truth).all()
    assert (truth <= most).all()
    assert (least <= about).all()
    assert (about <= most).all()
    assert (np.diff(about) >= -1e-9).all()
    assert len(merged) <= capacity
    assert merged.total == sum(weight for part in parts for _, weight in part)


@given(st.lists(st.tuples(st.integers(0, 6).map(float), st.integers(0, 3)), max_size=60))
def test_exact_while_values_are_no_more_than_bins(messages):
    half = len(messages) // 2
    merged = histogram_of(7, messages[:half]).merge(histogram_of(7, messages[half:]))
    assert merged == histogram_of(7, messages)
    assert merged.sum(POINTS).tolist() == exact(messages, POINTS).tolist()


@given(CAPACITIES, MESSAGES, st.integers(0, 60))
def test_any_cut_into_batches_gives_the_same(capacity, messages, cut):
    parts = histogram_of(capacity, messages[:cut])
    parts.update([value for value, _ in messages[cut:]], [weight for _, weight in messages[cut:]])
    assert parts == histogram_of(capacity, messages)


@given(CAPACITIES, MESSAGES.filter(lambda messages: any(weight for _, weight in messages)))
def test_uniform_is_the_inverse_of_sum(capacity, messages):
    histogram = histogram_of(capacity, messages)
    points = histogram.uniform(6)
    wanted = histogram.total * np.arange(1, 6) / 6
    slack = 1e-6 * histogram.total
    assert (np.diff(points) >= 0).all()
    # Rounding may move a point to the other side of a step.
    assert (histogram.sum(points + 1e-6 * (1 + np.abs(points))) >= wanted - slack).all()
    assert (histogram.sum(points - 1e-6 * (1 + np.abs(points))) <= wanted + slack).all()


@given(CAPACITIES, MESSAGES, MESSAGES)
def test_bytes_and_pickle_restore_a_histogram_that_goes_on_alike(capacity, before, after):
    histogram = histogram_of(capacity, before)
    restored = ApproximateHistogram.from_bytes(histogram.to_bytes())
    unpickled = pickle.loads(pickle.dumps(histogram))
    by_spark = pickle.loads(cloudpickle.dumps(histogram))
    for one in (histogram, restored, unpickled, by_spark):
        one.update([value for value, _ in after], [weight for _, weight in after])
    assert histogram == restored == unpickled == by_spark


def test_an_empty_histogram():
    histogram = ApproximateHistogram(3)
    assert histogram.sum([1.0]).tolist() == [0.0]
    assert histogram.uniform(4).tolist() == []
    assert histogram.merge(ApproximateHistogram(3)) == histogram
    assert histogram.total == 0


def test_update_leaves_its_input_alone():
    values, weights = np.arange(5.0), np.ones(5, dtype=np.int64)
    values.setflags(write=False)
    weights.setflags(write=False)
    histogram = ApproximateHistogram(3)
    histogram.update(values, weights)
    assert histogram.total == 5


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_bad_values_are_refused_before_anything_is_counted(value):
    histogram = ApproximateHistogram(3)
    with pytest.raises(ConfigurationError, match="must be finite and at most"):
        histogram.update([1.0, value])
    with pytest.raises(ConfigurationError, match="not negative"):
        histogram.update([1.0, 2.0], [1.0, -1.0])
    assert histogram.total == 0


def test_bad_arguments_are_refused():
    with pytest.raises(ConfigurationError, match="bins = 1"):
        ApproximateHistogram(1)
    with pytest.raises(ConfigurationError, match="2 values but 1 weights"):
        ApproximateHistogram(3).update([1, 2], [1])
    with pytest.raises(ConfigurationError, match="capacity 3 and 4"):
        ApproximateHistogram(3).merge(ApproximateHistogram(4))
    with pytest.raises(ConfigurationError, match="parts = 0"):
        ApproximateHistogram(3).uniform(0)


def test_damaged_bytes_are_refused():
    data = histogram_of(3, [(1.0, 1), (2.0, 1)]).to_bytes()
    for damaged in (b"", data[:10], data[:-1], data + b"x", b"?" + data[1:]):
        with pytest.raises(RunError, match=r"stored histogram \(\d+ bytes\) is corrupt"):
            ApproximateHistogram.from_bytes(damaged)
