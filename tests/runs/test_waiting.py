"""Executors that do not come, or a transaction that does not end, are a phase of the run."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from evenkey.pipeline.runs.driving import waiting
from evenkey.pipeline.runs.driving.progress import EpochProgress

RUNS = EpochProgress("pkg", 3, 400, 800, 1.0, 50.0, "running")


class Polls(threading.Event):
    """The watcher's polls: each advances the time and returns the next answer."""

    def __init__(self, answers):
        super().__init__()
        self.answers = iter(answers)
        self.time = 0.0
        self.answer = False

    def wait(self, timeout=None):
        self.time += timeout or 0
        answer = next(self.answers, None)
        self.answer = bool(answer)
        return answer is None


def no_executor(polls):
    return waiting.Awaited("waiting for executors") if polls.answer else None


def reported(answers, monkeypatch, *before, looked=no_executor):
    polls = Polls(answers)
    seen: list[EpochProgress] = []
    monkeypatch.setattr("evenkey.pipeline.runs.driving.waiting.time.monotonic", lambda: polls.time)
    watcher = waiting._Waiting([lambda: looked(polls)], "pkg", seen.append)
    for progress in before:
        watcher.pass_on(progress)
    watcher.over = polls
    watcher.watch()
    return seen


def test_it_is_reported_once_and_withdrawn(monkeypatch):
    awaited = dataclasses.replace(RUNS, phase="waiting for executors")
    answers = [True] * 40 + [False] * 3
    assert reported(answers, monkeypatch, RUNS) == [RUNS, awaited, RUNS]


@pytest.mark.parametrize("answers", [[False] * 40, ([True] * 14 + [False]) * 4])
def test_short_waits_are_not_reported(monkeypatch, answers):
    assert reported(answers, monkeypatch, RUNS) == [RUNS]


def test_before_the_first_report_progress_is_at_the_start(monkeypatch):
    (only,) = reported([True] * 20, monkeypatch)
    assert (only.grouping, only.epoch, only.phase) == ("pkg", -1, "waiting for executors")


def test_a_detail_that_changes_is_reported_each_minute(monkeypatch):
    def transaction(polls):
        return waiting.Awaited("waiting for a transaction", f": for {polls.time:.0f} s")

    seen = reported([True] * 140, monkeypatch, RUNS, looked=transaction)
    assert seen[0] == RUNS
    assert [each.phase for each in seen[1:]] == ["waiting for a transaction"] * 3
    assert [each.detail for each in seen[1:]] == [": for 16 s", ": for 76 s", ": for 136 s"]


def test_a_local_master_has_no_waits(spark):
    before = threading.active_count()
    looks = waiting.executors_looked_for(spark)
    assert looks == []
    with waiting.waits_reported(looks, "pkg", print) as on_progress:
        assert on_progress is print
        assert threading.active_count() == before


def test_without_a_progress_function_a_warning_is_logged(caplog, monkeypatch):
    monkeypatch.setattr(waiting, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", 0.0)
    looked = threading.Event()

    def look():
        if caplog.records:
            looked.set()
        return waiting.Awaited("waiting for a transaction", ": 'orders', open for 20 s")

    with waiting.waits_reported([look], "pkg", None) as on_progress:
        assert on_progress is None
        assert looked.wait(20)
    assert caplog.messages == ["pkg: waiting for a transaction: 'orders', open for 20 s"]
