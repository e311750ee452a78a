"""Slots that sleep in proportion to their work."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import shapely

from evenkey.joins import PartitionJoin, SpatialMatch, leaves_of
from evenkey.papers.publish_subscribe import JoinConfig, run_join
from evenkey.papers.publish_subscribe.join_job import JoinJob
from evenkey.papers.publish_subscribe.session import join_session, local_cluster_master
from evenkey.papers.publish_subscribe.slow_match import SlowJoin, SlowMatch

ROWS = pa.table({"key": [1, 2]})


class Clock:
    """A clock that only work and sleep move."""

    def __init__(self):
        self.worked, self.slept = 0.0, []

    def thread_time(self):
        return self.worked

    def sleep(self, seconds):
        self.slept.append(seconds)


class Worked(PartitionJoin):
    """Takes 2 s to prepare, 3 s for a first table, 5 s for a second, and 7 s until its end."""

    def __init__(self, clock):
        self.clock = clock

    def prepare(self, table, partition):
        self.clock.worked += 2
        return (table, partition)

    def match(self, prepared, rows):
        del prepared
        self.clock.worked += 3
        yield rows
        self.clock.worked += 5
        yield rows.slice(1)
        self.clock.worked += 7


def test_each_step_sleeps_in_proportion_to_its_own_processor_time(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("evenkey.papers.publish_subscribe.slow_match.time", clock)
    slow = SlowJoin(Worked(clock), 10.0)
    prepared: Any = slow.prepare(ROWS, 4)
    assert prepared == (ROWS, 4)
    found = []
    for table in slow.match(None, ROWS):
        found.append(table.num_rows)
        clock.worked += 100  # what follows the join is not slowed
    assert found == [2, 1]
    assert clock.slept == [18, 27, 45, 63]


def test_the_condition_makes_a_slow_join_of_its_pipeline():
    match, fast = SlowMatch(pipeline="rihps", slow_down=3.0), SpatialMatch(pipeline="rihps")
    leaves = leaves_of(shapely.to_wkb([shapely.Point(1, 2)]), "kdb", 1)
    assert match.within_partitions(leaves, ("a",)) == SlowJoin(
        fast.within_partitions(leaves, ("a",)), 3.0
    )
    assert match.to_json() == fast.to_json()  # the static side is the same


def test_only_slots_that_sleep_have_a_join_that_sleeps():
    match, fast = SlowMatch(pipeline="sps"), SpatialMatch(pipeline="sps")
    leaves = leaves_of(shapely.to_wkb([shapely.Point(1, 2)]), "kdb", 1)
    assert match.within_partitions(leaves, ()) == fast.within_partitions(leaves, ())


def test_each_slow_slot_has_an_executor(monkeypatch):
    assert local_cluster_master(16).startswith("local-cluster[16,1,")
    asked: list[Any] = []
    name = "evenkey.papers.publish_subscribe.join_job.join_session"

    def started(_: str | None, **options: Any) -> SimpleNamespace:
        asked.append(options["executors"])
        return SimpleNamespace(_jsparkSession=None)  # a classic session

    monkeypatch.setattr(name, started)
    for slow_down in (1, 1.5):
        JoinJob(JoinConfig(workers=5, slow_down=slow_down)).session()
    assert asked == [None, 5]


@pytest.mark.parametrize("master", ["local-cluster[5,1,1024]", "spark://host:7077"])
def test_only_executors_on_this_machine_get_options_of_java(master, monkeypatch):
    given: list[Any] = []

    def started(_master, settings):
        given.append(settings)
        raise InterruptedError

    monkeypatch.setattr("evenkey.papers.publish_subscribe.session.session", started)
    monkeypatch.setenv("SPARK_HOME", "kept")
    with pytest.raises(InterruptedError):
        join_session(master, executors=5)
    options = given[0].get("spark.executor.extraJavaOptions", "")
    assert ("SerialGC" in options) == master.startswith("local")


@pytest.mark.slow(5)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("pipeline", ["spis", "risps"])
def test_slow_slots_find_the_same_pairs(pipeline):
    config = JoinConfig(
        pipeline=pipeline,
        publications=300,
        subscriptions=60,
        workers=2,
        epochs=2,
        slow_down=3.0,
        load_clock="wall",
        verify=True,
    )
    report = run_join(config)
    assert report.pairs_digest == report.expected_digest
    assert report.matches > 0
