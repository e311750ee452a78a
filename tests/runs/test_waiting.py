"""Executors that do not come are a phase of the run."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from evenkey.runs import waiting
from evenkey.runs.progress import EpochProgress

RUNS = EpochProgress("pkg", 3, 400, 800, 1.0, 50.0, "running")


class Polls(threading.Event):
    """The watcher's polls: time goes on at each, and the next answer is given."""

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


def reported(answers, monkeypatch, *before):
    polls = Polls(answers)
    seen: list[EpochProgress] = []
    monkeypatch.setattr("evenkey.runs.waiting.time.monotonic", lambda: polls.time)
    awaited = waiting._Awaited(lambda: polls.answer, "pkg", seen.append)
    for progress in before:
        awaited.pass_on(progress)
    awaited.over = polls
    awaited.watch()
    return seen


def test_it_is_said_once_and_taken_back(monkeypatch):
    awaited = dataclasses.replace(RUNS, phase="waiting for executors")
    answers = [True] * 40 + [False] * 3
    assert reported(answers, monkeypatch, RUNS) == [RUNS, awaited, RUNS]


@pytest.mark.parametrize("answers", [[False] * 40, ([True] * 14 + [False]) * 4])
def test_short_waits_are_none(monkeypatch, answers):
    assert reported(answers, monkeypatch, RUNS) == [RUNS]


def test_before_the_first_report_it_stands_at_the_start(monkeypatch):
    (only,) = reported([True] * 20, monkeypatch)
    assert (only.grouping, only.epoch, only.phase) == ("pkg", -1, "waiting for executors")


def test_on_one_machine_nobody_waits(spark):
    before = threading.active_count()
    with waiting.executors_awaited(spark, "pkg", print) as on_progress:
        assert on_progress is print
        assert threading.active_count() == before
