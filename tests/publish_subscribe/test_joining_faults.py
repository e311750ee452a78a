"""Joins that lose a process in the middle still find the pairs of a single process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.processes import end_session, java_of, python_workers, send

EPOCHS = 4


def command(output):
    return [
        *(sys.executable, "-m", "evenkey", "join", "run", "--json", "--verify"),
        *("--pipeline", "sps", "--mode", "dynamic-lb-stal", "--force-redistribution", "2"),
        *("--publications", "1200", "--subscriptions", "400", "--workers", "3"),
        *("--epochs", str(EPOCHS), "--output", str(output)),
    ]


def ended(output):
    commits = output / "state" / "checkpoint" / "commits"
    return len(list(commits.glob("[0-9]*")))


def started(output, log):
    with log.open("w") as errors:
        return subprocess.Popen(
            command(output),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


def wait_for_an_epoch(process, output, log):
    while not ended(output):
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)


def checked(text):
    report = json.loads(text)
    assert report["finished"]
    assert report["epochs"] == EPOCHS
    assert report["pairs_digest"] == report["expected_digest"]
    assert 2 in [each["epoch"] for each in report["redistributions"]]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_killed_python_workers_are_replaced(tmp_path):
    output, log = tmp_path / "out", tmp_path / "log"
    process = started(output, log)
    wait_for_an_epoch(process, output, log)
    killed = python_workers(process.pid)
    assert killed
    send(killed, signal.SIGKILL)
    printed, _ = process.communicate(timeout=400)
    assert process.returncode == 0, log.read_text()
    checked(printed)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_killed_driver_continues(tmp_path):
    output, log = tmp_path / "out", tmp_path / "log"
    process = started(output, log)
    wait_for_an_epoch(process, output, log)
    end_session(process.pid)
    process.communicate()
    assert ended(output) < EPOCHS
    done = subprocess.run(command(output), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    checked(done.stdout)


@pytest.mark.slow(4)
@pytest.mark.faults
def test_a_java_that_is_killed_while_it_starts_is_one_line(tmp_path):
    output, log = tmp_path / "out", tmp_path / "log"
    process = started(output, log)
    try:
        while not (output / "state" / "static").exists():
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        send(java_of(process.pid), signal.SIGKILL)
        process.communicate(timeout=120)
    finally:
        end_session(process.pid)
    assert process.returncode == 1, log.read_text()
    *_, line, last = log.read_text().splitlines()
    assert line.startswith("error: Spark's Java process has died (killed by SIGKILL")
    assert last == "(--debug shows the full trace)"
    assert "Traceback" not in log.read_text()
