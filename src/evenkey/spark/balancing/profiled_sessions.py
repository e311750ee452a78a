"""Record each session that a program makes, or run its calls by a profile."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkey.core.errors import EvenkeyError
from evenkey.spark.balancing.balancer import balanced
from evenkey.spark.intercepted.new_sessions import new_sessions
from evenkey.spark.recording import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.spark.balancing.balancer import Balancing
    from evenkey.spark.recording.recorder import Recording


@dataclass
class ProfiledSessions:
    """The sessions that a program made.

    Parameters
    ----------
    ended
        What was opened in each session, and ends with the context.
    faults
        Why a session's recording or balancing could not be ended, one text for each.
    """

    ended: list[Recording | Balancing] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@contextlib.contextmanager
def profiled_sessions(
    path: Path, *, records: bool, least_gain: float
) -> Iterator[ProfiledSessions]:
    """Open a `record` or a `balanced` in each new session, and end all of them with the context.

    Parameters
    ----------
    path
        The profile.
    records
        Whether sessions are recorded; otherwise they follow the profile.
    least_gain
        As for `balanced`.
    """
    sessions = ProfiledSessions()

    def begin(session: SparkSession) -> None:
        if records:
            sessions.ended.append(record(session, path))
        else:
            sessions.ended.append(balanced(session, path, least_gain=least_gain))

    try:
        with new_sessions(begin):
            yield sessions
    finally:
        for each in sessions.ended:
            # The program is over, and its result does not depend on this.
            try:
                each.stop()
            except EvenkeyError as error:
                sessions.faults.append(str(error))
