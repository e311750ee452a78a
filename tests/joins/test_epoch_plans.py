"""Each epoch has one plan, which all tasks share and which a restart finds again."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evenkey.core.errors import RunError
from evenkey.core.stores import LocalStore
from evenkey.joins.balance.distributor import DynamicDistributor
from evenkey.joins.balance.epoch_log import SlotRecord
from evenkey.joins.balance.epoch_plans import COUNTS, DecideTask, EpochPlans, first_owners
from evenkey.joins.balance.work import PartitionWork
from evenkey.joins.static.static_store import StaticStore
from evenkey.spark.plans.packed_plan import pack_places
from evenkey.spark.sessions.task_id import BATCH, TaskId


def add_version(directory, partitions=8):
    store = StaticStore(directory)
    schema = pa.schema([("k", pa.int64())])
    return store.commit(
        store.begin(),
        {},
        partitions=partitions,
        partitioning={},
        columns={"k": "bigint"},
        schema=schema,
    )


@pytest.fixture
def planner(tmp_path):
    manifest = add_version(tmp_path / "static")
    return EpochPlans(
        epochs=LocalStore(tmp_path / "epochs"),
        static=StaticStore(tmp_path / "static"),
        partitions=8,
        workers=4,
        distributor=DynamicDistributor(copies=False),
        event_time=True,
        batch_version=manifest.version,
        shape=manifest.shape,
    )


def task(epoch, query="q"):
    return TaskId(query, epoch, 0)


def work_skewed(planner, epoch, ended):
    """Record an epoch in which the two partitions of slot 0 have almost all work."""
    for slot in range(4):
        amount = 1000 if slot == 0 else 10
        work = {slot: (amount, amount / 1e3, 5), slot + 4: (amount, amount / 1e3, 5)}
        record = SlotRecord(slot, work, {}, began=ended - 12, ended=ended)
        planner.log("q").record(epoch, record)


def test_the_first_plan_deals_partitions_by_turn(planner):
    plan = planner.decide(task(0))
    assert plan.owners == first_owners(8, 4) == (0, 1, 2, 3, 0, 1, 2, 3)
    assert (plan.version.number, plan.redistributions, plan.moved, plan.clock) == (1, 0, (), None)


def test_partitions_move_after_a_skewed_epoch_and_stay_after_a_restart(planner):
    planner.decide(task(0))
    work_skewed(planner, 0, ended=112.0)
    plan = planner.decide(task(1))
    assert plan.redistributions == 1
    assert plan.owners[0] != plan.owners[4]
    assert set(plan.moved) == {p for p in range(8) if plan.owners[p] != p % 4}
    assert plan.clock == 112.0
    # A restart finds the plan, although more records were written since.
    work_skewed(planner, 0, ended=500.0)
    again = replace(planner, distributor=None)
    assert again.decide(task(1)) == plan
    # The next epoch ends too soon after the redistribution for another one.
    work_skewed(planner, 1, ended=124.0)
    assert planner.decide(task(2)).owners == plan.owners


def test_static_modes_plan_but_move_nothing(planner):
    still = replace(planner, distributor=None)
    still.decide(task(0))
    work_skewed(still, 0, ended=112.0)
    assert still.decide(task(1)).owners == first_owners(8, 4)


def test_a_new_version_applies_from_the_next_epoch_on(planner):
    assert planner.decide(task(0)).version.number == 1
    add_version(planner.static.url)
    assert planner.decide(task(0)).version.number == 1
    assert planner.decide(task(1)).version.number == 2


def test_a_directory_made_anew_has_plans_of_its_own(planner):
    old = planner.decide(task(0)).version
    shutil.rmtree(planner.epochs.url)
    shutil.rmtree(planner.static.url)
    add_version(planner.static.url)
    new = planner.decide(task(0)).version
    assert (new.number, old.number) == (1, 1)
    assert new != old


def test_a_directory_created_again_for_another_join_is_reported(planner):
    planner.decide(task(0))
    shutil.rmtree(planner.static.url)
    add_version(planner.static.url, partitions=4)
    with pytest.raises(RunError, match="created again for another join"):
        planner.decide(task(1))


def test_items_are_counted_since_the_stream_began_and_a_restart_keeps_the_count(planner):
    planner.decide(task(0))
    for epoch, items in enumerate((300, 40, 700)):
        record = SlotRecord(0, {0: (items, 0.1, 0)}, {}, 100.0 * epoch, 100.0 * epoch + 99)
        planner.log("q").record(epoch, record)
        # A different process plans each epoch.
        again = replace(planner)
        assert again.decide(task(epoch + 1)).window.items == (300, 340, 1040)[epoch]
    assert planner.decide(task(3)).redistributions == 0
    assert len(planner.decide(task(3)).window.epochs) == 1


def test_tasks_that_plan_at_once_agree(planner):
    with ThreadPoolExecutor(8) as pool:
        plans = list(pool.map(lambda _: planner.decide(task(0)), range(32)))
    assert all(plan == plans[0] for plan in plans)
    assert len(list((Path(planner.epochs.url) / "q").iterdir())) == 1


def test_queries_have_plans_of_their_own_and_batches_have_none(planner):
    planner.decide(task(0))
    planner.decide(task(0, "other"))
    assert planner.decide(task(0, "batch")).version == planner.batch_version
    assert sorted(path.name for path in Path(planner.epochs.url).iterdir()) == ["other", "q"]


def test_processing_time_is_the_clock_where_there_is_no_event_time(planner):
    timeless = replace(planner, event_time=False)
    first = timeless.decide(task(0))
    timeless.log("q").record(0, SlotRecord(0, {0: (5, 0.1, 0)}, {}))
    assert timeless.decide(task(1)).clock > first.clock > 1.6e9


def test_old_plans_are_forgotten(planner, monkeypatch):
    monkeypatch.setattr("evenkey.joins.balance.epoch_log.KEPT", 2)
    for epoch in range(5):
        planner.decide(task(epoch))
        work_skewed(planner, epoch, ended=12.0 * (epoch + 1))
    assert planner.log("q").epochs() == [3, 4]
    assert planner.log("q").plan(2) is None


def test_a_damaged_plan_is_reported(planner):
    planner.decide(task(0))
    (Path(planner.epochs.url) / "q" / "plan-0000000000.json").write_text("[")
    with pytest.raises(RunError, match="plan-0000000000"):
        planner.decide(task(0))


@pytest.mark.parametrize("workers", [2, 8])
def test_a_restart_with_other_workers_deals_partitions_anew(planner, workers):
    planner.decide(task(0))
    work_skewed(planner, 0, ended=112.0)
    moved = planner.decide(task(1))
    again = replace(planner, workers=workers, distributor=None)
    # The repeated epoch follows its plan; owners that no longer exist are taken modulo the workers.
    assert again.decide(task(1)).owners == tuple(owner % workers for owner in moved.owners)
    assert again.decide(task(1)) == again.recall(task(1))
    plan = again.decide(task(2))
    assert plan.owners == first_owners(8, workers)
    assert set(plan.moved) == {p for p in range(8) if moved.owners[p] != p % workers}
    assert again.decide(task(3)).moved == ()


def test_copies_are_made_and_given_up_by_the_epochs_plans(planner):
    """The two partitions of slot 0 have 97 % of the rows, so moving them is not enough."""
    copying = replace(planner, distributor=DynamicDistributor())
    copying.decide(task(0))
    work_skewed(copying, 0, ended=112.0)
    plan = copying.decide(task(1))
    assert [*plan.copies] == [0, 4]
    came = [{*plan.copies[partition]} - {0} for partition in (0, 4)]
    others = {p for p in range(8) if p % 4 and plan.owners[p] != p % 4}
    assert sorted(plan.moved) == sorted([0] * len(came[0]) + [4] * len(came[1]) + [*others])
    assert plan.redistributions == 1
    # A repeated epoch follows its plan, with any distributor and any number of slots.
    assert copying.recall(task(1)) == replace(planner, distributor=None).decide(task(1)) == plan
    fewer = replace(copying, workers=2)
    assert fewer.decide(task(1)).copies == {}
    assert max(fewer.recall(task(1)).owners) < 2
    assert fewer.decide(task(2)).owners == first_owners(8, 2)


def test_who_wants_no_copies_any_more_takes_them_back(planner):
    copying = replace(planner, distributor=DynamicDistributor())
    copying.decide(task(0))
    work_skewed(copying, 0, ended=112.0)
    plan = copying.decide(task(1))
    still = planner.decide(task(2))
    assert (still.owners, still.copies, still.moved) == (plan.owners, {}, ())
    assert still.redistributions == 2


def test_a_batch_is_placed_by_its_counts(planner):
    counting = replace(planner, distributor=DynamicDistributor(), counts=True)
    batch = task(0, BATCH)
    few, many = np.full(8, 10), np.array([0, 0, 0, 6000, 100, 100, 100, 100])
    for counts, copied in ((few, []), (many, [3])):
        plan = counting.decide(batch, PartitionWork(counts, counts.astype(float)))
        assert [*plan.copies] == copied
    # The tasks of a batch do not know the plan, so any partition may be needed anywhere.
    assert counting.recall(batch).serves(2, 3)
    assert not planner.recall(batch).serves(2, 3)


def test_the_deciding_task_of_a_batch_goes_by_its_counts(planner, monkeypatch):
    counting = replace(planner, distributor=DynamicDistributor(), counts=True)
    monkeypatch.setattr(EpochPlans, "task", lambda _: task(0, BATCH))
    rows = [{"partition": 3, "items": 6000, "distinct": 6000}]
    rows += [{"partition": other, "items": 100, "distinct": 90} for other in range(4, 8)]
    counts = pa.RecordBatch.from_arrays([pa.array([rows])], names=[COUNTS])
    (answer,) = DecideTask(counting)([counts])
    (places,) = answer["places"].to_pylist()
    items = np.array([0, 0, 0, 6000, 100, 100, 100, 100])
    plan = counting.decide(task(0, BATCH), PartitionWork(items, items.astype(float), 6360))
    assert [*plan.copies] == [3]
    assert places == pack_places(plan.owners, plan.copies, 4).tolist()
