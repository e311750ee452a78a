"""Timers, late rows and expiry of keyed state, against a loop with a dict."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.states.clock_times import micros
from evenkey.spark.states.reserved_columns import SLOT
from evenkey.spark.states.slot_task import SlotTask
from tests.spark.states.driven import CACHE, STATE, Driver, at, some_rows, table_of

SECOND = 1_000_000
GAP, DELAY = 3 * SECOND, SECOND
SESSIONS = pa.schema([("key", pa.int64()), ("n", pa.int64()), ("fired", pa.bool_())])
NO_TIME = STATE.field("timer").type


def sessions(batch):
    """Count the rows of a session, which ends `GAP` after its last row; emit it then."""
    counts = np.bincount(batch.positions, minlength=len(batch.states))
    active = counts > 0
    before = batch.states["n"].fill_null(0).to_numpy()
    ends = active & batch.due
    total = np.where(ends, 0, before) + counts
    times = batch.states["timer"].cast(pa.int64()).to_pylist()
    for position, value in zip(batch.positions, batch.rows["value"].to_pylist(), strict=True):
        times[position] = value + GAP
    gone = ~active & batch.due
    states = pa.table(
        {
            "n": pa.array(total, mask=gone),
            "digest": pa.nulls(len(total), pa.int64()),
            "timer": pa.array(times, mask=gone, type=pa.int64()).cast(NO_TIME),
        }
    )
    done = np.flatnonzero(batch.due)
    keys = batch.states["key"].take(pa.array(done))
    fired = pa.array([True] * len(done))
    return states, pa.Table.from_arrays([keys, pa.array(before[done]), fired], schema=SESSIONS)


def expected_sessions(epochs):
    """The sessions that end in each epoch, from all rows in one loop."""
    states: dict[Any, Any] = {}
    latest, watermark = None, None
    for rows in epochs:
        ended: list[Any] = []
        kept: dict[Any, Any] = {}
        for key, value, time, _ in rows:
            if watermark is None or time >= watermark:
                kept.setdefault(key, []).append((time, value))
        if watermark is not None:
            for key, (count, timer) in [*states.items()]:
                if timer <= watermark:
                    ended.append((key, count, True))
                    del states[key]
        for key, values in kept.items():
            count, _ = states.get(key, (0, None))
            states[key] = (count + len(values), max(values)[1] + GAP)
        times = [row[2] for row in rows]
        latest = max([*times, *([] if latest is None else [latest])])
        watermark = latest - DELAY
        yield Counter(ended)


def timed_rows(random, epoch):
    """Draw rows whose value is their time; some are late."""
    rows = some_rows(random, epoch, count=20, deletes=False)
    late = [2 * SECOND * (random.random() < 0.2) for _ in rows]
    return [
        (key, time - int(back), time - int(back), content)
        for (key, _, time, content), back in zip(rows, late, strict=True)
    ]


def test_timers_of_event_time_fire_once_and_late_rows_are_left_out(tmp_path):
    random = np.random.default_rng(3)
    epochs = [timed_rows(random, epoch) for epoch in range(14)]
    driver = Driver(tmp_path, sessions, timer="timer", results=SESSIONS, delay=DELAY)
    fired, late = 0, 0
    for epoch, expected in enumerate(expected_sessions(epochs)):
        if epoch % 5 == 4:
            driver.restart()
        assert driver.epoch(epoch, epochs[epoch]) == expected, epoch
        fired += expected.total()
        log = driver.plans.log("q")
        late += sum(each.late for each in log.records(driver.decide(epoch)))
    assert fired > 10
    assert late > 5


def once(batch):
    """Remember when a key came first, and emit it five seconds later."""
    timer = batch.states["timer"].cast(pa.int64()).to_pylist()
    now = int(batch.now.timestamp() * SECOND)
    first = [now + 5 * SECOND if each is None else each for each in timer]
    states = pa.table(
        {
            "n": pa.array([1] * len(first)),
            "digest": pa.nulls(len(first), pa.int64()),
            "timer": pa.array(first, mask=batch.due, type=pa.int64()).cast(NO_TIME),
        }
    )
    keys = batch.states["key"].filter(pa.array(batch.due))
    fired = pa.Table.from_arrays(
        [keys, pa.array([1] * len(keys)), pa.array([True] * len(keys))], schema=SESSIONS
    )
    return states, fired


def test_timers_of_processing_time_wait_for_the_clock_of_an_epoch(tmp_path):
    clock = [100.0]
    driver = Driver(
        tmp_path, once, timer="timer", results=SESSIONS, event_time=False, clock=lambda: clock[0]
    )
    keys = [(key, 0, 0, key) for key in range(20)]
    assert driver.epoch(0, keys[:10]) == Counter()
    clock[0] = 104.0
    assert driver.epoch(1, keys[10:11]) == Counter()
    clock[0] = 105.0
    # The clock is in the plan, so an epoch that runs again sees the same time.
    assert driver.decide(2).now == 105 * SECOND
    clock[0] = 200.0
    driver.forget()
    assert driver.epoch(2, []) == Counter({(key, 1, True): 1 for key in range(10)})
    clock[0] = 50.0
    assert driver.decide(3).now == 105 * SECOND


@pytest.mark.parametrize("due", [True, False])
def test_a_slot_without_rows_does_not_hide_that_others_did_not_run(tmp_path, due):
    """Spark stops after a partition with results, if an action needs no more of them."""
    clock = [100.0]
    driver = Driver(
        tmp_path,
        once,
        workers=2,
        timer="timer",
        results=SESSIONS,
        event_time=False,
        clock=lambda: clock[0],
    )
    driver.epoch(0, [(key, 0, 0, key) for key in range(20)])
    clock[0] = 105.0 if due else 101.0
    plan = driver.decide(1)
    (slot, batches, schema), *_ = driver.inputs([], plan)
    fired = driver.slot(1, slot, batches, schema)
    assert bool(fired) == due
    with pytest.raises(RunError, match="has no record of slot 1 in epoch 1"):
        driver.decide(2)
    # The epoch may still run in all partitions.
    driver.epoch(1, [(30, 0, 0, 30)])
    driver.decide(2)


def test_the_function_sees_the_clock_and_nulls_for_keys_without_state(tmp_path):
    seen = []

    def look(batch):
        seen.append(batch)
        return batch.states, None

    driver = Driver(tmp_path, look, partitions=1, workers=1, event_time=False, clock=lambda: 7.5)
    assert driver.epoch(0, [(1, 5, 0, 0), (2, 6, 0, 1), (1, 7, 0, 2)]) == Counter()
    (batch,) = seen
    assert batch.now == at(7.5)
    assert batch.states.column_names == ["key", "n", "digest", "timer"]
    assert [batch.states[name].null_count for name in STATE.names] == [2, 2, 2]
    assert batch.rows.column_names == ["key", "value"]
    assert batch.positions.tolist() in ([0, 0, 1], [0, 1, 1])
    of_rows = batch.states["key"].take(pa.array(batch.positions))
    assert of_rows.to_pylist() == batch.rows["key"].to_pylist()
    # All columns of the state are null, so that no key has a state.
    assert driver.decide(1).sizes == (0,)


def count_rows(batch):
    added = np.bincount(batch.positions, minlength=len(batch.states))
    counts = batch.states["n"].fill_null(0).to_numpy() + added
    nulls = {name: pa.nulls(len(counts), STATE.field(name).type) for name in ("digest", "timer")}
    states = pa.table({"n": pa.array(counts), **nulls})
    results = pa.Table.from_arrays(
        [batch.states["key"], states["n"], pa.array([False] * len(counts))], schema=SESSIONS
    )
    return states, results


@pytest.mark.parametrize(("event_time", "expected"), [(False, [1, 1, 1]), (True, [1, 2, 1])])
def test_a_state_expires_if_it_is_not_written_for_some_time(tmp_path, event_time, expected):
    """Key 1 has rows each 4 seconds, key 2 each 8 seconds; states expire after 6 seconds.

    With event times, the clock is not known in epoch 0, and stands at 4 seconds in epoch 2.
    """
    clock = [0.0]
    driver = Driver(
        tmp_path,
        count_rows,
        partitions=1,
        workers=1,
        results=SESSIONS,
        event_time=event_time,
        expire_after=6 * SECOND,
        clock=lambda: clock[0],
    )
    found = []
    for epoch in range(5):
        clock[0] = 4.0 * epoch
        time = 4 * SECOND * epoch
        keys = [1, 2] if epoch % 2 == 0 else [1]
        rows = [(key, 0, time, 10 * epoch + key) for key in keys]
        found.append({(key, n) for key, n, _ in driver.epoch(epoch, rows)})
    assert [dict(each)[1] for each in found] == [1, 2, 3, 4, 5]
    assert [dict(each)[2] for each in found[::2]] == expected
    assert driver.decide(5).sizes == (2,)


def test_a_batch_without_event_times_may_have_states_that_expire(tmp_path):
    """A batch has no clock."""
    driver = Driver(
        tmp_path, count_rows, results=SESSIONS, event_time=False, expire_after=6 * SECOND
    )
    plan = driver.decide(0)
    rows = table_of([(1, 0, 0, 0), (1, 0, 0, 1), (2, 0, 0, 2)], plan, timed=False)
    rows = rows.append_column(SLOT, pa.array([0, 0, 0], pa.int32()))
    task = SlotTask(driver.function, None, rows.schema, None, CACHE)
    found = [row for batch in task(rows.to_batches()) for row in batch.to_pylist()]
    assert {(row["key"], row["n"]) for row in found} == {(1, 2), (2, 1)}


def test_expired_states_are_deleted_when_their_partition_is_visited(tmp_path):
    clock = [0.0]
    driver = Driver(
        tmp_path,
        count_rows,
        partitions=1,
        workers=1,
        results=SESSIONS,
        event_time=False,
        expire_after=6 * SECOND,
        clock=lambda: clock[0],
    )
    driver.epoch(0, [(key, 0, 0, key) for key in range(50)])
    clock[0] = 10.0
    driver.epoch(1, [(1, 0, 0, 100)])
    assert driver.decide(2).sizes == (1,)
    driver.forget()
    clock[0] = 11.0
    assert driver.epoch(2, [(1, 0, 0, 101), (2, 0, 0, 102)]) == Counter(
        {(1, 2, False): 1, (2, 1, False): 1}
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0 seconds", 0), ("2 weeks", 1209600 * SECOND), ("1 hour 5 MILLISECONDS", 3600005000)],
)
def test_durations(text, expected):
    assert micros("delay", text) == expected


@pytest.mark.parametrize("text", ["", "5", "1 month", "1 hour or so", "-1 hours"])
def test_other_texts_are_no_durations(text):
    with pytest.raises(ConfigurationError, match=r"delay = .*must be a duration"):
        micros("delay", text)
