"""Routing by a plan equals its naive version; statistics are counted, merged and forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.groupings import PlannedGrouping, parse
from evenkey.groupings.planned import KeyStatistics, Plan, compile_plan
from tests.groupings.planned import naive


def zipf(messages, exponent=1.4, seed=0, keys=1000):
    random = np.random.default_rng(seed)
    hashes = np.random.default_rng(9).integers(0, 2**64, keys, dtype=np.uint64)
    chances = np.arange(1, keys + 1.0) ** -exponent
    return hashes[random.choice(keys, messages, p=chances / chances.sum())]


def plan(grouping, keys, workers):
    distinct, counts = np.unique(keys, return_counts=True)
    return grouping.plan(distinct, counts.astype(np.float64), workers)


def loads(grouping, memory, keys, workers, sources=3):
    routers = [grouping.router(workers, source) for source in range(sources)]
    for router in routers:
        router.remember(memory)
    routed = [router.route(keys[source::sources]) for source, router in enumerate(routers)]
    return np.bincount(np.concatenate(routed), minlength=workers), routers


@given(st.integers(0, 5), st.integers(1, 12), st.integers(0, 3))
@settings(max_examples=15)
def test_routing_equals_its_twin(seed, workers, source):
    keys, grouping = zipf(600, seed=seed, keys=60), PlannedGrouping(buckets=64)
    memory = plan(grouping, keys, workers)
    router = grouping.router(workers, source)
    router.remember(memory)
    expected = naive.route(keys.tolist(), Plan.from_arrays(memory), source)
    assert router.route(keys).tolist() == expected


@pytest.mark.slow(2)
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 50), max_size=200, unique=True))
@settings(max_examples=40)
def test_the_lookup_finds_every_key(keys):
    """This holds for keys that are small numbers, not hashes, if no two collide in the lookup."""
    keys = np.sort(np.array(keys, dtype=np.uint64))
    buckets = 256
    upper = keys >> np.uint64(32)
    _, alone = np.unique(upper * np.uint64(buckets) + keys % buckets, return_index=True)
    keys = keys[np.sort(alone)]
    plan = Plan(
        np.zeros(buckets, dtype=np.int32),
        keys,
        np.arange(len(keys) + 1),
        (np.arange(len(keys)) % 7).astype(np.int32),
        np.ones(len(keys)),
        np.zeros(7),
    )
    lookup = compile_plan(plan)
    held = dict(zip(lookup.slot_keys.tolist(), lookup.slot_places.tolist(), strict=True))
    found = [held[key] for key in keys.tolist()]
    assert found == plan.places.tolist()


def test_messages_follow_the_shares():
    """In every prefix, each share of a split key is exact up to a few messages."""
    keys, grouping = np.full(10_000, 7, dtype=np.uint64), PlannedGrouping()
    memory = grouping.plan(np.array([7], dtype=np.uint64), np.array([1.0]), 6)
    for source in range(4):
        router = grouping.router(6, source)
        router.remember(memory)
        routed = router.route(keys)
        for messages in (10, 100, 1000, 10_000):
            sent = np.bincount(routed[:messages], minlength=6)
            shares = memory["shares"][np.argsort(memory["places"])]
            assert np.abs(sent - shares * messages).max() < 4


def test_an_epoch_planned_from_itself_is_balanced():
    keys, grouping = zipf(200_000), PlannedGrouping(planning="current")
    assert grouping.counts_first({})
    memory = plan(grouping, keys, 20)
    sent, routers = loads(grouping, memory, keys, 20)
    assert sent.max() / sent.mean() <= 1.02
    parts = [keys[source::3] for source in range(3)]
    routed = np.concatenate([r.route(part) for r, part in zip(routers, parts, strict=True)])
    pairs = set(zip(np.concatenate(parts).tolist(), routed.tolist(), strict=True))
    assert len(pairs) <= len(np.unique(keys)) + 19


@pytest.mark.parametrize("messages", [2_000, 20_000, 200_000])
def test_a_fresh_sample_adds_sampling_noise_only(messages):
    """The bound of the documentation allows 4.5 standard deviations of both samples."""
    workers, grouping = 20, PlannedGrouping()
    memory = plan(grouping, zipf(messages, seed=1), workers)
    sent, _ = loads(grouping, memory, zipf(messages, seed=2), workers)
    assert sent.max() / sent.mean() <= 1.01 + 4.5 * np.sqrt(2 * workers / messages)


def test_previous_follows_a_change_within_two_epochs():
    workers, grouping = 10, parse("planned(planning=previous,surprise=none)")
    before, after = zipf(40_000), ~zipf(80_000, seed=5)
    epochs = [before, before, np.concatenate((before[:20_000], after[:20_000])), after[:40_000]]
    memory, imbalances = {}, []  # type: ignore[var-annotated]
    for keys in [*epochs, after[40_000:]]:
        sent, routers = loads(grouping, memory, keys, workers)
        imbalances.append(sent.max() / sent.mean())
        assert not grouping.counts_first(memory)
        memory = grouping.merge_memories([router.memory() for router in routers])
    assert imbalances[0] > 2
    assert imbalances[2] > 1.5
    assert imbalances[1] < 1.1
    assert imbalances[4] < 1.1


def test_auto_counts_first_without_statistics_and_when_they_are_stale():
    workers, grouping = 10, PlannedGrouping()
    keys = zipf(40_000, exponent=1.2, keys=20_000)
    assert grouping.counts_first({})
    memory = plan(grouping, keys, workers)
    assert not grouping.counts_first(memory)
    _, routers = loads(grouping, memory, keys, workers)
    memory = grouping.merge_memories([router.memory() for router in routers])
    assert not grouping.counts_first(memory)
    _, routers = loads(grouping, memory, ~keys, workers)
    memory = grouping.merge_memories([router.memory() for router in routers])
    assert grouping.counts_first(memory)


def test_auto_counts_first_until_a_plan_of_earlier_epochs_would_be_balanced():
    """Hot keys change in three epochs, then stay: counted epochs are balanced."""
    workers, grouping = 10, PlannedGrouping(surprise=None)
    keys = zipf(40_000)
    memory = {}  # type: ignore[var-annotated]
    counted, imbalances = [], []
    for change in (0, 1, 2, 3, 3, 3):
        epoch = keys ^ np.uint64(change)
        counted.append(grouping.counts_first(memory))
        if counted[-1]:
            distinct, counts = np.unique(epoch, return_counts=True)
            memory = grouping.replan(distinct, counts.astype(np.float64), workers, memory)
        sent, routers = loads(grouping, memory, epoch, workers)
        imbalances.append(sent.max() / sent.mean())
        memory = grouping.merge_memories([router.memory() for router in routers])
    assert counted == [True, False, True, True, True, False]
    assert imbalances.pop(1) > 2
    assert max(imbalances) < 1.1


@pytest.mark.slow(5)
def test_keys_that_are_not_known_well_go_with_their_buckets():
    """A plan from exact counts knows more hot keys than the sketch that plans the next epoch."""
    workers, grouping = 20, PlannedGrouping(tracked=300)
    memory = plan(grouping, zipf(200_000, 0.9, seed=1, keys=20_000), workers)
    for seed in (1, 2, 3):
        keys = zipf(200_000, 0.9, seed=seed, keys=20_000)
        sent, routers = loads(grouping, memory, keys, workers)
        assert sent.max() / sent.mean() <= 1.01 + 4.5 * np.sqrt(2 * workers / 200_000)
        memory = grouping.merge_memories([router.memory() for router in routers])


def test_decay_forgets_keys_that_are_hot_no_longer():
    grouping = PlannedGrouping(planning="previous", stale=100.0, tracked=64)
    memory = grouping.plan(np.array([7], dtype=np.uint64), np.array([5000.0]), 4)
    assert 7 in memory["keys"]
    for seed in range(6):
        _, routers = loads(grouping, memory, zipf(5000, seed=seed), 4)
        memory = grouping.merge_memories([router.memory() for router in routers])
    assert 7 not in memory["keys"]


def test_a_fitted_plan_stays():
    keys, grouping = zipf(10_000), PlannedGrouping(planning="fit")
    assert grouping.counts_first({})
    memory = plan(grouping, keys, 5)
    assert not grouping.counts_first(memory)
    _, routers = loads(grouping, memory, ~keys, 5)
    after = grouping.merge_memories([router.memory() for router in routers])
    np.testing.assert_array_equal(after["owners"], memory["owners"])
    np.testing.assert_array_equal(after["keys"], memory["keys"])


def test_weights_count_as_loads():
    keys, weights = zipf(20_000), np.full(20_000, 3)
    light, heavy = PlannedGrouping().router(5), PlannedGrouping().router(5)
    np.testing.assert_array_equal(light.route(keys), heavy.route(keys, weights=weights))
    np.testing.assert_array_equal(3 * light.memory()["sent"], heavy.memory()["sent"])
    statistics = [KeyStatistics.from_arrays(each.memory(), "epoch") for each in (light, heavy)]
    assert 3 * statistics[0].total == statistics[1].total
    np.testing.assert_array_equal(
        3 * statistics[0].sketch.items()["count"], statistics[1].sketch.items()["count"]
    )


def test_unequal_workers():
    keys, grouping = zipf(100_000), parse("planned(capacities=2:1:1)")
    assert str(grouping) == "planned(capacities=2:1:1)"
    sent, _ = loads(grouping, plan(grouping, keys, 3), keys, 3)
    assert sent / len(keys) == pytest.approx([0.5, 0.25, 0.25], rel=0.02)
    with pytest.raises(ConfigurationError, match="3 capacities for 4 workers"):
        grouping.router(4)


@pytest.mark.parametrize(
    ("spelling", "says"),
    [
        ("planned(buckets=48)", "must be a power of two"),
        ("planned(tracked=0)", "tracked = 0: must be at least 1 key"),
        ("planned(decay=2)", "must be at most 1"),
        ("planned(stale=-1)", "must be at least 0"),
        ("planned(capacities=2:x)", "give one number above 0 per worker"),
        ("planned(planning=never)", "must be one of auto, previous, current, fit"),
    ],
)
def test_bad_parameters(spelling, says):
    with pytest.raises(ConfigurationError, match=says):
        parse(spelling)


def test_fields_are_of_their_kinds():
    with pytest.raises(ConfigurationError, match="stickiness"):
        PlannedGrouping(stickiness="a little")  # type: ignore[arg-type]


@pytest.mark.parametrize(("more", "stale"), [(895, False), (905, True)])
def test_a_plan_is_stale_beyond_its_tolerance_and_four_deviations(more, stale):
    """The fair load is 10,000 messages; 5 % of it and four times its root are tolerated."""
    grouping, keys = PlannedGrouping(surprise=None), zipf(40_000)
    memory = plan(grouping, keys, 4)
    sent = np.array([10_000 + more, 10_000 - more, 10_000, 10_000])
    assert grouping.counts_first(memory | {"sent": sent}) == stale


def test_a_free_slot_of_the_lookup_holds_hash_0_and_the_owner_of_its_bucket():
    keys = np.array([1, 3 << 33 | 1, 7 << 33 | 1], dtype=np.uint64)
    owners = np.array([1, 0], dtype=np.int32)
    places = np.array([0, 1, 1], dtype=np.int32)
    lookup = compile_plan(Plan(owners, keys, np.arange(4), places, np.ones(3), np.zeros(2)))
    free = lookup.slot_keys == 0
    assert free.any()
    assert set(lookup.slot_places[free].tolist()) == {1}


@pytest.mark.parametrize("planning", ["previous", "fit"])
def test_a_router_restored_within_an_epoch_goes_on_as_the_first(planning):
    """The snapshot contains the plan, the expected shares of keys, and all counts."""
    workers, grouping = 6, PlannedGrouping(planning=planning, tracked=200)
    memory = plan(grouping, zipf(20_000), workers)
    if planning == "previous":
        _, routers = loads(grouping, memory, zipf(20_000, seed=1), workers)
        memory = grouping.merge_memories([router.memory() for router in routers])
        assert "expected_keys" in memory
    keys = np.concatenate((zipf(3000, seed=2), ~zipf(3000, seed=3)))
    first, restored = grouping.router(workers, 2), grouping.router(workers, 2)
    first.remember(memory)
    first.route(keys[:4000])
    snapshot = first.snapshot()
    assert snapshot["sent"].sum() == 4000
    restored.restore(snapshot)
    np.testing.assert_equal(restored.snapshot(), snapshot)
    assert restored.route(keys[4000:]).tolist() == first.route(keys[4000:]).tolist()
    np.testing.assert_equal(restored.memory(), first.memory())


def test_dealing_goes_on_under_the_same_plan_alone():
    """Counters made under a plan with one split key are useless for a plan with two."""
    grouping, hot = PlannedGrouping(surprise=None), np.full(10, 7, dtype=np.uint64)
    one = grouping.plan(np.array([7], dtype=np.uint64), np.array([1.0]), 6)
    two = grouping.plan(np.array([7, 8], dtype=np.uint64), np.array([1.0, 1.0]), 6)
    first = grouping.router(6, 1)
    first.remember(one)
    first.route(hot[:3])
    left = {name: first.snapshot()[name] for name in first.local_fields}
    assert left["dealt"].tolist() == [3]
    after, begun, anew = (grouping.router(6, 1) for _ in range(3))
    after.remember(one)
    after.restore(left)
    assert after.route(hot).tolist() == first.route(hot).tolist()
    for router in (begun, anew):
        router.remember(two)
    begun.restore(left)
    assert begun.route(hot).tolist() == anew.route(hot).tolist()


@pytest.mark.parametrize("source", [0, 1])
def test_a_follower_goes_as_a_router_of_its_source_and_learns_nothing(source):
    grouping, keys = PlannedGrouping(buckets=16), np.full(50, 7, dtype=np.uint64)
    follower, router = grouping.follower(4, source), grouping.router(4, source)
    for each in (follower, router):
        each.remember(plan(grouping, keys, 4))
    assert follower.route(keys).tolist() == router.route(keys).tolist()
    assert router.memory().keys() > follower.memory().keys()


@pytest.mark.parametrize(("buckets", "workers"), [(16, 5), (16, 1), (32, 4), (8, 4)])
def test_a_plan_for_other_workers_or_buckets_is_refused(buckets, workers):
    router, keys = PlannedGrouping(buckets=16).router(4), np.arange(50, dtype=np.uint64)
    with pytest.raises(RunError, match="numbers out of range"):
        router.remember(plan(PlannedGrouping(buckets=buckets), keys, workers))


def test_a_follower_is_of_a_source():
    with pytest.raises(ConfigurationError, match="source"):
        PlannedGrouping().follower(4, -1)


GOLDEN = [1, 0, 1, 1, 0, 2, 3, 2, 1, 0, 2, 3, 0, 3, 2, 1]


def test_golden_vector():
    """A tiny stream is routed by a plan; a change of the result would move users' keys."""
    keys = np.array([7, 7, 1, 7, 7, 2, 7, 3, 7, 7, 1 << 40, 7, 7, 7, 5, 7], dtype=np.uint64)
    grouping = PlannedGrouping(buckets=16)
    router = grouping.router(4, source=1)
    router.remember(plan(grouping, keys, 4))
    assert router.route(keys).tolist() == GOLDEN
