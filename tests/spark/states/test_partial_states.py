"""Keys whose states merge are combined before the shuffle, and stay exact."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.spark.states.driven import (
    MODULUS,
    RESULTS,
    STATE,
    Driver,
    Killed,
    MortalStore,
    hashes_of,
)

SECOND = 1_000_000
NO_TIME = STATE.field("timer").type


@pytest.fixture(autouse=True)
def _alive(monkeypatch):
    monkeypatch.setattr(MortalStore, "left", None)
    monkeypatch.setattr("evenkey.spark.states.deciding._LEAST_ROWS", 50)
    monkeypatch.setattr("evenkey.spark.states.partial_states._ROWS", 20)


def added(batch, counts, values):
    """Add numbers of rows and sums of values to states; no timer is set."""
    n = batch.states["n"].fill_null(0).to_numpy().copy()
    digest = batch.states["digest"].fill_null(0).to_numpy().copy()
    np.add.at(n, batch.positions, counts)
    np.add.at(digest, batch.positions, values)
    active = np.bincount(batch.positions, minlength=len(n)) > 0
    ended = batch.due & ~active
    times = pa.nulls(len(n), NO_TIME)
    states = pa.Table.from_arrays(
        [pa.array(n, mask=ended), pa.array(digest % MODULUS, mask=ended), times], schema=STATE
    )
    keys = batch.states["key"]
    return states, pa.Table.from_arrays(
        [keys, pa.array(n), pa.array(digest % MODULUS)], schema=RESULTS
    )


def summed(batch):
    return added(batch, 1, batch.rows["value"].to_numpy())


def merged(batch):
    return added(batch, batch.rows["n"].to_numpy(), batch.rows["digest"].to_numpy())


def hot_rows(random, epoch, count=80):
    """Draw rows; key 3 has half of them, and from epoch 4 on key 5 has."""
    hot = 3 if epoch < 4 else 5
    rows = []
    for number in range(count):
        key = hot if number % 2 else int(random.integers(0, 30))
        time = epoch * SECOND + number
        rows.append((None if key == 7 else key, int(random.integers(0, 100)), time, number))
    return rows


def sums(epochs):
    """Return the results of each epoch, by a loop over all rows."""
    states: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for rows in epochs:
        for key, value, _, _ in rows:
            n, digest = states[key]
            states[key] = (n + 1, (digest + value) % MODULUS)
        yield Counter({(key, *states[key]): 1 for key in {row[0] for row in rows}})


@pytest.mark.parametrize("bits", [64, 4])
def test_hot_keys_are_combined_and_exact(tmp_path, bits):
    random = np.random.default_rng(2)
    epochs = [hot_rows(random, epoch) for epoch in range(9)]
    driver = Driver(tmp_path, summed, merge=merged, bits=bits)
    shuffled = []
    for epoch, expected in enumerate(sums(epochs)):
        if epoch % 3 == 2:
            driver.restart()
        assert driver.epoch(epoch, epochs[epoch], attempts=2) == expected, epoch
        shuffled.append(driver.shuffled.num_rows)
    plans = [driver.plans.log("q").inherited(epoch, [*range(1, 9)]) for epoch in range(9)]
    hot = [() if plan is None else plan.hot for plan in plans]
    three, five = (int(hashes_of([key], bits)[0]) for key in (3, 5))
    assert three in hot[1]
    assert five in hot[6]
    if bits == 64:
        assert hot == [(), *[(three,)] * 4, *[(five,)] * 4]
        # 40 rows of the hot key become a few partial states.
        assert shuffled[0] == 80
        assert max(shuffled[2:4]) < 55


def test_a_kill_at_each_request_changes_nothing(tmp_path):
    random = np.random.default_rng(2)
    epochs = [hot_rows(random, epoch, count=60) for epoch in range(3)]
    expected = [*sums(epochs)]
    for killed in range(1000):
        driver = Driver(tmp_path / str(killed), summed, merge=merged, partitions=3, workers=2)
        died = False
        for epoch, rows in enumerate(epochs):
            MortalStore.left = killed if epoch == 2 else None
            while True:
                try:
                    found = driver.epoch(epoch, rows)
                    break
                except Killed:
                    died, MortalStore.left = True, None
                    driver.restart()
            MortalStore.left = None
            assert found == expected[epoch], (killed, epoch)
        if not died:
            break
    assert 10 < killed < 60


def test_late_rows_of_hot_keys_are_left_out(tmp_path):
    driver = Driver(tmp_path, summed, merge=merged, partitions=1, workers=1)

    def late(epoch):
        records = driver.plans.log("q").records(driver.decide(epoch))
        return sum(record.late for record in records)

    first = [(3, 1, 5 * SECOND, number) for number in range(60)]
    assert driver.epoch(0, first) == Counter({(3, 60, 60): 1})
    assert driver.decide(1).hot
    later = [(3, 1, time * SECOND, number) for number, time in enumerate([4, 5, 6, 1])]
    assert driver.epoch(1, later) == Counter({(3, 62, 62): 1})
    assert late(1) == 2
    # Rows without a time are never late, also if they are combined with late rows.
    mixed = [(3, 1, None if number % 2 else SECOND, number) for number in range(24)]
    assert driver.epoch(2, mixed) == Counter({(3, 74, 74): 1})
    assert late(2) == 12
    assert driver.epoch(3, [(3, 1, SECOND, 0), (4, 1, SECOND, 1)]) == Counter()
    assert late(3) == 2


def test_a_timer_of_a_hot_key_is_due_once(tmp_path):
    """The timers of keys 1 to 4 are due in epoch 1, where key 3 has partial states, key 1 rows."""
    seen = []

    def timed(call):
        def function(batch):
            states, results = call(batch)
            seen.append((call.__name__, batch.states["key"].to_pylist(), batch.due.tolist()))
            timer = pa.array([5 * SECOND] * len(batch.due), mask=batch.due).cast(NO_TIME)
            return states.set_column(2, "timer", timer), results

        return function

    driver = Driver(
        tmp_path, timed(summed), merge=timed(merged), partitions=1, workers=1, timer="timer"
    )
    rows = [(key, 1, 6 * SECOND, 100 * key) for key in (1, 2, 3, 4)]
    driver.epoch(0, rows + [(3, 1, 6 * SECOND, number) for number in range(60)])
    seen.clear()
    found = driver.epoch(1, [(3, 1, 7 * SECOND, 0), (1, 1, 7 * SECOND, 1)])
    due = Counter(
        key for call, keys, due in seen for key, is_due in zip(keys, due, strict=True) if is_due
    )
    assert due == Counter([1, 2, 3, 4])
    assert {key for call, keys, _ in seen if call == "merged" for key in keys} == {3}
    assert found == Counter({(1, 2, 2): 1, (2, 1, 1): 1, (3, 62, 62): 1, (4, 1, 1): 1})


def written(batch, n, digest, gone, results):
    """Return states of which some are nulls, and results of which some are left out."""
    times = pa.nulls(len(n), NO_TIME)
    states = pa.Table.from_arrays(
        [pa.array(n, mask=gone), pa.array(digest, mask=gone), times], schema=STATE
    )
    found = pa.Table.from_arrays([batch.states["key"], *states.columns[:2]], schema=RESULTS)
    return states, found.filter(pa.array(results))


def held(batch):
    """Return numbers and sums in the states, and which keys have no state."""
    n, digest = (batch.states[name].fill_null(0).to_numpy().copy() for name in ("n", "digest"))
    return n, digest, np.asarray(batch.states["n"].is_null())


def added_to(batch, counted, numbers, values, gone):
    n, digest, without = held(batch)
    np.add.at(n, batch.positions[counted], numbers[counted])
    np.add.at(digest, batch.positions[counted], values[counted])
    without[batch.positions[counted]] = False
    without |= gone
    return written(batch, n, digest, without, np.ones(len(n), dtype=bool))


def some_count(batch):
    """Count values from 50 on; a key with other values alone gets no state."""
    values = batch.rows["value"].to_numpy()
    counted = values >= 50
    return added_to(batch, counted, np.ones_like(values), values, np.zeros(len(batch.due), bool))


def some_counted(batch):
    n, digest = (batch.rows[name].fill_null(0).to_numpy() for name in ("n", "digest"))
    counted = np.asarray(batch.rows["n"].is_valid())
    return added_to(batch, counted, n, digest, np.zeros(len(batch.due), bool))


def some_delete(batch):
    """Add all values, but a value above 90 deletes the state."""
    values = batch.rows["value"].to_numpy()
    gone = np.zeros(len(batch.due), dtype=bool)
    gone[batch.positions[values > 90]] = True
    return added_to(batch, values >= 0, np.ones_like(values), values, gone)


def some_deleted(batch):
    n, digest = (batch.rows[name].fill_null(0).to_numpy() for name in ("n", "digest"))
    gone = np.zeros(len(batch.due), dtype=bool)
    gone[batch.positions[np.asarray(batch.rows["n"].is_null())]] = True
    return added_to(batch, n >= 0, n, digest, gone)


@pytest.mark.parametrize(
    ("function", "merge"), [(some_count, some_counted), (some_delete, some_deleted)]
)
@pytest.mark.parametrize("bits", [64, 2])
def test_merging_gives_the_states_and_results_of_the_function_alone(
    tmp_path, function, merge, bits
):
    """In some epochs no row of the hot key counts, and in some a part of its rows deletes."""
    random = np.random.default_rng(4)
    limits = [100, 100, 50, 50, 50, 100, 96, 90, 92, 100]
    epochs = [
        [(key, value % limit, *rest) for key, value, *rest in hot_rows(random, epoch)]
        for epoch, limit in enumerate(limits)
    ]
    options = {"bits": bits, "expire_after": 2 * SECOND}
    alone = Driver(tmp_path / "alone", function, **options)
    merging = Driver(tmp_path / "merging", function, merge=merge, **options)
    for epoch, rows in enumerate(epochs):
        assert merging.epoch(epoch, rows) == alone.epoch(epoch, rows), epoch
        assert merging.states(epoch + 1) == alone.states(epoch + 1), epoch
        assert epoch == 0 or merging.decide(epoch).hot


def test_a_partial_state_is_one_row_of_the_load(tmp_path, monkeypatch):
    """Partitions are balanced by what slots will get, and records count all rows and all work."""
    monkeypatch.setattr("evenkey.spark.states.partial_states._ROWS", 2000)
    random = np.random.default_rng(6)
    driver = Driver(tmp_path, summed, merge=merged, partitions=32, workers=4)
    log = driver.plans.log("q")
    worst = []
    for epoch in range(6):
        hot = 3 if epoch < 3 else 5
        keys = [hot if number % 4 else int(random.integers(0, 400)) for number in range(1600)]
        driver.epoch(epoch, [(key, 1, epoch * SECOND, n) for n, key in enumerate(keys)])
        work = [
            (record.slot, each)
            for record in log.records(driver.decide(epoch))
            for each in record.work.values()
        ]
        assert sum(each.rows for _, each in work) == len(keys)
        loads = np.zeros(4)
        for slot, each in work:
            loads[slot] += each.received
        assert loads.sum() == driver.shuffled.num_rows
        worst.append(loads.max() / loads.mean())
        assert (sum(each.combining for _, each in work) > 0) == (epoch not in (0, 3))
    # The first epochs of a hot key are unbalanced, and none after them.
    assert min(worst[0], worst[3]) > 2
    assert max(*worst[1:3], *worst[4:]) < 1.3


def test_a_rule_for_workers_sees_the_work_of_combining(tmp_path):
    seen = []

    def rule(seconds):
        seen.append(seconds)
        return 2

    driver = Driver(tmp_path, summed, merge=merged, workers=2, scale=rule)
    rows = [(3, 1, 0, number) for number in range(200)]
    for epoch in range(2):
        driver.epoch(epoch, rows)
    driver.decide(2)
    records = driver.plans.log("q").records(driver.decide(1))
    combining = sum(work.combining for each in records for work in each.work.values())
    assert combining > 0
    assert min(seen[-1]) >= combining / 2
