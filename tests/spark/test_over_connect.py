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

pytestmark = pytest.mark.slow(16)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Run the program once, and return what it prints."""
    directory = tmp_path_factory.mktemp("connect")
    (directory / "temporary").mkdir()
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(directory / "temporary"))
        with ConnectServer(settings) as server:
            ran = subprocess.run(
                [sys.executable, "-m", "tests.spark.over_connect", server.url, str(directory)],
                cwd=Path(__file__).parents[2],
                capture_output=True,
                text=True,
                check=False,
                timeout=580,
            )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_plans_are_fitted_and_followed(seen):
    assert seen["fit"] < 1.05
    assert len(seen["fitted"]) == FILES
    # Random numbers deal split keys, as no column numbers the rows (docs/plan-a-stream.md).
    assert max(seen["fitted"]) < 1.01 + 4.5 * math.sqrt(2 * WORKERS / ROWS)
    assert seen["greedy"] == FILES * ROWS


def test_a_stream_learns(seen):
    first, *rest = seen["dkg"]
    assert first > 1.6
    assert max(rest) < 1.3
    assert seen["tables"] == FILES


def test_a_stream_without_state_runs_and_leaves_nothing(seen):
    assert seen["temporary"] == FILES * ROWS
    assert seen["left"] == 0


def test_batches_and_observers_work(seen):
    assert seen["placed"] == FILES * ROWS
    assert seen["observed"] == FILES * ROWS


def test_a_worker_that_there_is_not_is_named_in_one_line(seen):
    """Traces of the server are turned off, as docs/where-it-runs.md recommends."""
    line = "[USER_RAISED_EXCEPTION] worker must be 0 to 4 in every row: route first SQLSTATE: P0001"
    assert seen["refused in short"] == [line]
    assert seen["refused"][0] == line


def test_a_stream_is_aggregated_exactly_and_planned(seen):
    assert seen["sums"] == seen["expected"]
    assert seen["plans"] >= FILES


def test_joins_equal_sparks_own(seen):
    assert seen["joined"] == seen["refreshed"] == seen["temporary join"] == 0
    assert seen["version"] == 2


def test_applications_work(seen):
    assert seen["top"] == ["hot", FILES * ROWS * 6 // 10]
    assert seen["right"] == 400
