"""Merging and fading of recordings: arithmetic, compared with sums over all recordings."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.profiles import HALF_LIFE_DAYS, HotKey, Operation, Profile, SampledRows

DAY = 86_400.0


def recorded(day, rows, **keys):
    """Return an operation that was recorded once: key ``k7`` is the one with the hash 7."""
    hot = tuple(HotKey(int(name[1:]), count) for name, count in keys.items())
    return Operation("join inner", ("k",), ("t",), day * DAY, inputs=(SampledRows(rows, hot),))


def shares(operation):
    (rows,) = operation.inputs
    return {key.hashed: rows.share(key) for key in rows.keys}


def test_a_recording_counts_half_after_its_half_life():
    old, new = recorded(0, 100, k1=80), recorded(HALF_LIFE_DAYS, 100, k2=60)
    both = old.merged(new)
    assert both.runs == 1.5
    assert both.inputs[0].rows == 150
    assert shares(both) == pytest.approx({1: 40 / 150, 2: 60 / 150})
    assert both == new.merged(old)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10**6)), min_size=1, max_size=8))
def test_shares_are_means_over_all_days_in_any_order(days):
    def weight(day):
        return 2.0 ** ((day - max(each for each, _ in days)) / 7)

    every = [recorded(day, rows, k1=rows, **{f"k{day + 10}": 1.0 * rows}) for day, rows in days]
    merged = functools.reduce(Operation.merged, every)
    total = sum(weight(day) * rows for day, rows in days)
    wanted = {1: 1.0}
    for day, rows in days:
        wanted[day + 10] = wanted.get(day + 10, 0.0) + weight(day) * rows / total
    found = shares(merged)
    assert merged.runs == pytest.approx(sum(weight(day) for day, _ in days))
    for hashed, share in wanted.items():
        assert found.get(hashed, 0.0) == pytest.approx(share, abs=0.002 * len(days))


def test_only_hot_keys_are_kept_at_most_200():
    keys = [HotKey(number, 300.0 - number) for number in range(300)]
    few = SampledRows.of(10_000, keys)
    assert [key.hashed for key in few.keys] == [*range(200)]
    assert [key.hashed for key in SampledRows.of(100_000, keys).keys] == [*range(101)]


def test_the_text_of_a_key_stays_when_a_later_recording_has_its_hash_only():
    known = SampledRows(10, (HotKey(7, 8, "ann"),))
    both = SampledRows(10, (HotKey(7, 8),)).merged(known)
    assert both.keys == (HotKey(7, 16, "ann"),)


def test_inputs_that_one_recording_lacks_are_those_of_the_other():
    sampled = recorded(1, 100, k1=80)
    unsampled = replace(sampled, inputs=(), at=2 * DAY)
    assert shares(sampled.merged(unsampled)) == pytest.approx({1: 0.8})
    assert shares(unsampled.merged(sampled)) == pytest.approx({1: 0.8})


def test_an_operation_is_forgotten_eight_half_lives_after_its_only_run():
    profile = Profile({"old": recorded(0, 10, k1=9), "new": recorded(50, 10, k1=9)})
    early = (8 * HALF_LIFE_DAYS - 0.01) * DAY
    assert set(profile.merged(Profile({}), early).operations) == {"old", "new"}
    assert set(profile.merged(Profile({}), early + 0.02 * DAY).operations) == {"new"}


def test_a_profile_merges_each_operation_with_its_own():
    one = Profile({"a": recorded(0, 10, k1=9), "b": recorded(0, 10, k1=1)})
    other = Profile({"a": recorded(0, 10, k1=1)})
    both = one.merged(other, 0.0).operations
    assert math.isclose(shares(both["a"])[1], 0.5)
    assert shares(both["b"]) == {1: 0.1}
