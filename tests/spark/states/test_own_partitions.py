"""Hot keys have partitions of their own: balanced where their hashes collide, and exact."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from evenkey.spark.states import deciding, own_partitions, slot_task, state_log
from evenkey.spark.states.own_partitions import COLD, HOT, chosen
from tests.spark.states.driven import (
    Count,
    Driver,
    MortalStore,
    folded,
    hashes_of,
    some_rows,
)
from tests.spark.states.test_epochs import check_each_kill, check_needed
from tests.spark.states.test_partial_states import merged, summed, sums
from tests.spark.states.test_timers import SESSIONS, sessions

SECOND = 1_000_000


@pytest.fixture(autouse=True)
def _alive(monkeypatch):
    monkeypatch.setattr(MortalStore, "left", None)
    monkeypatch.setattr(MortalStore, "late", False)
    monkeypatch.setattr(deciding, "_LEAST_ROWS", 30)


def colliding(count, partitions=16, *, start=1000):
    """Return keys whose hashes are in one partition."""
    keys = range(start, start + 100 * partitions * count)
    found = np.mod(hashes_of(keys), partitions)
    return [key for key, partition in zip(keys, found, strict=True) if partition == 1][:count]


def rows_of(counts, epoch):
    """Return rows with the given number of rows of each key."""
    keys = [key for key, count in counts.items() for _ in range(count)]
    return [(key, n % 100, epoch * SECOND + n, n) for n, key in enumerate(keys)]


def loads_of(driver, epoch):
    """Return the rows of each worker in an epoch."""
    plan = driver.decide(epoch)
    loads = np.zeros(plan.workers)
    for record in driver.plans.log("q").records(plan):
        loads[record.slot] += sum(work.received for work in record.work.values())
    return loads


def drifting(epochs, *, hot, other=60, every=3):
    """Return the rows of each key in each epoch: two keys are hot, in turn of `hot`."""
    for epoch in range(epochs):
        pair = hot[epoch // every % len(hot)]
        yield {**dict.fromkeys(range(other), 1), **dict.fromkeys(pair, other)}


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=12).map(tuple),
    st.dictionaries(st.integers(0, 30), st.floats(0, 10), max_size=20),
)
def test_hot_keys_keep_their_partitions_and_cold_ones_give_them_up(own, loads):
    own = tuple(key if key not in own[:at] else None for at, key in enumerate(own))
    mean = sum(loads.values()) / 4
    found = chosen(own, loads, mean)
    keys = [key for key in found if key is not None]
    assert len(keys) == len({*keys})
    assert {key for key in loads if loads[key] > HOT * mean} <= {*keys}
    assert all(loads[key] >= COLD * mean for key in keys)
    assert len(keys) <= 4 / COLD
    for key, after in zip(own, found, strict=False):
        # A partition that is given up now is not used now.
        assert key is None or after in (key, None)
    given_up = [at for at, key in enumerate(own) if key is not None and key not in keys]
    assert all(at < len(found) for at in given_up)


@pytest.mark.parametrize("balance", ["rows", "load"])
def test_hot_keys_whose_hashes_collide_are_apart_after_one_epoch(tmp_path, monkeypatch, balance):
    """Each pair has 0.8 of a worker's share twice, so one partition would have 1.6 of it."""
    # The seconds of a partition are those of its rows, so that the test does not depend on time.
    ticks = [0.0]
    monkeypatch.setattr(slot_task, "thread_time", lambda: ticks[0])
    hot = [colliding(2), colliding(4)[2:]]
    driver, count = Driver(tmp_path, partitions=16, workers=4), Count()

    def timed(batch):
        ticks[0] += len(batch.rows) / 1000
        return folded(batch)

    driver.function = replace(driver.function, function=timed)
    driver.plans = replace(driver.plans, by_rows=balance == "rows")
    worst, objects = [], []
    for epoch in range(12):
        pair = hot[epoch // 4 % 2]
        counts = {**dict.fromkeys(range(480), 2), **dict.fromkeys(pair, 320)}
        rows = rows_of(counts, epoch)
        before = len(driver.plans.root.names())
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        objects.append(len(driver.plans.root.names()) - before)
        loads = loads_of(driver, epoch)
        worst.append(loads.max() / max(loads.mean(), 320))
    assert driver.states(12) == count.states
    shown = [each for epoch, each in enumerate(worst) if epoch % 4]
    assert min(worst[4], worst[8]) > 1.15
    assert max(shown) < (1.05 if balance == "rows" else 1.15)
    # Partitions, a plan, and the records of four slots.
    assert max(objects[1:]) <= 16 + 2 + 1 + 4


def test_one_hot_key_gets_a_partition_once(tmp_path):
    driver, key = Driver(tmp_path, partitions=16, workers=4), colliding(1)[0]
    regrouped = []
    for epoch in range(8):
        counts = {**dict.fromkeys(range(100), 1), key: 900 + 10 * (epoch % 3)}
        driver.epoch(epoch, rows_of(counts, epoch))
        regrouped.append(driver.decide(epoch).regrouped)
    partition = int(np.mod(hashes_of([key])[0], 16))
    hashed = int(hashes_of([key])[0])
    assert regrouped == [(), ((hashed, partition, 16),), *[()] * 6]


def test_a_small_epoch_without_a_hot_key_changes_nothing(tmp_path, monkeypatch):
    """Loads are those of all epochs since partitions were considered, also the loads of keys."""
    monkeypatch.setattr(deciding, "_LEAST_ROWS", 700)
    driver, (hot, cold) = Driver(tmp_path, partitions=16, workers=4), colliding(2)
    with_hot = {**dict.fromkeys(range(100), 1), hot: 200}
    epochs = 2 * [with_hot, with_hot, {**dict.fromkeys(range(99), 1), cold: 1}]
    own = []
    for epoch, counts in enumerate(epochs):
        driver.epoch(epoch, rows_of(counts, epoch))
        own.append([*driver.decide(epoch + 1).own_partitions])
    assert own == [[], [], *4 * [[int(hashes_of([hot])[0])]]]
    assert driver.decide(6).of_keys == ()


def test_a_key_with_few_costly_rows_keeps_its_partition(tmp_path, monkeypatch):
    """More than 64 keys of its worker have more rows."""
    ticks = [0.0]
    monkeypatch.setattr(slot_task, "thread_time", lambda: ticks[0])
    driver, key = Driver(tmp_path, partitions=16, workers=4), colliding(1)[0]

    def timed(batch):
        ticks[0] += 14 if key in batch.states["key"].to_pylist() else 4
        return folded(batch)

    driver.function = replace(driver.function, function=timed)
    driver.plans = replace(driver.plans, by_rows=False)
    for epoch, rows in enumerate((800, 1, 1, 1)):
        counts = {**dict.fromkeys(range(1600), 2), key: rows}
        driver.epoch(epoch, rows_of(counts, epoch))
        assert [*driver.decide(epoch + 1).own_partitions] == [int(hashes_of([key])[0])], epoch


def test_the_number_of_partitions_is_bounded(tmp_path):
    """In each epoch other keys are hot, and all of them are hot enough for a partition."""
    driver, count = Driver(tmp_path, partitions=8, workers=4), Count()
    for epoch in range(10):
        counts = dict.fromkeys(range(5 * epoch, 5 * epoch + 5), 40)
        rows = rows_of(counts, epoch)
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        plan = driver.decide(epoch + 1)
        assert len(plan.own_partitions) == 5
        assert len(plan.own) <= 10
    assert driver.states(10) == count.states


@pytest.mark.parametrize("bits", [64, 3])
def test_states_are_exact_while_hot_keys_change(tmp_path, bits):
    """With 3 bits, a partition of a hot key has all keys with its hash. Key 7 is null."""
    driver, count = Driver(tmp_path, partitions=4, workers=3, bits=bits), Count()
    random, used = np.random.default_rng(3), set()
    for epoch in range(24):
        rows = some_rows(random, epoch, shift=epoch // 3 * 6)
        assert driver.epoch(epoch, rows, attempts=1 + epoch % 2) == count.epoch(rows), epoch
        if epoch % 5 == 4:
            driver.forget()
        used |= {*driver.decide(epoch + 1).own_partitions}
        assert driver.states(epoch + 1) == count.states
    assert len(used) > 3
    assert bits == 3 or int(hashes_of([None])[0]) in used


def requests_in(driver, epoch, rows):
    """Return the number of requests to the store in an epoch."""
    MortalStore.left = 1 << 30
    driver.epoch(epoch, rows)
    made = (1 << 30) - MortalStore.left
    MortalStore.left = None
    return made


@pytest.mark.slow(8)
@pytest.mark.parametrize(
    "late",
    [pytest.param(False, marks=pytest.mark.soak(8)), True],
    ids=["before", "after"],
)
def test_a_kill_at_each_request_changes_nothing(tmp_path, monkeypatch, late):
    """In the killed epoch a key gives up its partition, and another one gets one."""
    monkeypatch.setattr(state_log, "KEPT", 2)
    hot = [colliding(2, 4), colliding(4, 4)[1:3]]
    epochs = [rows_of(counts, epoch) for epoch, counts in enumerate(drifting(6, hot=hot, other=20))]
    driver = Driver(tmp_path / "whole", partitions=4, workers=2)
    for epoch, rows in enumerate(epochs[:4]):
        driver.epoch(epoch, rows)
    requests = requests_in(driver, 4, epochs[4])
    assert sorted(at >= 4 for _, _, at in driver.decide(4).regrouped) == [False, True]
    assert requests > 20
    check_each_kill(
        tmp_path,
        epochs,
        4,
        requests,
        late=late,
        workers_after=lambda killed: {"workers": 2 + killed % 2, "most_workers": 3},
    )


def test_an_epoch_without_tasks_leaves_the_keys_where_they_are(tmp_path):
    driver, count = Driver(tmp_path, partitions=4, workers=2), Count()
    hot, epoch, changes = [colliding(2, 4), colliding(4, 4)[1:3]], 0, 0
    for counts in drifting(12, hot=hot, other=20):
        rows = rows_of(counts, epoch)
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        waiting = driver.decide(epoch + 1).regrouped
        driver.restart()
        again = driver.decide(epoch + 2)
        assert again.regrouped == waiting
        assert driver.states(epoch + 2) == count.states
        changes += bool(waiting)
        epoch += 2
    assert changes >= 4


def test_a_query_can_be_set_back_to_other_hot_keys_and_old_objects_are_deleted(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(state_log, "KEPT", 4)
    monkeypatch.setattr(slot_task, "SNAPSHOT_EVERY", 5)
    driver, counts, sizes = Driver(tmp_path), [Count()], []
    hot = [colliding(2, 8), colliding(4, 8)[1:3], colliding(6, 8)[4:]]
    epochs = [rows_of(each, at) for at, each in enumerate(drifting(41, hot=hot, other=20, every=2))]
    for epoch, rows in enumerate(epochs[:40]):
        if epoch % 9 == 8:
            driver.restart()
        count = Count()
        count.states = dict(counts[-1].states)
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        counts.append(count)
        sizes.append(len(driver.plans.root.names()))
    assert max(sizes[20:]) < 1.3 * max(sizes[10:20])
    check_needed(driver.plans.log("q"), range(40 - 4, 40))
    driver.restart()
    for epoch in (37, 38, 39):
        assert driver.states(epoch) == counts[epoch].states
        assert driver.epoch(epoch, epochs[epoch + 1]) == counts[epoch].epoch(epochs[epoch + 1])
        counts[epoch + 1] = counts[epoch]


def test_a_plan_of_an_earlier_version_is_continued(tmp_path):
    """It stores the first plan of a run once, and names no partitions of hot keys, nor hot keys."""
    driver, count = Driver(tmp_path, partitions=4, workers=2), Count()
    epochs = [rows_of(each, at) for at, each in enumerate(drifting(6, hot=[colliding(2, 4)]))]
    assert driver.epoch(0, epochs[0]) == count.epoch(epochs[0])
    changed = 0
    for name in driver.plans.root.names("queries/q"):
        if "/plan-" in name:
            driver.plans.root.delete(name)
        elif name.endswith(".json"):
            content = json.loads(driver.plans.root.read(name))
            for fields in (content, content.get("first", {})):
                changed += len(
                    [fields.pop(each) for each in ("own", "regrouped") if each in fields]
                )
                if "hottest" in fields:
                    fields["hottest"] = []
            driver.plans.root.put(name, json.dumps(content).encode())
    assert changed == 2
    driver.restart()
    assert driver.decide(1).own == ()
    for epoch in range(1, 6):
        assert driver.epoch(epoch, epochs[epoch]) == count.epoch(epochs[epoch])
    assert len(driver.decide(6).own_partitions) == 2
    assert driver.states(6) == count.states


def test_other_numbers_of_workers(tmp_path):
    """A key that is hot among four workers is not among two, and keeps its partition there."""
    driver, count = Driver(tmp_path, partitions=8, workers=4, most_workers=4), Count()
    # 66 rows: 0.52 of the share of one of four workers, 0.26 of that of one of two.
    counts = {**dict.fromkeys(range(221), 2), **dict.fromkeys(colliding(1, 8), 66)}
    seen = []
    for epoch, workers in enumerate((4, 4, 2, 2, 1, 1, 4, 4)):
        driver.plans.root.put("workers", b"%d" % workers)
        rows = rows_of(counts, epoch)
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        plan = driver.decide(epoch)
        assert max(plan.owners) < workers
        seen.append(len(plan.own_partitions))
    assert seen == [0, 1, 1, 1, 0, 0, 1, 1]
    assert driver.states(8) == count.states


def test_a_single_worker_needs_no_partitions_of_hot_keys(tmp_path):
    driver, count = Driver(tmp_path, partitions=4, workers=1), Count()
    for epoch in range(3):
        rows = rows_of({**dict.fromkeys(range(40), 1), **dict.fromkeys(colliding(1, 4), 60)}, epoch)
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        assert driver.decide(epoch).own == ()


def test_a_query_may_merge_no_more_after_a_restart(tmp_path, monkeypatch):
    """The key that was combined is combined no more, also in an epoch that runs again."""
    key = colliding(1, 4)[0]
    counts = {**dict.fromkeys(range(100), 1), key: 300}
    driver = Driver(tmp_path, summed, merge=merged, partitions=4, workers=2)
    driver.epoch(0, rows_of(counts, 0))
    assert driver.decide(1).hot == (int(hashes_of([key])[0]),)
    monkeypatch.setattr(deciding, "_LEAST_ROWS", 1000)
    driver = Driver(tmp_path, summed, partitions=4, workers=2)
    for epoch in (1, 2, 3):
        assert driver.decide(epoch).hot == ()
        driver.epoch(epoch, rows_of(counts, epoch))
        received = loads_of(driver, epoch)
        assert received.sum() == 400
    plan = driver.decide(4)
    assert [*plan.own_partitions] == [int(hashes_of([key])[0])]
    assert driver.states(4)[key][0] == 1200


def test_a_query_may_merge_after_a_restart(tmp_path):
    """Then its hot keys are combined, and need no partitions."""
    hot = [colliding(2, 4)]
    epochs = [rows_of(each, at) for at, each in enumerate(drifting(6, hot=hot))]
    driver = Driver(tmp_path, summed, partitions=4, workers=2)
    merging = Driver(tmp_path, summed, merge=merged, partitions=4, workers=2)
    own = []
    for epoch, expected in enumerate(sums(epochs)):
        running = merging if epoch > 2 else driver
        if epoch == 3:
            merging.restart()
        assert running.epoch(epoch, epochs[epoch]) == expected, epoch
        own.append(len(running.decide(epoch).own_partitions))
    assert own == [0, 2, 2, 0, 0, 0]


def session_rows(counts, epoch):
    """Return rows whose value is their time, as `sessions` needs them."""
    return [(key, time, time, n) for key, _, time, n in rows_of(counts, 2 * epoch)]


def test_timers_of_keys_that_change_their_partition_fire_once(tmp_path):
    """Each hot key is last seen before its timer is due: in its own partition, or back again."""
    driver = Driver(tmp_path, sessions, partitions=4, workers=2, timer="timer", results=SESSIONS)
    hot = colliding(6, 4)
    seen: dict[Any, int] = {}
    fired: Counter[Any] = Counter()
    for epoch in range(16):
        # Each key is hot in two epochs. Its session ends three seconds later, in the next but one.
        key = hot[epoch // 2 % 6] if epoch < 12 else 0
        counts = {**dict.fromkeys(range(20), 1), key: 60}
        found = driver.epoch(epoch, session_rows(counts, epoch))
        fired += Counter({row[0]: row[1] * n for row, n in found.items()})
        seen[key] = epoch
    assert {key: fired[key] for key in hot} == dict.fromkeys(hot, 120)
    assert len(driver.decide(12).own_partitions) <= 1


@pytest.mark.parametrize("expires", [True, False])
def test_the_time_at_which_a_state_was_written_goes_with_it(tmp_path, expires):
    """A key comes to a partition of its own, is cold, and comes back before or after its expiry."""
    clock = [0.0]
    driver = Driver(
        tmp_path,
        summed,
        partitions=4,
        workers=2,
        event_time=False,
        clock=lambda: clock[0],
        expire_after=20 * SECOND,
    )
    key = colliding(1, 4)[0]
    for epoch in range(5):
        clock[0] = 5.0 * epoch
        counts = dict.fromkeys(range(40), 2)
        driver.epoch(epoch, rows_of({**counts, key: 60} if epoch < 2 else counts, epoch))
        assert (hashes_of([key])[0] in driver.decide(epoch).own) == (epoch in (1, 2))
    # It was last written at 5 seconds.
    clock[0] = 26.0 if expires else 24.0
    found = driver.epoch(5, rows_of({key: 1}, 5))
    assert [row[1] for row in found] == [1 if expires else 121]


def test_without_these_partitions_hot_keys_that_collide_stay_together(tmp_path, monkeypatch):
    monkeypatch.setattr(own_partitions, "HOT", 100.0)
    driver = Driver(tmp_path, partitions=16, workers=4)
    counts = {**dict.fromkeys(range(480), 2), **dict.fromkeys(colliding(2), 320)}
    for epoch in range(3):
        driver.epoch(epoch, rows_of(counts, epoch))
    loads = loads_of(driver, 2)
    assert loads.max() / loads.mean() > 1.5
