"""A move whose process is killed at any time begins again, and the state stays exact."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import pytest

from evenkey import spark as eks
from tests.epochs import run_epochs
from tests.spark.test_rebalance import AFTER, BEFORE, KINDS, transformed, with_workers
from tests.spark.visits import counted, fired, states, visits

KILLS = 3
PROGRAM = """
import sys
from evenkey import spark as eks
print("started", flush=True)
spark = eks.session("local[2]")
print("session", flush=True)
eks.rebalance(spark, sys.argv[1], state=sys.argv[2], workers=3)
print("done", flush=True)
"""


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.classic("the killed program has a classic session")
def test_a_killed_program_moves_the_state_when_it_runs_again(session, tmp_path):
    own = with_workers(session, 2)
    rows = visits(own, tmp_path, BEFORE)
    grouped = eks.groupBy(rows, "user", workers=2, state=tmp_path / "plans")
    expired = fired(run_epochs(transformed(grouped), tmp_path / "old"))
    draw = random.Random(1)  # noqa: S311 - reproducible times of kills
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "old"), str(tmp_path / "state")]
    for _ in range(KILLS):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            assert [program.stdout.readline().strip() for _ in range(2)] == ["started", "session"]
            time.sleep(draw.uniform(0, 6))
            program.send_signal(signal.SIGKILL)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "done"
    moved = eks.rebalance(session, tmp_path / "old", state=tmp_path / "state", workers=3)
    whole = counted(BEFORE)
    assert moved.states == sum(len(whole[name]) for name in KINDS)
    assert moved.positions == (json.dumps({"position": BEFORE}),)
    wider = with_workers(session, 3)
    rows = visits(wider, tmp_path, AFTER, moved.positions[0])
    grouped = eks.groupBy(rows, "user", workers=3, state=tmp_path / "state")
    expired += fired(run_epochs(transformed(grouped), tmp_path / "checkpoint"))
    whole = counted(AFTER)
    assert sorted(expired) == sorted(whole.pop("fired"))
    assert states(session, tmp_path / "checkpoint") == whole
