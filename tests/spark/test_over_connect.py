"""Operators and joins over Spark Connect: streams learn, and the client accesses no state."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.connect_server import ConnectServer
from tests.spark.over_connect import FILES, ROWS, WORKERS

pytest.importorskip("grpc", reason="Spark Connect's packages are not installed")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Run the first part of the program once, and return what it prints."""
    return printed("learning", tmp_path_factory.mktemp("connect"))


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    """Run the other part."""
    return printed("following", tmp_path_factory.mktemp("connect"))


def printed(part, directory):
    (directory / "temporary").mkdir()
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(directory / "temporary"))
        with ConnectServer(settings) as server:
            ran = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "tests.spark.over_connect",
                    server.url,
                    str(directory),
                    part,
                ],
                cwd=Path(__file__).parents[2],
                capture_output=True,
                text=True,
                check=False,
                timeout=580,
            )
    assert ran.returncode == 0, ran.stderr[-3000:]
    stored = len(list((directory / "state" / "groups").rglob("*.npz")))
    return json.loads(ran.stdout.splitlines()[-1]) | {"stored": stored}


@pytest.mark.soak(45)
def test_plans_are_fitted_and_followed(more):
    assert more["fit"] < 1.05
    assert len(more["fitted"]) == FILES
    # Random numbers deal split keys, as no column numbers the rows (docs/plan-a-stream.md).
    assert max(more["fitted"]) < 1.01 + 4.5 * math.sqrt(2 * WORKERS / ROWS)
    assert more["greedy"] == FILES * ROWS


@pytest.mark.slow(45)
def test_a_stream_learns(seen):
    first, *rest = seen["dkg"]
    assert first > 1.6
    assert max(rest) < 1.3
    assert seen["tables"] == FILES


@pytest.mark.soak(1)
def test_a_stream_without_state_runs_and_leaves_nothing(more):
    assert more["temporary"] == FILES * ROWS
    assert more["left"] == 0


@pytest.mark.soak(1)
def test_batches_and_observers_work(more):
    assert more["placed"] == FILES * ROWS
    assert more["observed"] == FILES * ROWS


@pytest.mark.slow(1)
def test_a_worker_that_there_is_not_is_named_in_one_line(seen):
    """Traces of the server are turned off, as docs/where-it-runs.md recommends."""
    line = "[USER_RAISED_EXCEPTION] worker must be 0 to 4 in every row: route first SQLSTATE: P0001"
    assert seen["refused in short"] == [line]
    assert seen["refused"][0] == line


@pytest.mark.slow(1)
def test_a_stream_is_aggregated_exactly_and_planned(seen):
    assert seen["sums"] == seen["expected"]
    assert seen["plans"] >= FILES


@pytest.mark.slow(1)
def test_joins_equal_sparks_own(seen):
    assert seen["joined"] == seen["refreshed"] == seen["temporary join"] == 0
    assert seen["version"] == 2


@pytest.mark.slow(1)
def test_a_program_that_ends_stores_the_plan_of_its_next_run(seen):
    assert seen["users"] == 121
    assert seen["stored"] > 0


@pytest.mark.slow(1)
def test_applications_work(seen):
    assert seen["top"] == ["hot", FILES * ROWS * 6 // 10]
    assert seen["right"] == 400
