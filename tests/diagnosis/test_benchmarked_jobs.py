"""Benchmarks of diagnosed jobs make the changes that are printed, and measure as predicted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import diagnosed_jobs, known_causes
from evenkey.reports.diagnosis import diagnose
from tests.diagnosis.writing import Log, applied

LOGS = Path(__file__).with_name("causes")
PARTITIONS = "spark.sql.shuffle.partitions"
CHANGED = {
    "join-nulls": [("spark.sql.shuffle.spreadNullJoinKeys.enabled", "true")],
    "few-partitions": [(PARTITIONS, "8")],
    "merged-partitions": [
        ("spark.sql.adaptive.coalescePartitions.enabled", "false"),
        (PARTITIONS, "8"),
    ],
    "large-file": [],
}


def kept(job):
    (one,) = diagnose(LOGS / f"{job.name}.gz").applications
    return one


@pytest.fixture
def no_runs(monkeypatch):
    """Read kept logs, and list the jobs that would run instead of running them."""
    ran = []
    monkeypatch.setattr(known_causes, "diagnosed", kept)
    monkeypatch.setattr(known_causes, "make_log", lambda _: None)
    monkeypatch.setattr(known_causes, "seconds_of", lambda *_: None)
    monkeypatch.setattr(known_causes, "run", lambda job, kind: ran.append((job, kind)))
    monkeypatch.setattr(known_causes, "longest_stage", lambda _: 2.0)
    return ran


@pytest.mark.parametrize(("name", "settings"), CHANGED.items())
def test_a_changed_job_has_the_settings_that_are_printed(no_runs, name, settings):
    (job,) = (each.job for each in known_causes.KNOWN if each.job.name == name)
    measured = known_causes.measure(job)
    ((changed, kind),) = no_runs
    assert kind == diagnosed_jobs.CHANGED
    assert changed.settings == (*job.settings, *settings)
    (finding,) = (each for each in kept(job).findings if each.work.seconds == measured["seconds"])
    (change,) = (each for each in finding.changes if each.remedy.how == job.how)
    printed = change.remedy.code.count("spark.conf.set")
    assert printed == len(settings)
    assert measured["off"] == pytest.approx(measured["predicted"] / 2 - 1)


@pytest.mark.usefixtures("no_runs")
@pytest.mark.parametrize("what", ["judge", "measure"])
def test_results_are_one_object(monkeypatch, capsys, what):
    arguments = ["known_causes.py", what, "--json", "--job", "merged-partitions"]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(diagnosed_jobs.CONSOLE, "_file", None)
    known_causes.main()
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == 1
    (job,) = found["jobs"]
    assert job["job"] == "merged-partitions"
    if what == "judge":
        assert (found["right"], found["wrong_cures"]) == (1, 0)
        assert (job["cause"], job["found"], job["offered"]) == (*["few tasks"] * 2, "partitions")


def test_tasks_of_a_changed_job_are_scheduled_in_the_order_in_which_they_began(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(diagnosed_jobs, "BUILD", tmp_path)
    log = Log()
    for number, seconds in enumerate(([1.0], [4.0, 1.0, 1.0, 1.0, 1.0])):
        log.execution(number, applied())
        log.stage(number, [10] * len(seconds), seconds)
    for event in log.events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Task Info"]["Finish Time"] == 5000:
            event["Task Info"] |= {"Launch Time": 2000, "Finish Time": 6000}
    folder = tmp_path / diagnosed_jobs.CHANGED / "late"
    folder.mkdir(parents=True)
    log.write(folder / "log")
    # The long task begins last, so it waits for a slot.
    assert diagnosed_jobs.longest_stage(diagnosed_jobs.Job("late", print)) == pytest.approx(5)
