"""The distributor continues to balance under impossible times, with a bounded window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey.core.stores import LocalStore
from evenkey.joins import balanced_join
from evenkey.joins.balance.distributor import DynamicDistributor, Window
from evenkey.joins.balance.epoch_log import EpochLog, EpochPlan, SlotRecord
from evenkey.joins.balance.epoch_plans import EpochPlans, first_owners
from evenkey.joins.balance.placement import Placement
from evenkey.joins.balance.work import PartitionWork, items
from evenkey.joins.static.static_store import StaticStore
from evenkey.spark.sessions.task_id import TaskId
from tests.tiers import most_in_soak

WORKERS, PARTITIONS, EPOCHS, SECONDS = 4, 16, 60, 5.0
ORIGIN, FUTURE, PAST = 1.6e9, 4e9, 0.0


@pytest.fixture
def planner(tmp_path):
    store = StaticStore(tmp_path / "static")
    schema = pa.schema([("k", pa.int64())])
    manifest = store.commit(
        store.begin(), {}, partitions=PARTITIONS, partitioning={}, columns={}, schema=schema
    )
    return EpochPlans(
        epochs=LocalStore(tmp_path / "epochs"),
        static=StaticStore(tmp_path / "static"),
        partitions=PARTITIONS,
        workers=WORKERS,
        distributor=DynamicDistributor(load=items),
        event_time=True,
        batch_version=manifest.version,
        shape=manifest.shape,
    )


def run(planner, times_of=lambda _epoch, _slot, began, ended: (began, ended), first=0):
    """Plan epochs of 5 s; one slot has most of the load, another one from epoch 30 on.

    Returns
    -------
    tuple
        The epochs before which partitions moved, and the last plan.
    """
    moves = []
    for epoch in range(first, EPOCHS + 1):
        plan = planner.decide(TaskId("q", epoch, 0))
        if plan.moved:
            moves.append(epoch)
        hot = int(epoch >= 30)
        for slot in range(WORKERS):
            work = {
                partition: (900 if partition % WORKERS == hot else 100, 0.1, 0)
                for partition in range(PARTITIONS)
                if plan.owners[partition] == slot
            }
            began = ORIGIN + SECONDS * epoch
            times = times_of(epoch, slot, began, began + SECONDS)
            planner.log("q").record(epoch, SlotRecord(slot, work, {}, *times))
    return moves, plan


@pytest.fixture
def undisturbed(planner, tmp_path):
    return run(replace(planner, epochs=LocalStore(tmp_path / "undisturbed")))


@pytest.mark.soak
@pytest.mark.parametrize("wrong", [FUTURE, PAST, 253_402_300_799.0])
@pytest.mark.parametrize("epoch", [0, 8])
def test_one_slot_with_a_wrong_clock_changes_nothing(planner, undisturbed, wrong, epoch):
    def times_of(number, slot, began, ended):
        return (min(began, wrong), wrong) if (number, slot) == (epoch, 2) else (began, ended)

    moves, plan = run(planner, times_of)
    assert (moves, plan.clock) == (undisturbed[0], undisturbed[1].clock)


@pytest.mark.soak
@pytest.mark.parametrize("wrong", [FUTURE, PAST, ORIGIN + 1800])
@pytest.mark.parametrize("epoch", [0, 8])
def test_an_epoch_that_is_wrong_as_a_whole_is_got_over(planner, undisturbed, wrong, epoch):
    """Such an epoch looks like a stream that continues at that time, until the next epoch comes."""

    def times_of(number, _, began, ended):
        return (wrong, wrong) if number == epoch else (began, ended)

    moves, plan = run(planner, times_of)
    assert plan.clock == undisturbed[1].clock
    # The stream's skew changes before epoch 30, so partitions move afterwards.
    assert {move for move in moves if move > 30} == {32, 38}
    assert len(plan.window.epochs) <= 7


@pytest.mark.slow(4)
def test_a_previous_plan_with_a_wrong_clock_and_a_long_window_is_fixed(planner, undisturbed):
    window = Window(FUTURE, FUTURE, [(FUTURE, [1.0] * PARTITIONS)] * 3000)
    plan = EpochPlan(
        9, planner.batch_version, first_owners(PARTITIONS, WORKERS), clock=FUTURE, window=window
    )
    planner.log("q").settle(plan)
    moves, plan = run(planner, first=9)
    assert 30 < max(moves) < 40
    assert plan.clock == undisturbed[1].clock
    assert len(plan.window.epochs) <= 7


@pytest.mark.slow(1)
@pytest.mark.parametrize("periods", [0.5, 1])
def test_an_epoch_a_little_behind_does_not_set_the_clock_back(planner, periods):
    """It may be behind by one period; if it is further behind, the clock was wrong."""
    behind = periods * planner.distributor.period + SECONDS
    run(planner, lambda epoch, _, *span: tuple(np.subtract(span, behind * (epoch == 20))))
    before, after, later = (planner.decide(TaskId("q", epoch, 0)).clock for epoch in (20, 21, 22))
    assert before == after == ORIGIN + 20 * SECONDS
    assert later == ORIGIN + 22 * SECONDS


def test_a_gap_is_followed_at_once(planner):
    moves, plan = run(planner, lambda epoch, _, *span: tuple(np.add(span, 1e6 * (epoch > 40))))
    assert plan.clock == ORIGIN + EPOCHS * SECONDS + 1e6
    assert {32, 38} <= set(moves)


@pytest.mark.parametrize("step", [0.0, 1e-6, 0.1, 1e9, -1.0])
def test_the_window_is_bounded_whatever_the_clock_does(step):
    distributor, window, now = DynamicDistributor(load=items), Window(), ORIGIN
    before = Placement((0, 1, 2, 3, 0, 1, 2, 3))
    for _ in range(1000):
        work = PartitionWork(np.arange(8), np.zeros(8))
        window = distributor.take_in(window, work, began=now, now=now)
        window, _ = distributor.look(window, before, 4, now=now, epoch=1)
        if step < 0:
            window = window.moved(step)
        now += step
    assert len(window.epochs) <= 65
    held = sum(sum(loads) for _, loads in window.epochs)
    if step == 0.1:
        assert 28 * 295 <= held <= 28 * 305


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    "kind", most_in_soak(["timestamp", "timestamp_ntz", "double"], 2, slow=["timestamp"])
)
def test_slots_say_what_most_of_their_rows_say(
    session, stream_of_files, run_to_end, tmp_path, kind
):
    number = F.col("id")
    wrong = (
        F.when(number % 50 == 0, FUTURE).when(number % 50 == 1, PAST).when(number % 50 == 2, None)
    )
    time = wrong.when(number % 50 == 3, 253_402_300_799).otherwise(ORIGIN + number / 100)
    if kind == "timestamp":
        time = F.timestamp_seconds(time)
    elif kind == "timestamp_ntz":
        # Times without a zone mean UTC, whatever the session's time zone.
        since = F.make_dt_interval(secs=time.cast("decimal(18, 6)"))
        time = F.lit("1970-01-01").cast("timestamp_ntz") + since
    stream = session.range(3000).select((number % 20).alias("k"), time.alias("time"))
    static = session.range(20).select(number.alias("k"), F.lit("a").alias("v"))
    joined = balanced_join(
        stream_of_files(stream, epochs=1),
        static,
        "k",
        workers=2,
        time="time",
        state=tmp_path / "join",
    )
    assert sum(map(len, run_to_end(joined).values())) == 3000
    (log,) = map(EpochLog, (tmp_path / "join" / "epochs").iterdir())
    records = log.records(0)
    assert len(records) == 2
    for record in records:
        assert (record.began, record.ended) == pytest.approx((ORIGIN, ORIGIN + 30), abs=1)
