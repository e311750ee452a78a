"""Change the session of a process between kinds of work that need other masters and settings."""

from __future__ import annotations

from pyspark.sql import SparkSession

_started_for: list[str] = []
"""Kind of work for which the active session was started; empty if evenkey did not start it."""


def change_session(kind: str) -> bool:
    """Stop a session that was started for another kind of work, because its slots do not suit.

    A session that existed before the first call is left alone.

    Parameters
    ----------
    kind
        Kind of the work that comes next.

    Returns
    -------
    bool
        Whether the caller must start a new session; no Python worker runs then.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        if not _started_for or _started_for == [kind]:
            return False
        active.stop()
    _started_for[:] = [kind]
    return True
