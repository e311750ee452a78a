"""Record each session that a program makes, or run its calls by a profile."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from evenkey.spark.balancing.balancer import balanced
from evenkey.spark.intercepted.new_sessions import new_sessions
from evenkey.spark.recording import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.spark.balancing.balancer import Balancing
    from evenkey.spark.recording.recorder import Recording


@contextlib.contextmanager
def profiled_sessions(
    path: Path, *, records: bool, least_gain: float
) -> Iterator[list[Recording | Balancing]]:
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
    opened: list[Recording | Balancing] = []

    def begin(session: SparkSession) -> None:
        if records:
            opened.append(record(session, path))
        else:
            opened.append(balanced(session, path, least_gain=least_gain))

    try:
        with new_sessions(begin):
            yield opened
    finally:
        for each in opened:
            each.stop()
