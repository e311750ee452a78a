"""Plans that also give workers equally many keys: their guarantee, and results on streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.streams import generated
from evenkey.groupings import PlannedGrouping
from evenkey.groupings.planned import make_plan
from evenkey.simulation import simulate

WORKERS, EPOCHS = 10, 4


def epochs(stream, grouping):
    made = generated(stream, messages=EPOCHS * 200_000)
    report = simulate(made, grouping, workers=WORKERS, sources=5, epoch_messages=200_000)
    assert len(report.epochs) == EPOCHS
    return report.epochs


def keys_by_buckets(plan, bucket_keys):
    return np.bincount(plan.owners, bucket_keys, minlength=plan.workers)


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_buckets_hold_equally_many_keys(seed, workers):
    """Each plan is the previous one of the next, while loads and numbers of keys change."""
    random, plan = np.random.default_rng(seed), None
    keys = np.arange(1, 8, dtype=np.uint64)
    for _ in range(3):
        loads, bucket_keys = random.random(64) * 100, random.integers(1, 20, 64).astype(float)
        counts = random.random(len(keys)) * 2000
        plan = make_plan(keys, counts, loads, np.ones(workers), plan, bucket_keys=bucket_keys)
        held, mean = keys_by_buckets(plan, bucket_keys), bucket_keys.sum() / workers
        assert held.max() <= max(1.02 * mean, mean + bucket_keys.max()) + 1e-9
        total = counts.sum() + loads.sum()
        of_buckets = np.bincount(plan.owners, loads, minlength=workers)
        fair = total / workers
        assert (plan.loads <= np.maximum(of_buckets, 1.01 * fair) * (1 + 1e-9)).all()
        assert plan.loads.sum() == pytest.approx(total)
        assert plan.extra_pairs <= workers - 1


def test_a_plan_for_the_same_loads_moves_nothing():
    random = np.random.default_rng(3)
    keys, counts = np.arange(20, dtype=np.uint64), 3000 / np.arange(1, 21)
    loads, bucket_keys = random.integers(10, 20, 512).astype(float), np.full(512, 30.0)
    first = make_plan(keys, counts, loads, np.ones(8), bucket_keys=bucket_keys)
    again = make_plan(keys, counts, loads, np.ones(8), first, bucket_keys=bucket_keys)
    assert (again.moved_keys, again.moved_buckets) == (0, 0)
    np.testing.assert_array_equal(again.owners, first.owners)


@pytest.mark.parametrize(("every", "known"), [(True, [3, 3]), (False, None)])
def test_keys_of_buckets_are_known_only_if_all_are_listed(every, known):
    keys, loads = np.arange(6, dtype=np.uint64), np.array([9.0, 5, 4, 3, 2, 1])
    statistics = PlannedGrouping(tracked=3, buckets=2).statistics(2)
    listed = slice(None) if every else slice(3)
    statistics.add_hottest(keys[listed], loads[listed], np.array([15.0, 9.0]))
    assert statistics.total == 24
    found = statistics.bucket_keys
    assert (None if found is None else found.tolist()) == known


@pytest.mark.soak
@pytest.mark.parametrize(
    "stream", ["zipf(z=1.4,keys=100000)", "zipf(z=1.0,keys=100000)", "wikipedia-like"]
)
def test_keys_are_balanced_over_streams_at_almost_no_cost(stream):
    """Keys are at most 5 % above the mean; max/mean grows by at most 0.02, replication does not."""
    plain, balanced = epochs(stream, "planned"), epochs(stream, "planned(even_keys=true)")
    above = [epoch.cardinality_imbalance * WORKERS / epoch.pairs for epoch in balanced]
    assert max(above) <= 0.05
    assert max(epoch.cardinality_imbalance * WORKERS / epoch.pairs for epoch in plain) > 0.2
    worst = [max(epoch.max_over_mean for epoch in each) for each in (plain, balanced)]
    assert worst[1] <= worst[0] + 0.02
    assert max(epoch.dist_cost / epoch.dist_cost_lower_bound for epoch in balanced) <= 1.01


@pytest.mark.slow(6)
def test_keys_are_nearly_balanced_if_nothing_was_counted():
    """Without counts, the random hashes cost up to four standard deviations."""
    grouping = "planned(even_keys=true,planning=previous)"
    for epoch in epochs("zipf(z=1.4,keys=100000)", grouping):
        mean = epoch.pairs / WORKERS
        assert epoch.cardinality_imbalance <= 0.02 * mean + 18 + 4 * mean**0.5
