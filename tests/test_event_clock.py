"""The event clock: which times it follows, and that batches do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.event_clock import FAR, EventClock, in_step

FAR_FUTURE, FAR_PAST, YEAR_9999 = 4e9, -6e10, 253_402_300_799.0
DAY = 86_400.0
WRONG = [FAR_FUTURE, FAR_PAST, YEAR_9999, 0.0, np.nan, np.inf, -np.inf]

streams = st.lists(
    st.one_of(st.floats(1e9, 1e9 + 900), st.floats(1e9, 1e9 + 9000), st.sampled_from(WRONG)),
    max_size=700,
)


def by_hand(times, start):
    """Follow times row by row, as the docstring describes."""
    clock, support, out = None, 0, []
    for time in times:
        if np.isfinite(time):
            if clock is not None and abs(time - clock) <= FAR:
                clock, support = max(clock, time), min(support + 1, 64)
            elif support:
                support -= 1
            else:
                clock, support = time, 1
        out.append(start if clock is None else clock)
    return out


@given(streams, st.lists(st.integers(0, 700), max_size=4))
def test_any_cut_into_batches_gives_what_is_written(times, cuts):
    times = np.array(times)
    clock = EventClock(start=7.0)
    pieces = np.split(times, sorted(min(cut, len(times)) for cut in cuts))
    followed = np.concatenate([clock.follow(piece) for piece in pieces])
    assert followed.tolist() == by_hand(times.tolist(), 7.0)


@given(st.lists(st.floats(1e9, 1e9 + FAR), min_size=1))
def test_times_within_an_hour_are_followed_as_they_are(times):
    clock = EventClock()
    assert clock.follow(times).tolist() == np.maximum.accumulate(times).tolist()
    assert (clock.earliest, clock.latest) == (min(times), max(times))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("place", [0, 1, 2, 50, 99])
def test_one_wrong_row_is_corrected_within_two(wrong, place):
    times = np.linspace(1e9, 1e9 + 10, 100)
    expected = times[-1]
    times[place] = wrong
    clock = EventClock(start=1e9)
    followed = clock.follow(times)
    good = (followed >= 1e9) & (followed <= expected)
    assert good.sum() >= 98
    assert good[min(place + 3, 99) :].all() or place > 96
    assert clock.latest >= times[98 if place == 99 else 99]


@pytest.mark.slow(3)
def test_a_third_of_wrong_rows_are_not_believed():
    rng = np.random.default_rng(0)
    times = np.linspace(1e9, 1e9 + 60, 100_000)
    times[rng.random(100_000) < 1 / 3] = FAR_FUTURE
    followed = EventClock().follow(times)
    # By chance, the first rows may all be wrong.
    assert (followed[100:] < 2e9).all()


@pytest.mark.parametrize("gap", [2 * FAR, DAY, 1000 * DAY, -DAY])
def test_a_gap_is_followed_within_65_rows(gap):
    times = np.linspace(1e9, 1e9 + 60, 5000)
    times[2500:] += gap
    followed = EventClock().follow(times)
    assert (followed[2500:2564] == times[2499]).all()
    assert (followed[2564:] == times[2564:]).all()


def test_clocks_in_step():
    assert in_step([FAR_FUTURE, 10.0], 15).tolist() == [False, True]
    assert in_step([5.0], 0).tolist() == [True]
    assert in_step([10.0, 20.0, 40.0, 26.0], 6).tolist() == [False, True, False, True]
