"""Change the session of a process between kinds of work that need other masters and settings."""

from __future__ import annotations

from pyspark.sql import SparkSession

_started_for: list[str] = []
"""Kind of work for which the active session was started; empty if evenkey did not start it."""


def change_session(kind: str) -> bool:
    """Stop the active session if it was started for another kind of work, with other task slots.

    A session that existed before the first call is not stopped.

    Parameters
    ----------
    kind
        Kind of the work that comes next.

    Returns
    -------
    bool
        Whether the caller must start a new session. If so, no Python worker is running.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        if not _started_for or _started_for == [kind]:
            return False
        active.stop()
    _started_for[:] = [kind]
    return True
