"""The queue before an exporter: never waits, is bounded, retries, counts dropped points."""

from __future__ import annotations

import threading

import pytest

from evenkey.pipeline.exporters import Exporter, ExportSummary, Outlet, Unreachable
from tests.exporters.records import record
from tests.servers import eventually


class Fake(Exporter):
    """Makes three points per record; fails, rejects or blocks on request."""

    largest_batch = 4
    to = "fake:"

    def __init__(self):
        self.written = []
        self.tries = 0
        self.beats = 0
        self.failure: Exception | None = None
        self.open = threading.Event()
        self.open.set()
        self.ending = None

    def points(self, record):
        return [(record.epoch, part) for part in range(3)]

    def write(self, points):
        self.tries += 1
        assert self.open.wait(240)
        if self.failure is not None:
            raise self.failure
        assert len(points) <= self.largest_batch
        self.written += points

    def beat(self):
        self.beats += 1

    def close(self, ending):
        self.ending = ending


def all_points(epochs):
    return [(epoch, part) for epoch in epochs for part in range(3)]


def test_everything_is_written_in_order_and_in_batches():
    exporter = Fake()
    outlet = Outlet(exporter)
    for epoch in range(5):
        outlet.offer(record(epoch))
    assert outlet.close("finished") == ExportSummary("fake:", 15, 0, None)
    assert exporter.written == all_points(range(5))
    assert exporter.tries >= 4
    assert exporter.ending == "finished"


def test_a_slow_exporter_does_not_block_the_stream_and_loses_its_oldest_points():
    exporter = Fake()
    exporter.open.clear()
    outlet = Outlet(exporter, capacity=6)
    outlet.offer(record(0))
    eventually(lambda: exporter.tries)
    for epoch in range(1, 10):  # returns immediately, though the first write still waits
        outlet.offer(record(epoch))
    exporter.open.set()
    assert outlet.close("finished") == ExportSummary("fake:", 9, 21, None)
    assert exporter.written == all_points([0, 8, 9])


def test_an_unreachable_destination_is_retried():
    exporter = Fake()
    exporter.failure = Unreachable("no answer")
    outlet = Outlet(exporter)
    outlet.offer(record(0))
    eventually(lambda: exporter.tries >= 3)
    exporter.failure = None
    eventually(lambda: exporter.written)
    assert outlet.close("finished") == ExportSummary("fake:", 3, 0, "no answer")
    assert exporter.written == all_points([0])


def test_an_unreachable_destination_is_retried_once_at_the_end():
    exporter = Fake()
    exporter.failure = Unreachable("no answer")
    outlet = Outlet(exporter, patience=60.0)
    outlet.offer(record(0))
    eventually(lambda: exporter.tries >= 2)
    assert outlet.close("failed") == ExportSummary("fake:", 0, 3, "no answer")
    assert exporter.tries <= 5


@pytest.mark.parametrize("error", [ValueError("bad point\nmore"), OSError(28, "no space")])
def test_rejected_points_are_dropped_and_the_next_are_written(error):
    exporter = Fake()
    exporter.failure = error
    outlet = Outlet(exporter)
    outlet.offer(record(0))
    eventually(lambda: exporter.tries)
    eventually(lambda: outlet._error)
    exporter.failure = None
    outlet.offer(record(1))
    summary = outlet.close("paused")
    assert (summary.points, summary.dropped) == (3, 3)
    assert summary.error == str(error).splitlines()[0]


def test_an_exporter_that_cannot_close_is_only_reported():
    class Broken(Fake):
        def close(self, ending):
            message = f"cannot end {ending}"
            raise RuntimeError(message)

    outlet = Outlet(Broken())
    outlet.offer(record(0))
    assert outlet.close("finished") == ExportSummary("fake:", 3, 0, "cannot end finished")


def test_heartbeats_are_sent_between_epochs(monkeypatch):
    monkeypatch.setattr("evenkey.pipeline.exporters.outlet._BEAT_SECONDS", 0.01)
    exporter = Fake()
    outlet = Outlet(exporter)
    eventually(lambda: exporter.beats >= 3)
    outlet.close("finished")
