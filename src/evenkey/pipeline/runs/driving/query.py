"""Run a query to its end, or pause it between two epochs.

The end of topics, which can grow, is given by offsets. Every epoch passes a gate. After a request
to pause, the gate lets no epoch begin. The first signal that would end the process requests a
pause, and a second one ends the run immediately.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from evenkey.pipeline.runs.output.spark_logs import COMMITS, OFFSETS, SparkLogs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.stores import Store
    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.runs.driving.progress import Phase, Watch
    from evenkey.pipeline.runs.output.directory import RunDirectory

_PY4J = logging.getLogger("py4j.clientserver")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL_SECONDS = 0.2
_WAIT_PER_LOOK, _LONGEST_WAIT = 10, 5.0


class PausedError(Exception):
    """An epoch did not begin because of a pause; the epoch runs when the run continues."""


@dataclass
class Gate:
    """Lets no epoch begin after a request to pause, if the source itself cannot pause.

    A rejected epoch has done no work yet. Its offsets are in the checkpoint, so it runs first when
    the run continues.

    Parameters
    ----------
    paused
        The pause file.
    open_always
        Whether the source itself checks the pause file. If so, the gate lets every epoch begin that
        the source has offered.
    """

    paused: Path
    open_always: bool
    turned_away: bool = field(default=False, init=False)
    """Whether an epoch was rejected."""

    def enter(self) -> None:
        """Let an epoch begin.

        Raises
        ------
        PausedError
            A pause is requested. This error ends the query, and Spark reports it as a failure.
        """
        if not self.open_always and self.paused.exists():
            self.turned_away = True
            message = "evenkey: the run is paused"
            raise PausedError(message)


@contextlib.contextmanager
def pauses_unlogged() -> Iterator[None]:
    """Keep Py4J from logging a pause as an error."""

    def no_pause(record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], PausedError)

    _PY4J.addFilter(no_pause)
    try:
        yield
    finally:
        _PY4J.removeFilter(no_pause)


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
    with contextlib.ExitStack() as stack:
        stack.enter_context(pauses_unlogged())
        stack.enter_context(pausing(directory.paused))
        end: End = (
            DrainedEnd(query, gate, stack)
            if offsets is None
            else OffsetsEnd(directory.checkpoint_files, offsets, close=close)
        )
        # Callbacks run in reverse order: the query stops before the threads that wait for it.
        stack.callback(query.stop)
        running = _Running(query, gate, directory, watch, _Relay(directory), deadline)
        finished = running.reaches(end.read, "running")
        if finished and close:
            # The last epoch with records may still run: the closing row is in the epoch after it.
            directory.claim.check()
            directory.closing.touch()
            finished = running.reaches(end.closed, "closing")
        running.rest(spark, end, finished=finished)
    return finished


@dataclass(frozen=True)
class _Running:
    """A running query, with all that can end it."""

    query: StreamingQuery
    gate: Gate
    directory: RunDirectory
    watch: Watch
    relay: _Relay
    deadline: float | None

    def reaches(self, reached: Callable[[], bool], phase: Phase) -> bool:
        """Wait until `reached` returns True; return False if a pause is requested before."""
        while not self._over():
            # A source that offers nothing more because of a pause seems to be at its end.
            if reached():
                return not self._over()
            self._wait()
            self.watch.look(self.query, phase)
        return False

    def _over(self) -> bool:
        self.relay.look()
        late = self.deadline is not None and time.monotonic() > self.deadline
        return late or self.directory.paused.exists()

    def _wait(self) -> None:
        """Wait for one interval; raise the error that ended the query, unless it was a pause."""
        time.sleep(_POLL_SECONDS)
        if not self.query.isActive and not self.gate.turned_away:
            self.query.awaitTermination()

    def rest(self, spark: SparkSession, end: End, *, finished: bool) -> None:
        """Let the current epoch end, let no other epoch begin, and report the last figures."""
        if not finished:
            self.watch.pausing()
        context = spark.sparkContext
        self.directory.paused.touch()
        # Spark reports a pause as an error, and would log it with the whole plan of the query.
        context.setLogLevel("OFF")
        try:
            while self.query.isActive and not end.resting(self.query):
                self._wait()
            self.query.stop()
        finally:
            context.setLogLevel(context.getConf().get("spark.log.level", "WARN") or "WARN")
        self.watch.ended(self.query)


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


@contextlib.contextmanager
def pausing(paused: Path) -> Iterator[None]:
    """Let an interrupt or SIGTERM pause a run; earlier handlers get the signal after the block.

    Earlier handlers of these signals are called only after the run has paused, because Spark's own
    handler of an interrupt would cancel the epoch. In threads other than the main thread this
    function does nothing, because only the main thread receives signals.

    Parameters
    ----------
    paused
        The pause file, which sources check.

    Raises
    ------
    KeyboardInterrupt
        An interrupt arrived, and there is no other handler for it. If SIGTERM arrived and there is
        no other handler for it, the process ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = {
        number: handler
        for number, handler in earlier.items()
        if handler not in (None, signal.SIG_IGN)
    }
    heard: list[int] = []

    def pause(number: int, _: Any) -> None:
        heard.append(number)
        if len(heard) == 1:
            paused.touch()
            return
        _restore(handled)
        signal.raise_signal(number)

    for number in handled:
        signal.signal(number, pause)
    try:
        yield
    finally:
        _restore(handled)
        if len(heard) == 1:
            signal.raise_signal(heard[0])


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


class End(ABC):
    """Detects the end of a query's input, without waiting for it."""

    @abstractmethod
    def read(self) -> bool:
        """Return whether all input was processed; if the query failed, raise its error."""

    @abstractmethod
    def closed(self) -> bool:
        """Return whether all windows are closed; called only after the closing file was made."""

    def resting(self, query: StreamingQuery) -> bool:
        """Return whether no epoch runs; called only after the pause file was made."""
        return not query.status["isTriggerActive"]


class DrainedEnd(End):
    """The end of a finite source, or of a source that offers nothing more because of a pause.

    Parameters
    ----------
    query
        The query that reads the source.
    gate
        The gate of the query's epochs. If the gate rejects an epoch, the error that ends the query
        is ignored.
    stack
        The end of this stack ends the thread that waits for the query. The query must be stopped
        before.
    """

    def __init__(self, query: StreamingQuery, gate: Gate, stack: contextlib.ExitStack) -> None:
        self._query = query
        self._gate = gate
        self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        # Wait from the start: a pause may be requested before the first call of `read`.
        self._drained = self._pool.submit(query.processAllAvailable)
        self._closed: Future[None] | None = None

    def read(self) -> bool:
        """Return whether Spark has processed everything that the source offered."""
        return self._done(self._drained)

    def closed(self) -> bool:
        """Return whether Spark has also processed the closing row."""
        self._closed = self._closed or self._pool.submit(self._query.processAllAvailable)
        return self._done(self._closed)

    def resting(self, query: StreamingQuery) -> bool:
        """Return whether no epoch runs and no further epoch may begin."""
        if not self._gate.open_always:
            return super().resting(query)
        return all(each.done() for each in (self._drained, self._closed) if each is not None)

    def _done(self, future: Future[None]) -> bool:
        if not future.done():
            return False
        try:
            future.result()
        except StreamingQueryException:
            if self._gate.turned_away:
                return False
            raise
        return True


class OffsetsEnd(End):
    """The end of topics, which may grow during a run: their end offsets at the start of the run.

    Until its windows are closed, the query continues to read records. These records are dropped.

    Parameters
    ----------
    checkpoint
        The checkpoint of the query.
    offsets
        The range of offsets to read; it has no end if the run follows its topics.
    close
        Whether windows are closed at the end. If so, the end is reached when the last epoch has
        begun. Otherwise the last epoch must be complete, because a pause follows, which can reject
        an epoch that has only begun.
    """

    def __init__(self, checkpoint: Store, offsets: OffsetRange, *, close: bool) -> None:
        self._logs = SparkLogs(checkpoint)
        self._offsets = offsets
        self._log = OFFSETS if close else COMMITS

    def read(self) -> bool:
        """Return whether the newest epoch has reached the end offsets."""
        newest = self._logs.newest(self._log)
        return self._offsets.reached(self._offsets.ends_of(self._logs.ends(newest)))

    def closed(self) -> bool:
        """Return whether an epoch after the epoch with the closing row is complete."""
        before = self._logs.newest(COMMITS) - 1
        return any(each == {"closed": 1} for each in self._logs.ends(before))
