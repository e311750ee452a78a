"""Plans of joins from 100 samples balance the work as the plan from all rows does, within 2 %."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.dealt_and_copied import make_join_plan
from evenkey.spark.joins.join_counts import JoinCounts
from evenkey.spark.joins.join_kinds import kind_of
from evenkey.spark.joins.recounting import KeyTable, corrected, unsure
from evenkey.spark.plans import key_sample

WORKERS, PARTITIONS, ROWS, KEYS, SEEDS = 8, 4, 2_000_000, 200_000, 100
EMPTY = PlannedGrouping().statistics(WORKERS)
HASHES = np.arange(KEYS, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
HASHES = (HASHES ^ (HASHES >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


@cache
def left_rows(name):
    """Return the numbers of the keys of all left rows."""
    random = np.random.default_rng(2026)
    if name == "60 % on one key":
        return np.where(random.random(ROWS) < 0.6, 0, random.integers(1, KEYS, ROWS))
    exponent = float(name.removeprefix("z = "))
    ends = np.cumsum(np.arange(1, KEYS + 1, dtype=np.float64) ** -exponent)
    return np.searchsorted(ends, random.random(ROWS) * ends[-1])


@cache
def right_counts(name):
    """Return the number of right rows of each key."""
    random = np.random.default_rng(7)
    if name == "one row per key":
        return np.ones(KEYS, dtype=np.int64)
    if name == "few rows per key":
        return random.poisson(3.0, KEYS)
    # The last key, which is cold on the left, is hot on the right.
    return np.where(np.arange(KEYS) == KEYS - 1, 500_000, random.poisson(1.0, KEYS))


@cache
def weights():
    """Return for how many rows each row stands if it is drawn, as decision 250 says."""
    number = np.arange(ROWS // PARTITIONS) + 1
    tier = np.maximum(np.ceil(np.log2(number / key_sample.all_of(WORKERS))), 0)
    return np.tile(2.0**tier, PARTITIONS)


def work_of(left, right):
    """Return the work of keys in an inner join: 1 per result row, 0.1 per input row."""
    return 0.1 * (left + right) + left * right.astype(np.float64)


def plan_of(left, spread, right, most, counted):
    """Make a plan from the left rows of each key, counted or estimated."""
    work, unit = work_of(left, right), 0.1 + right
    table = KeyTable(HASHES, np.zeros(KEYS, np.int64), left, right, spread, unit, work, work)
    size = EMPTY.sketch.capacity
    top = np.zeros(KEYS, dtype=bool)
    for by in (work, unit):
        top[np.argpartition(by, -size)[-size:]] = True
    above = np.partition(unit, -size)[-size]
    columns: tuple[Any, ...] = table
    chosen = KeyTable(*(column[top] for column in columns))
    fair = work.sum() / WORKERS
    again = unsure(chosen, fair, most, above)
    chosen = corrected(chosen, again, "left", counted[top][again])
    work[top] = chosen.work
    buckets = (HASHES & np.uint64(len(EMPTY.bucket_loads) - 1)).astype(np.int64)
    of_buckets = np.bincount(buckets, work, len(EMPTY.bucket_loads)).astype(np.float64)
    counts = JoinCounts(
        chosen.hashes, chosen.left, chosen.right, chosen.work, of_buckets, 0, np.empty(0)
    )
    return make_join_plan(counts, kind_of("inner"), "output", WORKERS, 0.0).plan, again.sum()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("60 % on one key", "few rows per key"),
        ("60 % on one key", "a hot key"),
        ("z = 1.4", "one row per key"),
        ("z = 1.4", "few rows per key"),
        ("z = 1.0", "one row per key"),
        ("z = 1.0", "a hot key"),
    ],
)
def test_the_balance_of_samples_is_that_of_all_rows(left, right):
    rows, of_right = left_rows(left), right_counts(right)
    counted = np.bincount(rows, minlength=KEYS)
    work = work_of(counted, of_right)

    def maximum(plan):
        return plan.loads_of(HASHES, work, np.zeros(len(plan.owners))).max()

    none = np.zeros(KEYS, np.int64)
    every = maximum(plan_of(counted, none, of_right, 1, counted)[0])
    worse = 0
    for seed in range(SEEDS):
        drawn = np.random.default_rng(seed).random(ROWS) < 1 / weights()
        stand, keys = weights()[drawn], rows[drawn]
        estimate = np.bincount(keys, stand, minlength=KEYS).astype(np.int64)
        spread = np.bincount(keys, stand * (stand - 1), minlength=KEYS).astype(np.int64)
        plan, again = plan_of(estimate, spread, of_right, int(stand.max()), counted)
        # Only a key that is hot on the counted side needs a second look.
        assert (again > 0) == (right == "a hot key")
        worse += maximum(plan) > 1.02 * every
    assert worse <= 1
