"""Our versions of Prompt and KIP equal naive versions, and keep their guarantees."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.peers import IsolatingGrouping, PromptGrouping
from evenkey.simulation import simulate
from tests.groupings import naive

batches = st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 400), min_size=1, max_size=40)


def zipf(messages, exponent=1.4, seed=0, keys=1000):
    random = np.random.default_rng(seed)
    hashes = np.random.default_rng(9).integers(0, 2**64, keys, dtype=np.uint64)
    chances = np.arange(1, keys + 1.0) ** -exponent
    return hashes[random.choice(keys, messages, p=chances / chances.sum())]


def plan_of(grouping, counts, workers):
    keys = np.array(list(counts), dtype=np.uint64)
    return grouping.plan(keys, np.array(list(counts.values()), dtype=np.float64), workers)


def pieces_of(plan, workers):
    """Return how a plan of `prompt` splits each key: ``{key: {worker: share}}``."""
    pieces = {}
    for key, _, place in plan["items"].tolist():
        if place < workers:
            pieces[key] = {place: 1.0}
            continue
        start, stop = plan["starts"][place - workers : place - workers + 2]
        shares = np.diff(plan["cuts"][start:stop], prepend=0.0)
        pieces[key] = dict(zip(plan["places"][start:stop].tolist(), shares.tolist(), strict=True))
    return pieces


@given(batches, st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_prompt_places_pieces_as_its_twin(counts, workers):
    """Because of rounding, a worker may get a tiny piece that the naive version does not have."""
    exact = {key: Fraction(count) for key, count in counts.items()}
    expected = naive.prompt(exact, workers)
    pieces = pieces_of(plan_of(PromptGrouping(), counts, workers), workers)
    assert pieces.keys() == expected.keys()
    loads, twins = np.zeros(workers), np.zeros(workers)
    for key, count in counts.items():
        for worker, share in pieces[key].items():
            loads[worker] += share * count
        for worker, part in expected[key].items():
            twins[worker] += float(part)
    np.testing.assert_allclose(loads, twins, atol=1e-6 * sum(counts.values()))
    heaviest = sorted(counts, key=lambda key: (-counts[key], key))
    for number, key in enumerate(heaviest):
        turn = number % (2 * workers)
        assert min(turn, 2 * workers - 1 - turn) in pieces[key]
        assert sum(pieces[key].values()) == pytest.approx(1)


@given(batches, st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_prompt_fills_no_block_beyond_its_share_or_its_cuts(counts, workers):
    total, keys = sum(counts.values()), len(counts)
    cut = total / max(keys, workers)
    pieces = pieces_of(plan_of(PromptGrouping(), counts, workers), workers)
    loads, dealt = np.zeros(workers), np.zeros(workers)
    for key in counts:
        for worker, share in pieces[key].items():
            loads[worker] += share * counts[key]
    for number, key in enumerate(sorted(counts, key=lambda key: (-counts[key], key))):
        turn = number % (2 * workers)
        dealt[min(turn, 2 * workers - 1 - turn)] += min(cut, counts[key])
    assert (loads <= np.maximum(total / workers, dealt) + 1e-9 * total).all()


@pytest.mark.parametrize("sources", [1, 4])
def test_prompt_deals_a_split_key_in_its_shares(sources):
    keys, workers, grouping = zipf(40_000), 10, PromptGrouping()
    distinct, occurrences = np.unique(keys, return_counts=True)
    plan = grouping.plan(distinct, occurrences.astype(np.float64), workers)
    sent = Counter()  # type: ignore[var-annotated]
    for source in range(sources):
        router = grouping.router(workers, source)
        router.remember(plan)
        mine = keys[source::sources]
        sent.update(zip(mine.tolist(), router.route(mine).tolist(), strict=True))
    counts = dict(zip(distinct.tolist(), occurrences.tolist(), strict=True))
    for key, shares in pieces_of(plan, workers).items():
        for worker, share in shares.items():
            assert abs(sent[key, worker] - share * counts[key]) < 4 * sources


def test_a_prompt_router_restored_within_an_epoch_deals_on():
    """The snapshot contains the plan, and how often each split key was dealt."""
    grouping, keys = PromptGrouping(), zipf(4000)
    counts = dict(Counter(keys.tolist()))
    first, restored = grouping.router(5, 1), grouping.router(5, 1)
    first.remember(plan_of(grouping, counts, 5))
    first.route(keys[:1111])
    restored.restore(first.snapshot())
    np.testing.assert_equal(restored.snapshot(), first.snapshot())
    assert first.snapshot()["dealt"].sum() > 100
    assert restored.route(keys[1111:]).tolist() == first.route(keys[1111:]).tolist()


@pytest.mark.slow(3)
def test_every_epoch_of_prompt_is_buffered():
    """Hot keys change in the middle of an epoch, and loads are still balanced."""
    stream = generated("drift(z=1.2,keys=1000,every=30000)", messages=200_000)
    report = simulate(stream, "prompt", workers=10, sources=3, epoch_messages=50_000)
    assert len(report.epochs) == 4
    assert max(epoch.max_over_mean for epoch in report.epochs) <= 1.01


@given(batches, st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_kip_isolates_as_its_twin(counts, workers, isolated):
    grouping = IsolatingGrouping(isolated)
    plan = plan_of(grouping, counts, workers)
    places, capacities = naive.isolated(counts, sum(counts.values()), workers, isolated * workers)
    assert dict(plan["items"][["key", "place"]].tolist()) == places
    if sum(capacities):
        weights = np.diff(plan["capacity"], prepend=0.0)
        np.testing.assert_allclose(weights, np.array(capacities) / sum(capacities), atol=1e-9)
    others = np.array([key ^ 1 for key in counts if key ^ 1 not in counts], dtype=np.uint64)
    router = grouping.router(workers)
    router.remember(plan)
    for key, worker in zip(others.tolist(), router.route(others).tolist(), strict=True):
        point = (naive.mix(key, 1 << 41) >> 11) / 2**53
        place = int(np.searchsorted(plan["capacity"], point, side="right"))
        assert worker == min(place, workers - 1)
    routed = router.route(np.array(list(places), dtype=np.uint64))
    assert routed.tolist() == list(places.values())


def test_kip_plans_from_the_epoch_before_and_splits_no_key():
    grouping, workers, keys = IsolatingGrouping(), 10, zipf(40_000, exponent=0.8)
    routers = [grouping.router(workers, source) for source in range(3)]
    maxima = []
    for _ in range(2):
        routed = [router.route(keys[source::3]) for source, router in enumerate(routers)]
        order = np.concatenate([keys[source::3] for source in range(3)])
        pairs = set(zip(order.tolist(), np.concatenate(routed).tolist(), strict=True))
        assert len(pairs) == len(np.unique(keys))
        maxima.append(np.bincount(np.concatenate(routed), minlength=workers).max() / 4000)
        memory = grouping.merge_memories([router.memory() for router in routers])
        assert memory.keys() == {"items", "capacity"}
        for router in routers:
            router.remember(memory)
    assert maxima[0] > 1.5
    assert maxima[1] < 1.15


def test_kip_keeps_its_plan_through_an_epoch_without_messages():
    grouping = IsolatingGrouping()
    memory = plan_of(grouping, {7: 5, 8: 3}, 4)
    router = grouping.router(4)
    router.remember(memory)
    np.testing.assert_equal(grouping.merge_memories([router.memory(), {}]), memory)


@pytest.mark.parametrize("spelling", ["prompt", "kip"])
@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (np.ones(3), "2 keys but 3 counts: give one per key"),
        (np.array([1.0, -2.0]), "a count of -2: counts are at least 0"),
        (np.array([1.0, np.nan]), "a count of nan"),
    ],
)
def test_bad_frequencies_are_refused(spelling, counts, says):
    with pytest.raises(ConfigurationError, match=f"{spelling}: {says}"):
        parse(spelling).plan(np.arange(2, dtype=np.uint64), counts, 5)


def test_a_bad_number_of_isolated_keys_is_refused():
    with pytest.raises(ConfigurationError, match="kip: isolated = 0: at least 1 key a worker"):
        parse("kip(isolated=0)")


GOLDEN = {
    "prompt": [2, 1, 1, 3, 1, 2, 0, 3, 3, 1, 2, 0, 2, 0, 3, 3],
    "kip(isolated=1)": [0, 0, 1, 0, 0, 2, 0, 3, 0, 0, 3, 0, 0, 0, 1, 0],
}


@pytest.mark.parametrize("spelling", GOLDEN)
def test_golden_vector(spelling):
    """A tiny stream is routed by a plan; a change of the result would move users' keys."""
    keys = np.array([7, 7, 1, 7, 7, 2, 7, 3, 7, 7, 1 << 40, 7, 7, 7, 5, 7], dtype=np.uint64)
    grouping = parse(spelling)
    router = grouping.router(4, source=1)
    distinct, counts = np.unique(keys, return_counts=True)
    router.remember(grouping.plan(distinct, counts.astype(np.float64), 4))
    assert router.route(keys).tolist() == GOLDEN[spelling]
