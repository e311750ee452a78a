"""Times of a run: they are added up in one place, over epochs and processes."""

from __future__ import annotations

import json
import math

from evenkey.pipeline.runs.driving.run_times import Timeline, Timing, stood
from evenkey.pipeline.runs.output.commits import Span
from tests.runs.reports_of_spark import progress


def test_the_makespan_has_all_epochs_and_durations_have_those_with_input():
    timeline = Timeline()
    timeline.take_in([progress(0, 1000, 700, waited=300), progress(1, 1700, 200, rows=0)])
    assert timeline.timing(0) == Timing(700, (400,))
    assert timeline.timing() == Timing(900, (400,))
    timeline.take_in([progress(1, 1700, 200, rows=0), progress(2, 2000, 500)])
    assert timeline.timing() == Timing(1500, (400, 500))
    assert timeline.epoch_ms == {0: 400, 1: 200, 2: 500}


def test_work_before_the_first_epoch_belongs_to_the_process_that_did_it():
    timeline = Timeline({0: (1, Span(0.0, 0.0, 100.0))})
    timeline.preceded_by(50)
    assert timeline.timing() == Timing(100, (100,))
    timeline.take_in([progress(1, 5000, 300)])
    assert timeline.timing() == Timing(100 + 50 + 300, (100, 300))


def test_pauses_between_processes_do_not_count():
    earlier = {
        0: (1, Span(0.0, 0.0, 100.0)),
        1: (1, Span(150.0, 0.0, 50.0, held=False)),
        2: (3, Span(9000.0, 0.0, 200.0)),
    }
    timeline = Timeline(earlier)
    timeline.take_in([progress(3, 50_000, 300)])
    assert [timeline.timing(epoch).makespan_ms for epoch in range(4)] == [100, 200, 400, 700]
    assert timeline.timing().epoch_ms == (100, 200, 300)
    assert timeline.epoch_ms == {3: 300}


def test_an_epoch_that_runs_again_takes_its_time_twice():
    timeline = Timeline({0: (1, Span(0.0, 0.0, 100.0))})
    timeline.take_in([progress(0, 5000, 300)])
    at = timeline.at(0)
    assert at is not None
    assert (at.own, at.epoch.length, at.run) == (True, 300, Timing(400, (100, 300)))


def test_times_of_an_epoch_are_those_of_its_end():
    timeline = Timeline({0: (1, Span(0.0, 0.0, 100.0))})
    timeline.take_in([progress(1, 5000, 300)])
    assert timeline.at(2) is None
    timeline = Timeline({0: (1, Span(0.0, 0.0, 100.0))})
    timeline.take_in([progress(1, 5000, 300)])
    first, second = timeline.at(0), timeline.at(1)
    assert first is not None
    assert second is not None
    assert (first.own, first.run, second.run) == (
        False,
        Timing(100, (100,)),
        Timing(400, (100, 300)),
    )
    assert math.isnan(first.stood.lag)
    assert (second.stood.lag, second.stood.state_rows, second.stood.state_bytes) == (60, 10, 950)


def test_the_lag_of_a_topic_is_that_of_all_its_partitions():
    def at(*offsets):
        return json.dumps({"clicks": {str(n): offset for n, offset in enumerate(offsets)}})

    source = {"endOffset": at(40, 7), "latestOffset": at(50, 7, 12)}
    # The third partition is new: it is not in the epoch yet, so where it begins is unknown.
    assert stood({"stateOperators": [], "sources": [source]}).lag == 10


def test_what_spark_does_not_report_is_unknown():
    source = {"endOffset": "not JSON", "latestOffset": None}
    found = stood({"stateOperators": [], "sources": [source]})
    assert all(map(math.isnan, (found.lag, found.state_rows, found.state_bytes)))
