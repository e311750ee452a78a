"""Plans from 100 samples balance the rows as the plan from all rows does, within 2 %."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from evenkey.groupings import PlannedGrouping, whole_plan
from evenkey.spark.plans import key_sample

WORKERS, PARTITIONS, ROWS, SEEDS = 8, 4, 2_000_000, 100
INPUTS = {"60 % on one key": None, "z = 1.4": (1.4, 100_000), "z = 1.0": (1.0, 10_000_000)}


@cache
def keys_of(name):
    """Return the keys of all rows, hashed; the rows of a partition are in random order."""
    random = np.random.default_rng(2026)
    zipf = INPUTS[name]
    if zipf is None:
        keys = np.where(random.random(ROWS) < 0.6, 0, random.integers(1, 100_000, ROWS))
    else:
        exponent, count = zipf
        ends = np.cumsum(np.arange(1, count + 1, dtype=np.float64) ** -exponent)
        keys = np.searchsorted(ends, random.random(ROWS) * ends[-1])
    # A hash of the numbers, so that buckets have keys of all ranks.
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


@cache
def weights():
    """Return for how many rows each row stands if it is drawn, as decision 250 says."""
    number = np.arange(ROWS // PARTITIONS) + 1
    every = key_sample.all_of(WORKERS)
    tier = np.maximum(np.ceil(np.log2(number / every)), 0)
    return np.tile(2.0**tier, PARTITIONS)


def plans_of(keys, loads):
    """Make a plan with whole and one with split keys, from keys and what each row counts."""
    found, places = np.unique(keys, return_inverse=True)
    statistics = PlannedGrouping().statistics(WORKERS)
    statistics.add_counted(found, np.bincount(places, loads).astype(np.float64))
    least = statistics.total / len(statistics.bucket_loads)
    return (
        whole_plan(*statistics.items(least), WORKERS),
        PlannedGrouping().plan_of(statistics, WORKERS),
    )


def maximum(plan, counted):
    """Return the rows of the worker with most rows, from the counts of all keys."""
    keys, rows = counted
    return plan.loads_of(keys, rows.astype(np.float64), np.zeros(len(plan.owners))).max()


@pytest.mark.soak(15)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.soak if INPUTS[each] else ()) for each in INPUTS]
)
def test_the_balance_of_samples_is_that_of_all_rows(name):
    keys = keys_of(name)
    counted = np.unique(keys, return_counts=True)
    every = [maximum(plan, counted) for plan in plans_of(keys, np.ones(ROWS))]
    assert (weights() > 1).mean() > 0.5
    worse = np.zeros(2, dtype=int)
    for seed in range(SEEDS):
        drawn = np.random.default_rng(seed).random(ROWS) < 1 / weights()
        sampled = plans_of(keys[drawn], weights()[drawn])
        for place, plan in enumerate(sampled):
            worse[place] += maximum(plan, counted) > 1.02 * every[place]
    assert (worse <= 1).all(), worse
