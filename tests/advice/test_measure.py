"""The measured skew of keys, and Zipf's law fitted to them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.reports.advice import fit_zipf, measure
from tests.advice.conftest import sample_of
from tests.advice.naive import zipf_likelihood


def test_the_hottest_keys_are_those_that_counting_finds():
    sample = sample_of("zipf(z=1.2,keys=500)")
    skew = measure(sample)
    counted = Counter(sample.texts(sample.batch.ids).to_pylist())
    assert {each.key: each.messages for each in skew.top[:3]} == dict(counted.most_common(3))
    assert skew.counts.tolist() == sorted(counted.values(), reverse=True)
    assert (skew.messages, skew.keys) == (2000, len(counted))
    assert skew.top_share == skew.top[0].share == max(counted.values()) / 2000
    assert skew.most_workers(2) == 2 / skew.top_share


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
def test_no_other_exponent_is_likelier(counts):
    counts = sorted(counts, reverse=True)
    exponent = fit_zipf(counts).exponent
    best = zipf_likelihood(counts, exponent)
    others = [exponent + step for step in (-0.1, -0.001, 0.001, 0.1)]
    assert all(best >= zipf_likelihood(counts, max(0.0, each)) - 1e-6 for each in others)


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.4, 2.0])
def test_the_law_itself_fits_without_distance(exponent):
    fit = fit_zipf([1e9 * rank**-exponent for rank in range(1, 300)])
    assert fit.exponent == pytest.approx(exponent, abs=1e-9)
    assert fit.distance == pytest.approx(0, abs=1e-9)


def test_one_hot_key_is_no_zipf_law():
    hot, zipf = sample_of("country-skew-r80"), sample_of("zipf(z=1.2,keys=500)")
    assert fit_zipf(measure(hot).counts).distance > 0.2
    assert fit_zipf(measure(zipf).counts).distance < 0.1


def test_a_single_key_has_no_law():
    assert measure(sample_of("uniform(keys=1)")).zipf is None


def test_a_fit_that_is_off_by_more_than_a_tenth_is_left_out():
    assert measure(sample_of("country-skew-r80")).zipf is None
    fit = measure(sample_of("zipf(z=1.2,keys=500)")).zipf
    assert fit is not None
    assert fit.distance < 0.1
