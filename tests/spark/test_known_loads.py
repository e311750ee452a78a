"""Plans and predictions from the loads of a profile, without a session."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.profiles import HotKey, SampledRows, TaskFigures
from evenkey.groupings import Plan
from evenkey.spark.balancing.expected_gain import expected_gain
from evenkey.spark.balancing.known_files import plan_of_files
from evenkey.spark.balancing.known_groups import plan_of_groups
from evenkey.spark.balancing.known_joins import KnownJoin
from evenkey.spark.balancing.outdated import late, outdated
from evenkey.spark.balancing.planned_calls import PlannedCall, partitions_of
from evenkey.spark.balancing.rerouted_calls import ReroutedCalls
from evenkey.spark.balancing.stage_tasks import StageTasks
from evenkey.spark.intercepted.intercepted_call import InterceptedCall, Repartitioned
from evenkey.spark.plans.known_loads import KnownLoads

HOT = (300.0, 200.0, 100.0)
KEYS = (2**63 + 5, 11, 2**40)


def sampled(rows=1000.0, hot=HOT, keys=KEYS):
    return SampledRows(rows, tuple(HotKey(*each) for each in zip(keys, hot, strict=True)))


def loads(*inputs, runs=1.0):
    return KnownLoads.of(inputs or [sampled()], runs)


def test_loads_of_a_run():
    found = loads(sampled(), sampled(rows=500.0, hot=(50.0, 40.0, 30.0)), runs=5)
    assert found.of_keys(np.array(KEYS, np.uint64)).tolist() == [70.0, 48.0, 26.0]
    assert found.of_keys(np.array([12], np.uint64)).tolist() == [0.0]
    assert found.others == pytest.approx(300 - 144)
    assert found.total == pytest.approx(300)
    assert found.in_buckets(64).sum() == pytest.approx(found.others)
    assert (np.diff(found.keys.astype(object)) > 0).all()


def test_keys_that_were_not_recorded_have_a_thousandth_of_the_rows():
    assert loads(sampled(rows=600.0)).others == pytest.approx(0.6)
    assert loads(SampledRows(0.0, ())).total > 0


@pytest.mark.parametrize("workers", [8, 208])
def test_the_hottest_keys_are_in_the_first_tasks(workers):
    plan = plan_of_groups(loads(), workers)
    assert plan.loads.sum() == pytest.approx(1000)
    assert plan.loads[:3].tolist() == pytest.approx(list(HOT), rel=0.5)
    assert (np.diff(plan.loads[:3]) <= 0).all()
    # The 400 rows of all other keys fill the other tasks.
    assert plan.loads[3:].max() <= max(HOT[2], 400 / (workers - 3) + 1)
    assert isinstance(Plan.from_arrays(plan.to_arrays()), Plan)


def test_files_divide_large_values_only():
    plan = plan_of_files(loads(), 4)
    assert plan.loads.sum() == pytest.approx(1000)
    assert plan.loads.max() <= 1.08 * 250 + 1e-6
    assert [plan.spread_of(np.uint64(key)) for key in KEYS] == [2, 1, 1]


def joined(how, left=None, right=None, workers=8):
    return KnownJoin.of(left or loads(), right or loads(SampledRows(100.0, ())), how, workers)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi"])
def test_a_join_of_facts_is_split_over_tasks(how):
    join = joined(how)
    assert join.plan.plan is not None
    assert join.plan.imbalance < 1.1
    # 300 of 1,000 result rows are more than two of eight tasks should have.
    assert join.plan.plan.spread_of(np.uint64(KEYS[0])) in (3, 4)
    # All rows of both sides, and a copy of the other side's only row for each further task.
    assert join.rows.sum() == pytest.approx(1100, abs=20)
    assert 1 <= join.copies < 1.02


def test_rows_of_tasks_include_copies():
    right = loads(SampledRows(1000.0, (HotKey(KEYS[0], 90.0),)))
    join = joined("inner", right=right)
    spread = join.plan.plan.spread_of(np.uint64(KEYS[0]))
    copied = 90 * (spread - 1)
    others = sum(join.plan.plan.spread_of(np.uint64(key)) for key in KEYS[1:])
    assert spread > 1
    # 2 and no 1,998 rows: two keys have one assumed row on the right.
    assert join.rows.sum() == pytest.approx(2000 + copied + others, abs=1e-6)


def test_anti_joins_have_work_too():
    assert joined("anti").plan.plan.loads.sum() > 0


def test_a_join_without_a_key_is_refused():
    with pytest.raises(ConfigurationError, match="cross"):
        joined("cross")


def planned(work, hot=(), others=0.0, copies=1.0):
    work = np.array(work, dtype=np.float64)
    never_made: Any = None
    return PlannedCall(work, work, copies, np.array(hot), others, never_made)


def figures(rows, seconds):
    return TaskFigures("app", 0.0, tuple(rows), tuple(seconds))


def test_partitions_of_a_write():
    frame: Any = None
    call = InterceptedCall("write", "json", (frame,), (("day",),), "", print, print)
    assert partitions_of(call, 200) == 200
    for given, number in (((7, "day"), 7), ((7, ["day"]), 7), (("day",), 200)):
        before = Repartitioned.of(frame, given)
        assert before.columns == ("day",)
        assert partitions_of(replace(call, repartitioned=before), 200) == number


def test_gain_from_task_times():
    gain = expected_gain(planned([30, 20, 30, 20]), figures([70, 10, 10, 10], [7, 1, 1, 1]), 4, 4)
    assert gain.factor == pytest.approx(7 / 3)
    assert gain.seconds(100) == pytest.approx((7, 3))
    assert gain.seconds(50) == pytest.approx((3.5, 1.5))


def test_copies_do_not_make_a_prediction_longer():
    call = planned([50, 50], copies=1.5)
    gain = expected_gain(call, figures([70, 30], [7, 3]), 2, 2)
    assert gain.seconds(150) == pytest.approx((7, 5))


def test_gain_without_task_times():
    one = planned([60, 20, 20], hot=[60.0], others=40.0)
    # Alone in a partition of four, the hot key has 60 rows and a fourth of the other 40.
    gain = expected_gain(one, None, 4, 4)
    assert gain.factor == pytest.approx(70 / 60)
    assert gain.seconds(100) is None
    several = planned([25] * 4, hot=[25.0] * 4, others=1e-9)
    # The expected largest of four partitions with four equal keys at random is 2.125 keys: 4, 36,
    # 48, 144 and 24 of 256 draws, of which the last has one key in each.
    assert 1.6 < expected_gain(several, None, 4, 4).factor < 2.7


def test_unchanged_and_changed_keys():
    rng = np.random.default_rng(3)
    plan = plan_of_groups(loads(), 208).loads
    same = rng.multinomial(100_000, plan / plan.sum()).astype(np.float64)
    assert outdated(plan, same, 16) == ""
    # The same three hot keys, one of them a fifth hotter.
    drifted = plan.copy()
    drifted[0] *= 1.2
    assert outdated(plan, drifted, 16) == ""
    elsewhere = np.roll(plan, 100)
    assert "only 0 % of the rows of hot keys" in outdated(plan, elsewhere, 16)


def test_a_join_that_is_no_longer_balanced():
    same = np.full(208, 10.0)
    hot = same.copy()
    hot[5] = 1000
    reason = outdated(same, hot, 16)
    assert reason.startswith("its rows take ")
    assert outdated(same, same + np.arange(208) % 2, 16) == ""


def test_a_line_compares_prediction_and_measurement():
    plan = planned([30, 20, 30, 20])
    gain = expected_gain(plan, figures([70, 10, 10, 10], [7, 1, 1, 1]), 4, 4)
    calls = ReroutedCalls("join inner by k", plan, gain, 4, 0.0)
    assert calls.line == "join inner by k: 1 call rerouted, predicted 2.3x faster, not measured"
    assert calls.notice == ""
    calls.count, calls.found = 2, StageTasks(np.array([60.0, 40, 60, 40]), 6.5)
    assert calls.line == (
        "join inner by k: 2 calls rerouted, predicted 6.0 s in place of 14.0 s, measured 6.5 s"
    )
    assert calls.notice == ""
    calls.found = StageTasks(calls.found.rows, 12.0)
    assert calls.notice == late(6.0, 12.0) == "it took 2.0x the predicted time"
