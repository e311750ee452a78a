"""Dynamic key grouping continues to learn under impossible times, with bounded state."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.event_clock import EventClock
from evenkey.core.hashing import hash_longs
from evenkey.core.metrics import max_over_mean
from evenkey.groupings import DynamicKeyGrouping, Snapshot
from evenkey.groupings.key_space import KeySpace

WORKERS, EPOCHS, SECONDS, MESSAGES = 10, 30, 10.0, 4000
FUTURE, PAST, YEAR_9999, ORIGIN = 4e9, 0.0, 253_402_300_799.0, 1.6e9


def as_they_are(_epoch, _source, times):
    return times


def epochs_of(sources, times_of=as_they_are, memory=None):
    """Return max/mean of each epoch, and the memory; the hot key changes at epochs 10 and 20."""
    rng = np.random.default_rng(3)
    grouping, memory, balance = DynamicKeyGrouping(), memory or {}, []
    for epoch in range(EPOCHS):
        keys = hash_longs(rng.integers(100, 400, MESSAGES))
        keys[rng.random(MESSAGES) < 0.6] = hash_longs(np.array([epoch // 10]))[0]
        times = ORIGIN + np.linspace(0, SECONDS, MESSAGES, endpoint=False) + epoch * SECONDS
        workers = np.empty(MESSAGES, dtype=np.int32)
        memories = []
        for source in range(sources):
            router = grouping.router(WORKERS, source)
            router.remember(memory)
            reported = times_of(epoch, source, times[source::sources].copy())
            clock = EventClock(start=router.now)
            workers[source::sources] = router.route(keys[source::sources], clock.follow(reported))
            memories.append(router.memory())
        memory = grouping.merge_memories(memories)
        balance.append(max_over_mean(np.bincount(workers, minlength=WORKERS)))
    return np.array(balance), memory


def wrong_at(place, wrong, *, at=None):
    """Make a function that puts a wrong time into one epoch of the first source, or into all."""

    def times_of(epoch, source, times):
        if at is None or (epoch, source) == (at, 0):
            times[place] = wrong
        return times

    return times_of


def settled(balance):
    """Return only the epochs in which the current hot key has long been found."""
    return np.concatenate((balance[7:10], balance[17:20], balance[27:30]))


@pytest.fixture(scope="module")
def undisturbed():
    return {sources: epochs_of(sources) for sources in (1, 4)}


@pytest.mark.slow(0.1)
@pytest.mark.parametrize("sources", [1, 4])
@pytest.mark.parametrize("place", [0, 500, -1])
@pytest.mark.parametrize("wrong", [FUTURE, PAST, YEAR_9999, ORIGIN + 1800, np.nan])
@pytest.mark.parametrize("epoch", [0, 3])
def test_one_wrong_time_costs_no_balance(undisturbed, sources, place, wrong, epoch):
    before, memory = undisturbed[sources]
    balance, after = epochs_of(sources, wrong_at(place, wrong, at=epoch))
    assert settled(balance).max() < 1.1 * settled(before).max() < 2
    assert abs(after["clock"][1] - memory["clock"][1]) <= 15
    assert abs(after["items"]["seen"] - ORIGIN).max() < 1000


@pytest.mark.slow(0.1)
@pytest.mark.parametrize("sources", [1, 4])
@pytest.mark.parametrize("place", [0, 500, -1])
def test_nor_does_one_in_every_epoch(sources, place):
    balance, _ = epochs_of(sources, wrong_at(place, FUTURE))
    assert settled(balance).max() < 2


def old_memory(clock):
    """Return the memory of a table whose times come from a wrong clock, such as the year 2096."""
    _, memory = epochs_of(1)
    memory["clock"][1] = clock + 15
    memory["items"]["seen"][::2] = clock
    return memory


@pytest.mark.slow(0.1)
@pytest.mark.parametrize("clock", [FUTURE, ORIGIN + 3000, PAST])
@pytest.mark.parametrize("sources", [1, 4])
def test_a_table_with_a_wrong_clock_is_corrected_within_an_epoch(undisturbed, clock, sources):
    balance, memory = epochs_of(sources, memory=old_memory(clock))
    assert settled(balance).max() < 1.1 * settled(undisturbed[sources][0]).max()
    assert memory["clock"][1] <= ORIGIN + EPOCHS * SECONDS + 15
    assert memory["items"]["seen"].max() <= ORIGIN + EPOCHS * SECONDS


@pytest.mark.slow(0.1)
@pytest.mark.parametrize("gap", [4000.0, 86_400.0, 40 * 365 * 86_400.0])
@pytest.mark.parametrize("sources", [1, 4])
def test_a_gap_is_followed_within_its_epoch_with_little_work(monkeypatch, gap, sources):
    cycles = []
    cycle = KeySpace.cycle

    def counted(space, items, now, *, to_old):
        cycles.append(now)
        return cycle(space, items, now, to_old=to_old)

    monkeypatch.setattr(KeySpace, "cycle", counted)

    def late(epoch, _, times):
        return (
            times + gap * (epoch >= 5)
            if epoch != 5
            else np.where(times % 10 < 5, times, times + gap)
        )

    balance, memory = epochs_of(sources, late)
    assert settled(balance).max() < 2
    end = ORIGIN + gap + EPOCHS * SECONDS
    assert end - 15 < memory["clock"][1] - 15 <= end
    assert len(cycles) < sources * 300


def test_a_clock_that_the_stream_is_behind_is_set_back_in_the_same_epoch():
    router = DynamicKeyGrouping().router(4)
    keys = np.full(100, 7, dtype=np.uint64)
    router.route(keys, np.full(100, FUTURE))
    router.route(keys, np.full(100, ORIGIN))
    memory = router.memory()
    assert memory["clock"].tolist() == [ORIGIN, ORIGIN + 15, 1]
    assert memory["items"]["seen"].tolist() == [ORIGIN]


def test_a_source_with_a_wrong_clock_does_not_move_others():
    grouping, memories = DynamicKeyGrouping(), []
    for source, start in enumerate((100.0, 104.0, FUTURE)):
        router = grouping.router(4, source)
        router.route(np.array([7, 8, source], dtype=np.uint64), start + np.arange(3.0))
        memories.append(router.memory())
    merged = grouping.merge_memories(memories)
    assert merged["clock"].tolist() == [100.0, 119.0, 1.0]
    # The times of the third source are replaced by the start of the other sources' cycle.
    seen = dict(zip(merged["items"]["key"].tolist(), merged["items"]["seen"].tolist(), strict=True))
    assert seen == {7: 104.0, 8: 105.0, 0: 102.0, 1: 106.0, 2: 106.0}


@pytest.mark.soak
@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_any_times_leave_a_bounded_state(variant):
    rng = np.random.default_rng(1)
    grouping = DynamicKeyGrouping(variant=variant)
    memory: Snapshot = {}
    for epoch in range(20):
        router = grouping.router(WORKERS)
        router.remember(memory)
        clock = EventClock(start=router.now)
        times = rng.choice([FUTURE, PAST, YEAR_9999, -6e10, np.nan, ORIGIN + epoch], 2000)
        router.route(hash_longs(rng.integers(0, 10**6, 2000)), clock.follow(times))
        memory = router.memory()
        assert len(memory["items"]) <= 100
        assert np.isfinite(memory["clock"]).all()
