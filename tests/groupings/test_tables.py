"""Groupings with a routing table equal their naive versions, and their tables merge."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import CardinalityAffinity, OfflineGreedy, OnlineGreedy, StaticChoices
from tests.groupings import naive

TWINS = {
    StaticChoices(): partial(naive.first_sight, everywhere=False),
    OnlineGreedy(): partial(naive.first_sight, everywhere=True),
    CardinalityAffinity(): partial(naive.cardinality_affinity, tolerance=None),
    # With powers of two, rounding is the same however the inequality is written.
    CardinalityAffinity(tolerance=0.25): partial(naive.cardinality_affinity, tolerance=0.25),
}
keys_of_streams = st.one_of(st.sampled_from([3, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))
streams = st.lists(st.tuples(keys_of_streams, st.integers(1, 5)), max_size=80)


def skewed(keys, messages, seed=0):
    random = np.random.default_rng(seed)
    hashes = random.integers(0, 2**64, keys, dtype=np.uint64)
    return hashes[np.minimum(random.zipf(1.2, messages), keys) - 1]


def held_by(keys, routed):
    """Return the distinct workers of each key."""
    pairs = set(zip(keys.tolist(), routed.tolist(), strict=True))
    return {key: {worker for each, worker in pairs if each == key} for key in set(keys.tolist())}


@pytest.mark.slow(1)
@pytest.mark.parametrize("grouping", TWINS, ids=str)
@given(stream=streams, workers=st.sampled_from([1, 2, 4, 8]))
def test_kernels(grouping, stream, workers):
    keys, weights = [key for key, _ in stream], [weight for _, weight in stream]
    routed = grouping.router(workers).route(np.array(keys, dtype=np.uint64), weights=weights)
    assert routed.tolist() == TWINS[grouping](keys, weights, workers)


@pytest.mark.parametrize("grouping", TWINS, ids=str)
def test_a_table_grows_without_a_trace(grouping):
    """A batch has so many keys that the table must grow twice."""
    keys = skewed(10000, 8000)
    assert len(np.unique(keys)) > 1024
    expected = TWINS[grouping](keys.tolist(), [1] * len(keys), 8)
    assert grouping.router(8).route(keys).tolist() == expected


@given(
    st.dictionaries(keys_of_streams, st.integers(0, 5)),
    st.lists(keys_of_streams, max_size=20),
    st.integers(1, 8),
)
def test_offline_greedy(counts, others, workers):
    grouping = OfflineGreedy()
    planned = np.array(list(counts), dtype=np.uint64)
    plan = grouping.plan(planned, np.array(list(counts.values()), dtype=np.float64), workers)
    keys = [*counts, *others]
    routers = [grouping.router(workers, source) for source in range(2)]
    for router in routers:
        router.remember(plan)
        routed = router.route(np.array(keys, dtype=np.uint64))
        assert routed.tolist() == naive.offline_greedy(counts, keys, workers)
    # The next epoch has the same plan.
    handed_on = grouping.merge_memories([router.memory() for router in routers])
    assert [*handed_on] == (["items"] if counts else [])
    np.testing.assert_equal(handed_on.get("items", plan["items"]), plan["items"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((np.arange(2), np.ones(3), 5), "2 keys but 3 counts: give one per key"),
        ((np.arange(2), np.array([1.0, -2.0]), 5), "a count of -2: counts are at least 0"),
        ((np.arange(2), np.array([1.0, np.nan]), 5), "a count of nan"),
        ((np.arange(2), np.ones(2), 0), "there must be at least 1 worker"),
    ],
)
def test_bad_frequencies_are_refused(arguments, said):
    with pytest.raises(ConfigurationError, match=said):
        OfflineGreedy().plan(*arguments)


@pytest.mark.parametrize("grouping", [StaticChoices(), OnlineGreedy()], ids=str)
def test_sources_agree_after_an_epoch(grouping):
    """Sources may place a key differently in the first epoch, but agree from the next one on."""
    keys = skewed(200, 6000)
    sources = range(3)
    routers = [grouping.router(8, source) for source in sources]
    first = np.concatenate([routers[source].route(keys[source::3]) for source in sources])
    by_source = np.concatenate([keys[source::3] for source in sources])
    assert max(map(len, held_by(by_source, first).values())) > 1
    memory = grouping.merge_memories([router.memory() for router in routers])
    second = []
    for source in sources:
        router = grouping.router(8, source)
        router.remember(memory)
        second.append(router.route(keys[source::3]))
    places = held_by(by_source, np.concatenate(second))
    assert max(map(len, places.values())) == 1
    for key, workers in places.items():
        counts = np.bincount(first[by_source == np.uint64(key)], minlength=8)
        assert workers == {int(np.argmax(counts))}


def test_affinity_knows_all_holders_after_an_epoch():
    """If two sources put a key on different workers, it later stays on these two."""
    grouping = CardinalityAffinity()
    routers = [grouping.router(2, source) for source in range(2)]
    # The second source has key 4 on worker 0, so it puts key 2 on worker 1.
    assert routers[0].route(np.array([2], dtype=np.uint64)).tolist() == [0]
    assert routers[1].route(np.array([4, 2, 2], dtype=np.uint64)).tolist() == [0, 1, 1]
    memory = grouping.merge_memories([router.memory() for router in routers])
    assert memory["items"]["place"].tolist() == [3, 1]
    router = grouping.router(2)
    router.remember(memory)
    # A key goes to the less loaded of its two workers, a new key to the worker with fewer keys.
    assert router.route(np.array([2, 2, 2, 9, 5], dtype=np.uint64)).tolist() == [0, 1, 0, 1, 1]


def test_tolerance_splits_hot_keys_only():
    keys = skewed(200, 20000)
    whole, split = (
        CardinalityAffinity(tolerance).router(8).route(keys) for tolerance in (None, 0.25)
    )
    assert np.bincount(split).max() < 0.8 * np.bincount(whole).max()
    replication = [np.mean([len(w) for w in held_by(keys, r).values()]) for r in (whole, split)]
    assert replication[0] == 1
    assert 1 < replication[1] < 1.5


def test_a_negative_tolerance_is_refused():
    with pytest.raises(ConfigurationError, match=r"cam: tolerance = -1: must be at least 0"):
        CardinalityAffinity(tolerance=-1.0)
