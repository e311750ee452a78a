"""Run a query to its end, or pause it between two epochs."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from evenkey.pipeline.runs.driving.ends import DrainedEnd, OffsetsEnd
from evenkey.pipeline.runs.driving.gate import pauses_unlogged
from evenkey.pipeline.runs.driving.interruption import pausing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.runs.driving.ends import End
    from evenkey.pipeline.runs.driving.gate import Gate
    from evenkey.pipeline.runs.driving.progress import Phase, Watch
    from evenkey.pipeline.runs.output.directory import RunDirectory

_POLL_SECONDS = 0.2
_WAIT_PER_LOOK, _LONGEST_WAIT = 10, 5.0


def drive(
    spark: SparkSession,
    query: StreamingQuery,
    gate: Gate,
    directory: RunDirectory,
    watch: Watch,
    offsets: OffsetRange | None,
    *,
    time_limit: float | None = None,
    close: bool = True,
) -> bool:
    """Run a query to the end of its input, then close its windows, and stop it.

    A pause never stops the query inside an epoch: the current epoch ends, and no other epoch
    begins. The first interrupt or SIGTERM requests a pause; a second signal stops the query
    immediately.

    Parameters
    ----------
    spark
        The session of the query.
    query
        The started query; each of its epochs passes the gate.
    directory
        Directory of the run, with the files that signal a pause or the end to the sources.
    watch
        Reports each epoch that has ended.
    offsets
        The range of offsets to read from topics; None: the source itself knows its end.
    time_limit
        Seconds after which to pause; None: no limit.
    close
        Whether to close the windows.

    Returns
    -------
    bool
        Whether the query reached the end and closed its windows before any pause.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    relay = _Relay(directory)

    def over() -> bool:
        relay.look()
        late = deadline is not None and time.monotonic() > deadline
        return late or directory.paused.exists()

    def see(reached: Callable[[], bool], phase: Phase) -> bool:
        while not over():
            # A source that offers nothing more because of a pause seems to be at its end.
            if reached():
                return not over()
            _wait(query, gate)
            watch.look(query, phase)
        return False

    with contextlib.ExitStack() as stack:
        stack.enter_context(pauses_unlogged())
        stack.enter_context(pausing(directory.paused))
        end = (
            DrainedEnd(query, gate, stack)
            if offsets is None
            else OffsetsEnd(directory.checkpoint_files, offsets, close=close)
        )
        # Callbacks run in reverse order: the query stops before the threads that wait for it.
        stack.callback(query.stop)
        finished = see(end.read, "running")
        if finished and close:
            # The last epoch with records may still run: the closing row is in the epoch after it.
            directory.claim.check()
            directory.closing.touch()
            finished = see(end.closed, "closing")
        if not finished:
            watch.pausing()
        _rest(spark, query, gate, end, directory)
        watch.ended(query)
    return finished


class _Relay:
    """Pauses this process's run if the object ``state/paused`` in the output requests it."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._next = 0.0

    def look(self) -> None:
        """Check for the object; the longer a check takes, the later is the next check."""
        looked = time.monotonic()
        if looked < self._next:
            return
        # If the store is unreachable for a while, the request is found later.
        with contextlib.suppress(OSError):
            if self._directory.asked_to_pause:
                self._directory.paused.touch()
        took = time.monotonic() - looked
        self._next = time.monotonic() + min(_LONGEST_WAIT, _WAIT_PER_LOOK * took)


def _wait(query: StreamingQuery, gate: Gate) -> None:
    """Wait for one interval; raise the error that ended the query, unless it was a pause."""
    time.sleep(_POLL_SECONDS)
    if not query.isActive and not gate.turned_away:
        query.awaitTermination()


def _rest(
    spark: SparkSession, query: StreamingQuery, gate: Gate, end: End, directory: RunDirectory
) -> None:
    """Let the current epoch end, and let no other epoch begin."""
    context = spark.sparkContext
    directory.paused.touch()
    # Spark reports a pause as an error, and would log it with the whole plan of the query.
    context.setLogLevel("OFF")
    try:
        while query.isActive and not end.resting(query):
            _wait(query, gate)
        query.stop()
    finally:
        context.setLogLevel(context.getConf().get("spark.log.level", "WARN") or "WARN")
