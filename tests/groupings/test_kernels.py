"""Every kernel equals its naive version."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.groupings import DynamicKeyGrouping, _kernels, parse
from tests.groupings import naive
from tests.tiers import most_in_soak

hashes = st.integers(0, 2**64 - 1)
keys_of_streams = st.one_of(st.sampled_from([3, 2**63, 2**64 - 1]), hashes)
streams = st.lists(keys_of_streams, max_size=80)
weighted_streams = st.lists(st.tuples(keys_of_streams, st.integers(1, 5)), max_size=80)
worker_counts = st.integers(1, 12)


def routed(spelling, keys, workers, source=0, weights=None):
    router = parse(spelling).router(workers, source)
    return router.route(np.array(keys, dtype=np.uint64), weights=weights).tolist()


@given(streams, worker_counts, st.integers(0, 5))
def test_shuffle(keys, workers, source):
    assert routed("sg", keys, workers, source) == naive.shuffle(keys, workers, source)


@given(streams, worker_counts)
def test_key(keys, workers):
    assert routed("kg", keys, workers) == naive.key(keys, workers)


@given(weighted_streams, worker_counts, st.integers(1, 15), st.sampled_from(["storm", "paper"]))
def test_partial_key(stream, workers, choices, variant):
    keys, weights = [key for key, _ in stream], [weight for _, weight in stream]
    expected = naive.partial_key(keys, weights, workers, choices, variant)
    spelling = f"pkg(choices={choices},variant={variant})"
    assert routed(spelling, keys, workers, weights=weights) == expected


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    "grouping",
    [
        DynamicKeyGrouping(),
        DynamicKeyGrouping(expected_keys=10),
        DynamicKeyGrouping(expected_keys=20, initial_pool=1, warm_up=0, old_period=15),
        DynamicKeyGrouping(expected_keys=5, scale_out=20.0, scale_in="minus-root", largest_pool=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("workers", most_in_soak([1, 3, 10], 2, slow=[10]))
@given(
    seed=st.integers(0, 2**32 - 1),
    skew=st.sampled_from([1.2, 1.6, 2.5]),
    gap=st.sampled_from([0.0, 40.0, 500.0, 5000.0]),
    heaviest=st.sampled_from([1, 9]),
)
def test_dynamic_key(grouping, workers, seed, skew, gap, heaviest):
    random = np.random.default_rng(seed)
    keys = random.integers(0, 2**64, 60, dtype=np.uint64)[random.zipf(skew, 400) % 60]
    times = np.sort(random.uniform(0, 250, 400))
    times[250:] += gap
    weights = random.integers(1, heaviest, 400, endpoint=True)
    messages = keys.tolist(), times.tolist(), weights.tolist()
    expected = naive.DynamicKeyGrouping(grouping, workers).route(*messages)
    assert grouping.router(workers).route(keys, times, weights).tolist() == expected


def test_dynamic_key_grows_its_table_without_a_trace():
    """Between two cycles come more keys than the table has at first."""
    random = np.random.default_rng(0)
    keys = random.integers(0, 2**64, 4000, dtype=np.uint64)[random.zipf(1.2, 8000) % 4000]
    times = np.linspace(0, 100, len(keys))
    messages = keys.tolist(), times.tolist(), [1] * len(keys)
    expected = naive.DynamicKeyGrouping(DynamicKeyGrouping(), 10).route(*messages)
    assert DynamicKeyGrouping().router(10).route(keys, times).tolist() == expected


def test_dynamic_key_holds_apart_keys_that_want_one_slot():
    """Two keys with the same slot are both looked up before either has been inserted."""
    spread = int(_kernels.GOLDEN)
    one, other = ((slot << 32) * pow(spread, -1, 2**64) % 2**64 for slot in (5, 5 + (1 << 20)))
    keys = np.array([one, other, other, one, one], dtype=np.uint64)
    router = DynamicKeyGrouping().router(10)
    expected = naive.DynamicKeyGrouping(DynamicKeyGrouping(), 10).route(
        keys.tolist(), [0.0] * len(keys), [1] * len(keys)
    )
    assert router.route(keys, np.zeros(len(keys))).tolist() == expected
    items = router.snapshot()["items"]
    assert dict(zip(items["key"].tolist(), items["count"].tolist(), strict=True)) == {
        one: 3,
        other: 2,
    }
