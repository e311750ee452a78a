"""If a task after a shuffle runs again, it places rows as before, or the user is warned."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from evenkey.spark import route
from evenkey.spark.sessions import retries
from evenkey.spark.sessions.versions import SAFE_RETRIES
from tests.spark.retried import CASES, ROWS


@pytest.fixture
def unsafe(spark, monkeypatch, caplog):
    """Make a session with Spark 4.1's defaults; return it and the captured log."""
    monkeypatch.setattr(retries, "_warned", weakref.WeakKeyDictionary())
    own = spark.newSession()
    for name in SAFE_RETRIES:
        own.conf.set(name, "false")
    return own, caplog


def test_a_session_of_a_users_own_is_warned_once(unsafe):
    session, log = unsafe
    stream = session.readStream.format("rate").load().repartition(3)
    for _ in range(2):
        route(stream, "value", "dkg", 4)
    (line,) = log.messages
    assert line.startswith("dkg places the rows of a stream by their order")
    assert f"come twice, because {', '.join(SAFE_RETRIES)} is not true" in line


def test_rows_that_are_placed_by_their_contents_need_no_warning(unsafe):
    session, log = unsafe
    for grouping in ("kg", "sg", "dkg", "planned"):
        route(session.range(10).repartition(3), "id", grouping, 4)
    assert log.messages == []


def test_sessions_of_ours_have_it(spark):
    assert [spark.conf.get(name) for name in SAFE_RETRIES] == ["true", "true"]


def placed_again(directory, *cases):
    """Run jobs that lose an executor each; return their numbers of rows and of distinct rows."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.retried", str(directory), *cases],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert all((directory / f"killed {case}").exists() for case in cases)
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.slow(30)
@pytest.mark.faults
@pytest.mark.classic("a program with a local cluster of its own")
def test_a_lost_executor_does_not_end_the_job(tmp_path):
    """Without the sort, Spark 4.1 loses and repeats rows, and from 4.2 on the job fails."""
    assert placed_again(tmp_path, "write") == {"write": [ROWS, ROWS]}


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.classic("a program with a local cluster of its own")
@pytest.mark.parametrize("part", range(2))
def test_each_operator_survives_what_sparks_own_survives(tmp_path, part):
    cases = sorted(CASES.keys() - {"write"})[part::2]
    assert placed_again(tmp_path, *cases) == {each: [ROWS, ROWS] for each in cases}
