"""Sessions for several kinds of work in one process, which need other masters and settings."""

from __future__ import annotations

from pyspark.sql import SparkSession

_started_for: list[str] = []
"""The kind of work that the active session was started for; empty while it is somebody else's."""


def change_session(kind: str) -> bool:
    """Stop the session that was started for work of another kind: its slots do not suit.

    A session that was there before is left alone.

    Parameters
    ----------
    kind
        Of the work that comes next.

    Returns
    -------
    bool
        Whether a session is started anew next, with no Python worker running.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        if not _started_for or _started_for == [kind]:
            return False
        active.stop()
    _started_for[:] = [kind]
    return True
