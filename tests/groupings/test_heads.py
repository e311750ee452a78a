"""D-Choices and W-Choices: equal to naive versions, choices, and memories between epochs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import max_over_mean
from evenkey.core.sketches import SpaceSaving
from evenkey.groupings import DChoices, WChoices
from evenkey.groupings.heads import _kernels
from tests.groupings import naive

WORKERS = 50


def skewed(messages, keys=2000, exponent=1.4, seed=0):
    """Draw keys by Zipf's law; return them, and the distinct hashes, most frequent first."""
    random = np.random.default_rng(seed)
    hashes = random.integers(0, 2**64, keys, dtype=np.uint64)
    weights = np.arange(1, keys + 1) ** -exponent
    return hashes[random.choice(keys, messages, p=weights / weights.sum())], hashes


def held_by(keys, routed, key):
    return len(np.unique(routed[keys == key]))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    workers=st.sampled_from([1, 2, 3, 6, 8, 30, 200]),
    capacity=st.sampled_from([1, 4, 30]),
    threshold=st.sampled_from([0.05, 0.2]),
    interval=st.sampled_from([1, 7, 1000]),
    heaviest=st.sampled_from([1, 9]),
)
def test_kernel(seed, workers, capacity, threshold, interval, heaviest):
    random = np.random.default_rng(seed)
    keys = random.integers(0, 2**64, 30, dtype=np.uint64)[random.zipf(1.5, 80) % 30]
    weights = random.integers(1, heaviest, 80, endpoint=True)
    rules = {"threshold": threshold, "capacity": capacity}
    stream = list(zip(keys.tolist(), weights.tolist(), strict=True))
    routed = WChoices(**rules).router(workers).route(keys, weights=weights)
    assert routed.tolist() == naive.heads(stream, workers, **rules)
    router = DChoices(**rules, epsilon=0.01, solve_every=interval).router(workers)
    routed = router.route(keys, weights=weights)
    expected = naive.heads(stream, workers, **rules, epsilon=0.01, interval=interval)
    assert routed.tolist() == expected


@given(
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=12),
    workers=st.sampled_from([1, 2, 5, 20, 100]),
    epsilon=st.sampled_from([0.0, 1e-4, 0.05]),
)
def test_fewest_choices(weights, workers, epsilon):
    sketch = SpaceSaving(20)
    sketch.update(np.arange(len(weights)), weights)
    shares = [weight / sum(weights) for weight in weights]
    heavy = [share for share in shares if share > 0.04]
    rows, _, _, head = sketch.counters
    choices = _kernels.solve(rows, head, 0.04, epsilon, workers)
    assert choices == min(workers, naive.fewest_choices(heavy, workers, epsilon))


def test_choices_for_a_known_distribution():
    """Under Zipf's law, z = 1.4, the first of 100,000 keys has 32 %: at least 17 of 50 workers."""
    shares = np.arange(1, 100_001) ** -1.4
    heavy = (shares := shares / shares.sum())[shares > 1 / 250]
    assert (len(heavy), heavy[0]) == (23, pytest.approx(0.3246, abs=1e-4))
    sketch = SpaceSaving(1000)
    sketch.update(np.arange(1000), shares[:1000])
    rows, _, _, head = sketch.counters
    head["total"] = 1
    assert _kernels.solve(rows, head, 1 / 250, 1e-4, 50) == 18
    assert naive.fewest_choices(heavy.tolist(), 50, 1e-4) == 18


@pytest.mark.parametrize("grouping", [DChoices(), WChoices()], ids=str)
def test_balance_and_replication(grouping):
    """Hot keys are spread, keys of the tail are on at most two workers, loads are balanced."""
    keys, hashes = skewed(200_000)
    router = grouping.router(WORKERS)
    before, routed = router.route(keys[:50_000]), router.route(keys[50_000:])
    assert max_over_mean(np.bincount(np.concatenate((before, routed)), minlength=WORKERS)) < 1.01
    hottest = held_by(keys[50_000:], routed, hashes[0])
    assert hottest == WORKERS if isinstance(grouping, WChoices) else 18 <= hottest < WORKERS
    # The head has 21 keys here, and the error of the sketch is at most 1/1000.
    assert all(held_by(keys[50_000:], routed, key) > 2 for key in hashes[:19])
    assert all(held_by(keys[50_000:], routed, key) <= 2 for key in hashes[40:])


def test_a_key_of_the_tail_that_takes_over_a_counter_is_no_head_key():
    """Its count starts at the sketch's floor, above the threshold, but the key is rare."""
    keys = np.repeat(np.arange(4, dtype=np.uint64), 10)
    late = np.full(3, 77, dtype=np.uint64)
    router = WChoices(threshold=0.1, capacity=4).router(9)
    router.route(keys)
    assert set(router.route(late).tolist()) <= set(naive.two_choices(77, 9))


def test_an_epoch_starts_with_the_head_of_the_one_before():
    keys, hashes = skewed(40_000)
    grouping = DChoices()
    routers = [grouping.router(WORKERS, source) for source in range(4)]
    for source, router in enumerate(routers):
        router.route(keys[source::4])
    memory = grouping.merge_memories([router.memory() for router in routers])
    # The total of one source, halved by the decay.
    assert SpaceSaving.from_bytes(memory["sketch"].tobytes()).total == 40_000 / 4 / 2
    router = grouping.router(WORKERS)
    router.remember(memory)
    routed = router.route(np.repeat(hashes[[0, 1, 300]], [100, 100, 10]))
    spread = [len(np.unique(part)) for part in np.split(routed, [100, 200])]
    assert spread[0] == spread[1] >= 17
    assert spread[2] == 2


@pytest.mark.parametrize(("decay", "forgotten"), [(0.5, 2), (1.0, 5)])
def test_epochs_forget(decay, forgotten):
    """A key with half of the first epoch's messages is no longer in the head some epochs later."""
    grouping = WChoices(threshold=0.1, decay=decay)
    router = grouping.router(9)
    router.route(np.array([7, 8] * 100, dtype=np.uint64))
    for epoch in range(1, forgotten + 1):
        memory = grouping.merge_memories([router.memory()])
        router = grouping.router(9)
        router.remember(memory)
        router.route(np.full(200, 8, dtype=np.uint64))
        among = set(router.clone().route(np.full(9, 7, dtype=np.uint64)).tolist())
        assert (among <= set(naive.two_choices(7, 9))) == (epoch == forgotten)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: WChoices(threshold=0.0), "wchoices: threshold = 0: must be above 0"),
        (lambda: DChoices(threshold=1.0), "dchoices: threshold = 1: must be above 0"),
        (lambda: WChoices(capacity=0), "wchoices: capacity = 0: must be at least 1 counter"),
        (lambda: WChoices(decay=0.0), "wchoices: decay = 0: must be above 0 and at most 1"),
        (lambda: WChoices(decay=1.5), "wchoices: decay = 1.5: must be above 0 and at most 1"),
        (lambda: DChoices(epsilon=-1.0), "dchoices: epsilon = -1: must be at least 0"),
        (lambda: DChoices(solve_every=0), "dchoices: solve_every = 0: must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(make, said):
    with pytest.raises(ConfigurationError, match=said):
        make()
