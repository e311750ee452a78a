"""The records that slots write about an epoch."""

from __future__ import annotations

from evenkey.joins.balance.epoch_log import EpochLog, EpochPlan, SlotRecord
from evenkey.joins.static.manifest import StaticVersion


def test_a_slots_seconds_are_those_of_its_work_and_of_loading():
    record = SlotRecord(2, {1: (5, 0.5, 9), 3: (7, 0.25, 0)}, {1: 2.0, 8: 4.0})
    assert record.seconds == 6.75
    assert SlotRecord(0, {}, {}).seconds == 0


def test_a_record_is_read_as_it_was_written():
    record = SlotRecord(2, {1: (5, 0.5, 9)}, {1: 2.0}, began=3.0, ended=4.5, distinct=4)
    assert SlotRecord.from_bytes(record.to_bytes()) == record


def test_the_last_plan_before_an_epoch_is_found_over_gaps(tmp_path):
    log = EpochLog(tmp_path)
    assert log.last_plan(9) is None
    for epoch in (2, 4, 9):
        log.settle(EpochPlan(epoch, StaticVersion(1, "made-up"), (0, 1)))
    assert [plan and plan.epoch for plan in map(log.last_plan, (2, 3, 9, 10))] == [None, 2, 4, 9]
