"""Every kernel equals its naive version."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.streams import _kernels
from tests.streams import naive

seeds = st.integers(0, 2**64 - 1)
starts = st.integers(0, 2**40)
sizes = st.integers(1, 2**31 - 1)
weight_lists = st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(any)


def table(weights):
    chance = np.empty(len(weights), dtype=np.uint32)
    alias = np.empty(len(weights), dtype=np.int32)
    _kernels.build_alias(np.array(weights), chance, alias)
    return chance, alias


@given(seeds, starts, sizes)
def test_uniform(seed, start, size):
    out = np.empty(20, dtype=np.int64)
    _kernels.uniform(np.uint64(seed), start, size, out)
    assert out.tolist() == naive.uniform(seed, start, size, 20)


@given(weight_lists)
def test_alias_table_has_the_weights_probabilities(weights):
    total = sum(weights)
    found = naive.alias_probabilities(*table(weights))
    assert sum(found) == 1
    for probability, weight in zip(found, weights, strict=True):
        assert abs(float(probability) - weight / total) < 1e-8


@given(weight_lists, seeds, starts)
def test_sampling(weights, seed, start):
    chance, alias = table(weights)
    out = np.empty(20, dtype=np.int64)
    _kernels.sample_alias(np.uint64(seed), start, chance, alias, out)
    assert out.tolist() == naive.sample_alias(seed, start, chance, alias, 20)


@given(seeds, starts, st.integers(1, 10), st.integers(1, 1000))
def test_deal(seed, start, every, size):
    ids = np.arange(20) % size
    expected = naive.deal(seed, start, every, size, ids.tolist())
    _kernels.deal(np.uint64(seed), start, every, size, ids)
    assert ids.tolist() == expected
