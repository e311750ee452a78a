"""The single listener of a session: an error in one metric's handler does not affect others."""

from __future__ import annotations

from types import SimpleNamespace

from pyspark.sql import Row

from evenkey.spark.sessions.query_events import _Listener


def test_an_error_of_one_receiver_is_logged_and_the_others_go_on(session, caplog):
    heard = []

    def broken(*_):
        message = "a receiver's own mistake"
        raise ValueError(message)

    listener = _Listener(session)
    listener.metrics = {"broken": broken, "sound": lambda *given: heard.append(given)}
    progress = SimpleNamespace(observedMetrics={"broken-1": Row(rows=1), "sound-1": Row(rows=2)})
    listener.onQueryProgress(SimpleNamespace(progress=progress))
    assert heard == [(session, "sound-1", {"rows": 2}, progress)]
    (line,) = caplog.records
    assert "broken-1" in line.getMessage()
    assert "a receiver's own mistake" in str(line.exc_info[1])
