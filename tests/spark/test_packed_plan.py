"""A packed plan sends every key, and every point of a split key, to the plan's worker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.groupings import PlannedGrouping
from evenkey.groupings.planned import OFFSET, OWNER_BITS, Plan
from evenkey.spark.plans.packed_plan import (
    LIMIT_BITS,
    ONE_CELL,
    WORKER_BITS,
    Positions,
    _alias,
    pack_places,
    pack_plan,
)

POINTS = np.linspace(0, (1 << 32) - 1, 101).astype(np.int64)


def unsigned(words):
    """Return the words of the array as Python integers."""
    return [int(word) % (1 << 64) for word in words]


def looked_up(words, positions, buckets, key, point):
    """Look a worker up in the array, in plain Python."""
    word = words[positions.buckets + key % buckets]
    product = ((key >> 32) + OFFSET) % (1 << 32) * (word >> OWNER_BITS) % (1 << 32)
    slot = positions.slots + 2 * (product >> words[0])
    place = ONE_CELL + positions.workers + word % (1 << OWNER_BITS)
    if words[slot] == key:
        place = words[slot + 1]
    return dealt(words, place, point)


def dealt(words, place, point):
    """Return the worker of a point of the unit interval, given in units of 2**-32."""
    scaled = point * (place >> 32)
    cell = words[place % (1 << 32) + (scaled >> 32)]
    limit, other = cell >> 2 * WORKER_BITS, cell >> WORKER_BITS
    below = (scaled >> 32 - LIMIT_BITS) % (1 << LIMIT_BITS) < limit
    return (cell if below else other) % (1 << WORKER_BITS)


@pytest.mark.parametrize("workers", [1, 3, 40])
@pytest.mark.parametrize("exponent", [0.5, 2.0])
def test_keys_are_where_the_plan_has_them(workers, exponent):
    rng = np.random.default_rng(workers)
    keys = rng.integers(0, 2**64, 300, dtype=np.uint64)
    counts = 1e6 / np.arange(1, 301) ** exponent
    grouping = PlannedGrouping()
    plan = Plan.from_arrays(grouping.plan(keys, counts, workers))
    buckets = grouping.bucket_count(workers)
    words, positions = unsigned(pack_plan(plan)), Positions.of(buckets, workers)
    whole = split = 0
    for key in keys:
        row = np.flatnonzero(plan.keys == key)
        went = np.array(
            [looked_up(words, positions, buckets, int(key), int(point)) for point in POINTS]
        )
        if not len(row):
            assert set(went) == {plan.owners[int(key) % buckets]}
            whole += 1
            continue
        places = plan.places[plan.starts[row[0]] : plan.starts[row[0] + 1]]
        shares = plan.shares[plan.starts[row[0]] : plan.starts[row[0] + 1]]
        split += len(places) > 1
        sent = np.bincount(went, minlength=workers) / len(went)
        expected = np.bincount(places, shares, minlength=workers)
        assert np.abs(sent - expected).max() < 2 * len(places) / len(went)
    assert whole
    if workers == 1 or exponent == 2.0:
        assert (split > 0) == (workers > 1)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=9), st.integers(2, 5))
def test_alias_tables_hold_the_shares(parts, offset):
    shares = np.array(parts) / sum(parts)
    cuts = np.concatenate(
        (np.linspace(1 / offset, 1, offset), np.append(np.cumsum(shares)[:-1], 1))
    )
    starts = np.array([0, offset, offset + len(parts)])
    workers = np.arange(len(cuts), dtype=np.int32)
    others, limits = _alias(starts, workers, cuts)
    held = np.bincount(workers, limits) + np.bincount(others, 1 - limits, minlength=len(workers))
    assert held[offset:] / len(parts) == pytest.approx(shares)
    assert ((limits >= 0) & (limits <= 1 + 1e-9)).all()


@given(st.integers(1, 12), st.lists(st.integers(0, 1000), min_size=1, max_size=20), st.data())
def test_numbers_are_where_their_owners_and_copies_are(workers, drawn, data):
    owners = [number % workers for number in drawn]
    copied = data.draw(st.sets(st.integers(0, len(owners) - 1), max_size=3))
    copies = {}
    for number in copied:
        parts = data.draw(
            st.dictionaries(st.integers(0, workers - 1), st.integers(1, 9), min_size=1)
        )
        copies[number] = {worker: part / sum(parts.values()) for worker, part in parts.items()}
    words = unsigned(pack_places(owners, copies, workers))
    for number, owner in enumerate(owners):
        shares = copies.get(number, {owner: 1.0})
        went = [dealt(words, words[number], int(point)) for point in POINTS]
        assert {*went} <= {*shares}
        for worker, share in shares.items():
            assert abs(went.count(worker) / len(went) - share) < 2 * len(shares) / len(went)
