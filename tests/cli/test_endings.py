"""Real runs that receive a signal or lose their JVM continue by the same command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults

MESSAGES, EPOCHS = 2_000, 5
EVENKEY = Path(sys.executable).with_name("evenkey")


def start(output, log):
    """Start a run of short epochs in its own process group, as a shell does."""
    arguments = [
        *("run", "--dataset", "uniform(keys=20)", "--messages", str(MESSAGES), "--seed", "7"),
        *("--epochs", str(EPOCHS), "--workers", "2", "--sources", "1", "--aggregators", "1"),
        *("--cost-ms", "4", "--master", "local[2,4]", "--output", str(output)),
    ]
    with log.open("w") as written:
        return subprocess.Popen(
            [EVENKEY, *arguments],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            start_new_session=True,
        )


def epochs_committed(output):
    return len(list((output / "state" / "checkpoint" / "commits").glob("[0-9]*")))


def wait_for_an_epoch(process, output, log):
    while not epochs_committed(output):
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)


def children(process):
    """Return the child processes of a process, by name."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        # A name may have spaces and parentheses.
        before, _, after = text.rpartition(")")
        number, _, name = before.partition(" (")
        if int(after.split()[1]) == process.pid:
            found[name] = int(number)
    return found


def last_lines(log):
    text = log.read_text()
    assert "Traceback" not in text
    return text.splitlines()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("number", "whole_group", "exit_code", "said"),
    [
        (signal.SIGTERM, True, 143, "terminated"),
        (signal.SIGINT, True, 130, "interrupted"),
        (signal.SIGTERM, False, 143, "terminated"),
    ],
)
def test_a_signal_pauses_between_epochs_and_the_same_command_continues(
    tmp_path, number, whole_group, exit_code, said
):
    output, log = tmp_path / "out", tmp_path / "log"
    with start(output, log) as process:
        wait_for_an_epoch(process, output, log)
        (os.killpg if whole_group else os.kill)(process.pid, number)
        assert process.wait(240) == exit_code, log.read_text()
    lines = last_lines(log)
    assert lines[-1] == f"{said}: the same command continues where this run stopped"
    assert any(": pausing, " in line for line in lines)
    # Each epoch that began also ended.
    checkpoint = output / "state" / "checkpoint"
    begun = {path.name for path in (checkpoint / "offsets").glob("[0-9]*")}
    assert begun == {path.name for path in (checkpoint / "commits").glob("[0-9]*")}
    assert len(begun) < EPOCHS

    with start(output, log) as process:
        summary = process.communicate(timeout=300)[0]
    assert process.returncode == 0, log.read_text()
    assert f"{MESSAGES:,} of 20 keys" in summary


@pytest.mark.soak
def test_a_killed_java_is_one_line_and_the_same_command_continues(tmp_path):
    output, log = tmp_path / "out", tmp_path / "log"
    with start(output, log) as process:
        wait_for_an_epoch(process, output, log)
        os.kill(children(process)["java"], signal.SIGKILL)
        assert process.wait(240) == 1, log.read_text()
    lines = [line for line in last_lines(log) if not line.startswith("dkg: ")]
    assert len(lines) == 2
    assert lines[0].startswith("error: Spark's Java process has died (killed by SIGKILL")
    assert "give the same command again" in lines[0]
    assert "SPARK_DRIVER_MEMORY" in lines[0]
    assert lines[1] == "(--debug shows the full trace)"

    with start(output, log) as process:
        summary = process.communicate(timeout=300)[0]
    assert process.returncode == 0, log.read_text()
    assert f"{MESSAGES:,} of 20 keys" in summary
