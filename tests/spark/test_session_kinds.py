"""Kinds of work do not share a session, and a session that somebody else started stays."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from evenkey.spark.sessions import session_change


class Session:
    stopped = False

    def stop(self):
        self.stopped = True


@pytest.fixture
def active(monkeypatch):
    """Replace the active session by a list of at most one; no session was started by evenkey."""
    holds: list[Session] = []
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: holds[0] if holds else None)
    monkeypatch.setattr(session_change, "_started_for", [])
    return holds


def test_another_kind_gets_another_session(active):
    assert session_change.change_session("pipeline")
    active.append(Session())
    assert not session_change.change_session("pipeline")
    assert not active[0].stopped
    assert session_change.change_session("join")
    assert active[0].stopped
    active[0] = Session()
    assert not session_change.change_session("join")


def test_a_session_that_was_there_stays(active):
    active.append(Session())
    assert not session_change.change_session("pipeline")
    assert not session_change.change_session("join")
    assert not active[0].stopped
