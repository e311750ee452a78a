"""The epochs of keyed state without Spark: exact after kills, and after a query was set back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.planners import SLACK
from evenkey.spark.states import slot_task, state_log
from evenkey.spark.states.pieces import name_of
from evenkey.spark.states.state_log import unrecorded
from tests.spark.states.driven import Count, Driver, Killed, MortalStore, some_rows


@pytest.fixture(autouse=True)
def _alive(monkeypatch):
    monkeypatch.setattr(MortalStore, "left", None)
    monkeypatch.setattr(MortalStore, "late", False)
    monkeypatch.setattr("evenkey.spark.states.deciding._LEAST_ROWS", 50)


def drawn(epochs, seed=1, **options):
    random = np.random.default_rng(seed)
    return [some_rows(random, epoch, **options) for epoch in range(epochs)]


@pytest.mark.parametrize("bits", [64, 4])
@pytest.mark.parametrize("attempts", [1, 2])
def test_states_and_results_are_those_of_one_loop(tmp_path, bits, attempts):
    """With 4 bits, most keys share their hash with others."""
    driver, count = Driver(tmp_path, bits=bits), Count()
    for epoch, rows in enumerate(drawn(13)):
        assert driver.epoch(epoch, rows, attempts) == count.epoch(rows), epoch
        if epoch % 4 == 0:
            driver.forget()
            assert driver.states(epoch + 1) == count.states
    assert None in count.states


def requests_of_an_epoch(directory, epochs):
    driver = Driver(directory, partitions=4, workers=2)
    for epoch, rows in enumerate(epochs[:-1]):
        driver.epoch(epoch, rows)
    MortalStore.left = 1 << 30
    driver.epoch(len(epochs) - 1, epochs[-1])
    made = (1 << 30) - MortalStore.left
    MortalStore.left = None
    return made


def test_requests_of_an_epoch_grow_with_what_changes_and_moves(tmp_path):
    driver = Driver(tmp_path, partitions=6, workers=3)
    everything = [(key, 1, 0, key) for key in range(60)]
    for epoch in range(3):
        driver.epoch(epoch, everything)
    for rows, partitions in ((everything, 6), (everything[:1], 1), ([], 0)):
        epoch += 1
        MortalStore.left = 1 << 30
        plan = driver.decide(epoch)
        decided = (1 << 30) - MortalStore.left
        driver.epoch(epoch, rows)
        made = (1 << 30) - MortalStore.left - decided
        MortalStore.left = None
        assert plan.moved == ()
        # The driver of the test decides twice: the second time it finds the plan.
        assert decided == 6 + 3
        assert made - 3 == 3 * 2 + partitions


def check_each_kill(directory, epochs, at, requests, *, late, workers_after=lambda _: {}):
    """Check that a kill at any request of epoch `at` changes nothing.

    `workers_after` returns the numbers of workers that are other after a kill.
    """
    for killed in range(requests + 1):
        driver, count = Driver(directory / str(killed), partitions=4, workers=2), Count()
        for epoch, rows in enumerate(epochs):
            expected = count.epoch(rows)
            MortalStore.late, MortalStore.left = late, killed if epoch == at else None
            while True:
                try:
                    results = driver.epoch(epoch, rows)
                    break
                except Killed:
                    MortalStore.left = None
                    driver.restart(**workers_after(killed))
            MortalStore.left = None
            assert results == expected, (killed, epoch)
        assert driver.states(len(epochs)) == count.states, killed


@pytest.mark.slow(8)
@pytest.mark.parametrize(
    "late",
    [pytest.param(False, marks=pytest.mark.soak(8)), True],
    ids=["before", "after"],
)
def test_a_kill_at_each_request_of_an_epoch_changes_nothing(tmp_path, monkeypatch, late):
    """The epoch moves partitions and writes snapshots, since one is due in each third epoch."""
    monkeypatch.setattr(slot_task, "SNAPSHOT_EVERY", 3)
    monkeypatch.setattr(state_log, "KEPT", 2)
    epochs = drawn(5)
    requests = requests_of_an_epoch(tmp_path / "whole", epochs[:4])
    assert requests > 20
    check_each_kill(tmp_path, epochs, 3, requests, late=late)


@pytest.mark.soak(4)
def test_a_second_kill_in_the_restarted_epoch_changes_nothing(tmp_path):
    epochs = drawn(4)
    random = np.random.default_rng(5)
    for turn in range(15):
        driver, count = Driver(tmp_path / str(turn), partitions=4, workers=2), Count()
        for epoch, rows in enumerate(epochs):
            expected = count.epoch(rows)
            kills = [int(each) for each in random.integers(0, 25, size=3)]
            while True:
                MortalStore.left = kills.pop() if kills else None
                try:
                    results = driver.epoch(epoch, rows)
                    break
                except Killed:
                    MortalStore.left = None
                    driver.restart(workers=int(random.integers(1, 3)))
            MortalStore.left = None
            assert results == expected, (turn, epoch)
        assert driver.states(len(epochs)) == count.states


def test_a_restart_between_two_epochs_changes_nothing(tmp_path):
    driver, count = Driver(tmp_path), Count()
    for epoch, rows in enumerate(drawn(6)):
        driver.restart()
        assert driver.epoch(epoch, rows) == count.epoch(rows)
    assert driver.states(6) == count.states


def test_a_query_that_was_set_back_may_read_other_rows(tmp_path):
    epochs, others, third = drawn(8, seed=1), drawn(8, seed=2), drawn(8, seed=3)
    driver = Driver(tmp_path)
    for epoch, rows in enumerate(epochs):
        driver.epoch(epoch, rows)
    for back, rows_of in ((3, others), (5, third), (4, epochs)):
        driver.restart()
        count = Count()
        before = epochs[:3] if back == 3 else [*epochs[:3], *others[3:back]]
        for rows in before:
            count.epoch(rows)
        for epoch in range(back, 7):
            assert driver.epoch(epoch, rows_of[epoch]) == count.epoch(rows_of[epoch]), epoch
        assert driver.states(7) == count.states


def test_tasks_of_an_earlier_run_change_nothing(tmp_path):
    """A driver is paused in an epoch. Another one runs on, and then the first one wakes up."""
    epochs, others = drawn(6), drawn(6, seed=9)
    driver, count = Driver(tmp_path), Count()
    for epoch in range(3):
        driver.epoch(epoch, epochs[epoch])
        count.epoch(epochs[epoch])
    paused = driver.run
    plan = driver.decide(3)
    driver.restart()
    for epoch in range(3, 6):
        for slot, batches, schema in driver.inputs(others[epoch], plan):
            if epoch == 3:
                driver.slot(3, slot, batches, schema, run=paused)
        assert driver.epoch(epoch, epochs[epoch]) == count.epoch(epochs[epoch])
    assert driver.states(6) == count.states
    driver.run = paused
    with pytest.raises(RunError, match="is used by a later run of this query"):
        driver.decide(4)


def test_a_checkpoint_that_was_restored_after_a_wrong_start_goes_on(tmp_path):
    """A query is set back by mistake, stopped within its first epoch, and then set forward."""
    epochs, others = drawn(6), drawn(6, seed=9)
    driver, count = Driver(tmp_path), Count()
    for epoch in range(5):
        assert driver.epoch(epoch, epochs[epoch]) == count.epoch(epochs[epoch])
    driver.restart()
    plan = driver.decide(4)
    (slot, batches, schema), *_ = driver.inputs(others[4], plan)
    driver.slot(4, slot, batches, schema)
    driver.restart()
    assert driver.epoch(5, epochs[5]) == count.epoch(epochs[5])
    assert driver.states(6) == count.states


def test_what_a_wrong_start_replaced_is_kept_for_the_states_that_go_on(tmp_path, monkeypatch):
    """A query is set back by mistake, runs three epochs, and is set forward to where it was."""
    monkeypatch.setattr(state_log, "KEPT", 6)
    monkeypatch.setattr(slot_task, "SNAPSHOT_EVERY", 1)
    driver, count = Driver(tmp_path), Count()
    everything = [[(key, 1, epoch, key) for key in range(40)] for epoch in range(16)]
    for epoch in range(16):
        if epoch == 8:
            driver.restart()
            for wrong in range(3, 6):
                driver.epoch(wrong, everything[wrong])
            driver.restart()
        rows = everything[epoch][: 40 if epoch < 3 else 1]
        assert driver.epoch(epoch, rows) == count.epoch(rows)
    assert driver.states(16) == count.states


def test_a_slot_whose_task_did_not_run_is_reported(tmp_path):
    driver = Driver(tmp_path, workers=2)
    plan = driver.decide(0)
    (slot, batches, schema), *_ = driver.inputs(drawn(1)[0], plan)
    driver.slot(0, slot, batches, schema)
    with pytest.raises(RunError, match="has no record of slot 1 in epoch 0"):
        driver.decide(1)


def test_an_epoch_without_tasks_keeps_the_states(tmp_path):
    driver, count = Driver(tmp_path), Count()
    rows = drawn(3)
    driver.epoch(0, rows[0])
    count.epoch(rows[0])
    driver.decide(1)
    assert driver.epoch(2, rows[2]) == count.epoch(rows[2])
    driver.decide(3)
    driver.restart()
    assert driver.states(4) == count.states


def check_needed(log, epochs):
    """Check that of all earlier epochs only pieces are left, and only those that are needed.

    A piece that an epoch needs no more is deleted one epoch later.
    """
    (generation,) = (log.generation(number) for number in log.generations()[-1:])
    needed = set()
    for epoch in epochs:
        plan = log._in_force(generation, epoch)
        for partition, head in enumerate(plan.heads):
            if head is not None:
                _, chain = log.pieces.chain(head, partition)
                needed |= {name_of(version, partition) for version in chain}
        if epoch == epochs[0]:
            needed |= {name_of(*each) for each in plan.dropped}
    old = [name for name in log._names("epochs") if int(name.split("/")[1]) < epochs[0]]
    assert old
    assert set(old) <= needed


def test_old_objects_are_deleted_and_the_query_can_still_be_set_back(tmp_path, monkeypatch):
    monkeypatch.setattr(state_log, "KEPT", 4)
    epochs, others = drawn(40, count=20), drawn(40, seed=2, count=20)
    driver, counts = Driver(tmp_path), [Count()]
    sizes = []
    for epoch, rows in enumerate(epochs):
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
    assert driver.states(37) == counts[37].states
    assert driver.epoch(37, others[37]) == counts[37].epoch(others[37])


@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_a_query_that_is_set_back_too_far_is_refused(tmp_path, monkeypatch, epoch):
    """The first plan of a run is kept with the run, and the states after it are deleted."""
    monkeypatch.setattr(state_log, "KEPT", 2)
    driver = Driver(tmp_path)
    for number, rows in enumerate(drawn(8)):
        if number == 3:
            driver.restart()
        driver.epoch(number, rows)
    driver.restart()
    with pytest.raises(RunError, match=f"has no plan of epoch {epoch} or {epoch - 1}"):
        driver.decide(epoch)


def test_records_of_an_epoch_stay_while_its_plan_cannot_be_deleted(tmp_path, monkeypatch):
    """Otherwise it would look like an epoch without rows."""
    monkeypatch.setattr(state_log, "KEPT", 2)

    class Sticky(MortalStore):
        def delete(self, name):
            if "/plan-" in name:
                raise OSError
            super().delete(name)

    driver = Driver(tmp_path)
    driver.plans = replace(driver.plans, root=Sticky(tmp_path))
    for number, rows in enumerate(drawn(6)):
        driver.epoch(number, rows)
    log = driver.plans.log("q")
    generation = log.generation(1)
    assert generation is not None
    for plan in log.plans(generation, *range(6)):
        assert plan is not None
        assert not unrecorded(plan, log.records(plan))


def test_partitions_move_to_balance_and_only_these_are_loaded(tmp_path):
    driver = Driver(tmp_path, partitions=16, workers=4)
    rows = [[(key, 1, epoch, key) for key in range(400)] for epoch in range(5)]
    # From epoch 2 on, the keys of the partitions of slot 0 have most rows.
    driver.epoch(0, rows[0])
    driver.epoch(1, rows[1])
    owners = driver.decide(2).owners
    hot = [row for row in rows[2] if driver_partition(row[0]) % 4 == 0]
    skewed = rows[2] + [(k, v, t, c + 1000 * n) for n in range(1, 9) for k, v, t, c in hot]
    driver.epoch(2, skewed)
    plan = driver.decide(3)
    assert 0 < len(plan.moved) <= 6
    loads = np.bincount([driver_partition(row[0]) for row in skewed], minlength=16)
    before, after = (np.bincount(each, loads).max() for each in (owners, plan.owners))
    assert before > 1.5 * loads.sum() / 4
    assert after <= (1 + SLACK) * loads.sum() / 4
    driver.epoch(3, rows[3])
    log = driver.plans.log("q")
    loaded = {p for record in log.records(plan) for p in record.loaded}
    assert loaded == set(plan.moved)


def driver_partition(key, partitions=16):
    from tests.spark.states.driven import hashes_of

    return int(np.mod(hashes_of([key])[0], partitions))


def test_a_state_that_was_lost_is_reported(tmp_path):
    driver = Driver(tmp_path)
    driver.epoch(0, drawn(1)[0])
    driver.restart()
    driver.plans.root.clear()
    with pytest.raises(ConfigurationError, match="has no states of this query, which has 1 epochs"):
        driver.decide(1)
    driver.epoch(0, drawn(1)[0])
    driver.restart()
    with pytest.raises(RunError, match="has no plan of epoch 3 or 2"):
        driver.decide(3)


def test_corrupt_states_are_reported(tmp_path):
    driver = Driver(tmp_path, partitions=1, workers=1)
    driver.epoch(0, drawn(1)[0])
    driver.forget()
    (piece,) = tmp_path.glob("queries/q/epochs/*/pieces/*/*.arrow")
    piece.write_bytes(piece.read_bytes()[:-40])
    with pytest.raises(RunError, match=r"p00000.arrow cannot be read .*cut short or changed"):
        driver.epoch(1, drawn(1)[0])
    piece.unlink()
    with pytest.raises(RunError, match=r"p00000.arrow are missing: restore them"):
        driver.epoch(1, drawn(1)[0])


def test_two_calls_with_one_state_are_refused(tmp_path):
    driver = Driver(tmp_path)
    driver.epoch(0, drawn(1)[0])
    other = driver.plans.__class__(**{**vars(driver.plans), "operator": "another"})
    from evenkey.spark.sessions import TaskId

    with pytest.raises(ConfigurationError, match="is used by two calls of stateful in epoch 0"):
        other.decide(TaskId("q", 0, 0), driver.run)


def test_rows_of_another_slot_are_refused(tmp_path):
    driver = Driver(tmp_path, workers=2)
    plan = driver.decide(0)
    (_, batches, schema), _ = driver.inputs(drawn(1)[0], plan)
    with pytest.raises(RunError, match="the task of slot 1 got rows of slot 0"):
        driver.slot(0, 1, batches, schema)
    # Behind a union, Spark numbers the tasks on from those of the other rows.
    with pytest.raises(RunError, match="there is a task of slot 2, and the slots are 2"):
        driver.slot(0, 2, [], schema)
