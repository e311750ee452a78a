"""Routing by the order of rows needs Spark to notice other rows of a task that runs again."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from evenkey.spark import retries, route
from evenkey.spark.versions import SAFE_RETRIES
from tests.spark.retried import ROWS


@pytest.fixture
def unsafe(spark, monkeypatch, caplog):
    """A session with Spark 4.1's defaults, and what is logged of it."""
    monkeypatch.setattr(retries, "_looked_at", weakref.WeakSet())
    own = spark.newSession()
    for name in SAFE_RETRIES:
        own.conf.set(name, "false")
    return own, caplog


def test_a_session_of_a_users_own_is_warned_once(unsafe):
    session, log = unsafe
    for _ in range(2):
        route(session.range(10), "id", "dkg", 4)
    (line,) = log.messages
    assert line.startswith(f"{', '.join(SAFE_RETRIES)}: is not true")
    assert line.endswith("set it to true")


def test_key_grouping_goes_by_no_order(unsafe):
    session, log = unsafe
    route(session.range(10), "id", "kg", 4)
    assert log.messages == []


def test_sessions_of_ours_have_it(spark):
    assert [spark.conf.get(name) for name in SAFE_RETRIES] == ["true", "true"]


@pytest.mark.slow(14)
@pytest.mark.faults
@pytest.mark.classic("a program with a local cluster of its own")
def test_rows_that_are_routed_again_are_there_once(tmp_path):
    """By the defaults of Spark 4.1 hundreds of them are lost, and hundreds come twice."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.retried", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert (tmp_path / "killed").exists()
    assert json.loads(ran.stdout.splitlines()[-1]) == [ROWS, ROWS]
