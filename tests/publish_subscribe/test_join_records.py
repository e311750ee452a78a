"""Records of a join's epochs, made from the records of its slots."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import numpy as np
import pytest

from evenkey.joins.balance.epoch_log import EpochLog, EpochPlan, SlotRecord
from evenkey.joins.static.manifest import StaticVersion
from evenkey.papers.publish_subscribe.join_records import JoinRecords
from evenkey.papers.publish_subscribe.join_seen import LoadMeasure
from evenkey.papers.publish_subscribe.report import epochs_of
from evenkey.pipeline.exporters import Exports, History, Parquet, RunInfo
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.run_times import Timeline

RUN = RunInfo("sps", "publications", "sps dynamic-db-stal", 2, 3, LoadMeasure.ITEMS.unit)
PARTITIONS, WORKERS = 4, 2


@pytest.fixture
def log(tmp_path):
    """Write the log of two epochs; partition 2 moves from slot 0 to slot 1 before the second."""
    log = EpochLog(tmp_path / "log")
    version = StaticVersion(0, "made-up")
    log.settle(EpochPlan(0, version, (0, 1, 0, 1)))
    log.record(0, slot(0, {0: (10, 0.5, 4), 2: (20, 0.5, 6)}, {0: 0.1, 2: 0.1}))
    log.record(0, slot(1, {1: (10, 0.25, 2)}, {1: 0.2, 3: 0.1}))
    log.settle(EpochPlan(1, version, (0, 1, 1, 1), 1, (2,), planning_seconds=0.5))
    log.record(1, slot(0, {0: (10, 0.5, 1)}, {}))
    log.record(1, slot(1, {2: (30, 1.5, 3)}, {2: 0.25}))
    return log


def slot(number, work, loaded):
    return SlotRecord(number, work, loaded, distinct=sum(each[0] for each in work.values()) - 1)


def progress(epoch):
    at = datetime.fromtimestamp(100 + epoch, tz=UTC).isoformat()
    durations = {"triggerExecution": 500, "latestOffset": 0}
    rows = {"batchId": epoch, "numInputRows": 38 + epoch}
    source = {"numInputRows": 38, "endOffset": "{}", "latestOffset": None}
    spark = {"timestamp": at, "durationMs": durations, "sources": [source], "stateOperators": []}
    return rows | spark


def recorded(tmp_path, log, *, measure=LoadMeasure.ITEMS, epochs=(0, 1)):
    history = History(tmp_path / "history")
    timeline = Timeline()
    with Recorder(Exports([], RUN, partial(Parquet, history.store)), timeline) as recorder:
        records = JoinRecords(
            recorder,
            log,
            partitions=PARTITIONS,
            workers=WORKERS,
            measure=measure,
            threshold=0.5,
            rejected=lambda: 7,
            history=history,
        )
        for epoch in epochs:
            timeline.take_in([progress(epoch)])
            records.publish([progress(epoch)])
            records.catch_up(epoch)
        recorder.close("finished")
    return [history.record(epoch) for epoch in history.numbers()]


def test_a_join_is_recorded_epoch_by_epoch(tmp_path, log):
    first, last = recorded(tmp_path, log)
    assert (first["loads"], first["epoch_loads"]) == ((30, 10), (30, 10))
    assert (last["loads"], last["epoch_loads"]) == ((40, 40), (10, 30))
    assert [each["mldc"] for each in (first, last)] == [0.5, 0.5]
    assert [each["epoch_max_over_mean"] for each in (first, last)] == [1.5, 1.5]
    assert (last["max_over_mean"], last["stddev_percent"], last["mldc_threshold"]) == (1, 0, 0.5)
    assert last["mldc_seconds"] == pytest.approx(1.5 / 1.0 - 1)
    # One of the 39 publications of the second epoch never reached the join.
    assert [each["epoch_messages"] for each in (first, last)] == [38, 39]
    assert (last["messages"], last["messages_per_second"]) == (77, pytest.approx(77 / 1.5))
    assert [each["epoch_matches"] for each in (first, last)] == [12, 4]
    assert (last["matches"], last["rejected"]) == (16, 7)
    assert [each["epoch_moved_partitions"] for each in (first, last)] == [0, 1]
    assert [each["epoch_static_loads"] for each in (first, last)] == [4, 1]
    assert (last["moved_partitions"], last["static_loads"]) == (1, 5)
    assert last["epoch_redistribution_seconds"] == pytest.approx(0.5 + 0.25)
    assert [each.owners for each in (first, last)] == [(0, 1, 0, 1), (0, 1, 1, 1)]
    assert [each["static_partitions"] for each in (first, last)] == [(2, 2), (1, 3)]
    assert not {"dist_cost", "lag", "state_rows"} & last.figures.keys()
    assert last.hottest == ()


def test_loads_of_seconds_are_in_microseconds(tmp_path, log):
    first, last = recorded(tmp_path, log, measure=LoadMeasure.SECONDS)
    assert LoadMeasure.SECONDS.unit == "microseconds"
    assert (first["epoch_loads"], last["epoch_loads"]) == (
        (1_000_000, 250_000),
        (500_000, 1_500_000),
    )
    assert first["mldc"] == first["mldc_seconds"] == pytest.approx(1.0 / 0.625 - 1)


def test_figures_are_those_of_the_report(tmp_path, log):
    records = recorded(tmp_path, log)
    epochs = epochs_of(log, PARTITIONS, WORKERS)
    assert [each["mldc"] for each in records] == [
        each.max_load_distance(LoadMeasure.ITEMS) for each in epochs
    ]
    items = sum((each.items for each in epochs), np.zeros(WORKERS))
    assert list(records[-1]["loads"]) == items.tolist()


def test_totals_continue_after_the_log_drops_the_first_epochs(tmp_path, log):
    recorded(tmp_path, log, epochs=(0,))
    for name in ("plan-0000000000.json", *log.store.names("epoch=0000000000")):
        log.store.delete(name)
    first, last = recorded(tmp_path, log, epochs=(1,))
    assert (first["messages"], last["messages"]) == (38, 77)
    assert (last["loads"], last["matches"], last["static_loads"]) == ((40, 40), 16, 5)
