"""See a running query to its end, tell of its epochs, and read how long they took."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evenkey.runs.interruption import pausing
from evenkey.runs.report import EpochProgress, Phase, Timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.pipelines.aggregate.observer import Observer
    from evenkey.runs.directory import RunDirectory
    from evenkey.runs.recorder import Recorder
    from evenkey.runs.report import OnProgress

__all__ = ["Span", "Watch", "Watcher", "drive", "epochs_of", "relay_pause", "span", "timing_of"]

_POLL_SECONDS = 0.2


class Watcher(Protocol):
    """Hears of a query while it runs."""

    def running(self, query: StreamingQuery) -> Callable[[], None]:
        """Give what to call now and then while it reads its input."""

    def closing(self, query: StreamingQuery) -> Callable[[], None]:
        """Give what to call now and then while its windows are closed."""

    def pausing(self) -> None:
        """Hear that it ends with the epoch that it is in."""


def drive(
    query: StreamingQuery,
    directory: RunDirectory,
    watch: Watcher,
    *,
    time_limit: float | None = None,
    close: bool = True,
) -> bool:
    """See a query to the end of its input, then close its windows, and stop it.

    Never stops the query inside an epoch: a pause asks the source for no more data and lets
    the epoch end. A first interrupt, or signal to terminate, asks for a pause; a second one
    stops the query where it is.

    Parameters
    ----------
    query
        Just started.
    directory
        Where the signs to the sources are made.
    watch
        Hears of each epoch that has ended.
    time_limit
        Seconds after which to pause.
    close
        Whether to close the windows.

    Returns
    -------
    bool
        Whether it got to the end before its time limit.
    """
    with pausing(directory.paused), ThreadPoolExecutor(max_workers=1) as pool:
        drained = pool.submit(query.processAllAvailable)
        deadline = None if time_limit is None else time.monotonic() + time_limit
        try:
            _await(drained, directory, watch, watch.running(query), deadline)
            finished = not directory.paused.exists()
            if finished and close:
                # A pause that is asked for from here on is one after the end.
                directory.claim.check()
                directory.closing.touch()
                closed = pool.submit(query.processAllAvailable)
                _await(closed, directory, watch, watch.closing(query), None)
        finally:
            query.stop()
    return finished


def _await(
    future: Future[None],
    directory: RunDirectory,
    watch: Watcher,
    tell: Callable[[], None],
    deadline: float | None,
) -> None:
    pausing = False
    while True:
        with contextlib.suppress(NotYet):
            future.result(_POLL_SECONDS)
            tell()
            return
        tell()
        relay_pause(directory)
        if deadline is not None and time.monotonic() > deadline:
            directory.paused.touch()
        if not pausing and directory.paused.exists():
            pausing = True
            watch.pausing()


def relay_pause(directory: RunDirectory) -> None:
    """Pause this process's run if anybody has asked for it, by a file named ``paused``."""
    if directory.asked_to_pause.exists():
        directory.paused.touch()


class Watch:
    """Tells of each epoch once it has ended.

    Parameters
    ----------
    grouping
        Its spelling.
    expected
        Positions that the source has, where that is known.
    observer
        Takes in each epoch before it is told of.
    on_progress
        Is told.
    recorder
        Is told how long the epochs took, before the observer takes them in.
    """

    def __init__(
        self,
        grouping: str,
        expected: int | None,
        observer: Observer,
        on_progress: OnProgress | None,
        recorder: Recorder | None = None,
    ) -> None:
        self._grouping = grouping
        self._expected = expected
        self._observer = observer
        self._on_progress = on_progress
        self._recorder = recorder
        self._last = -1
        self._started = time.monotonic()

    def running(self, query: StreamingQuery) -> Callable[[], None]:
        """Give what tells of a query that reads its input."""
        return lambda: self._tell(query, "running")

    def closing(self, query: StreamingQuery) -> Callable[[], None]:
        """Give what tells of a query whose windows are being closed."""
        return lambda: self._tell(query, "closing")

    def pausing(self) -> None:
        """Report that it ends with the epoch that it is in."""
        if self._on_progress is not None:
            seen = self._observer.messages
            self._on_progress(
                EpochProgress(self._grouping, self._last, seen, self._expected, 0.0, 0.0, "pausing")
            )

    def _tell(self, query: StreamingQuery, phase: Phase) -> None:
        progress = query.lastProgress
        nobody = self._on_progress is None and self._recorder is None
        if nobody or progress is None or not _ran(progress) or progress["batchId"] <= self._last:
            return
        if self._recorder is not None:
            # All of recent progress is long: it is read only where an epoch went by unseen.
            next_one = progress["batchId"] == self._last + 1
            self._recorder.time([progress] if next_one else epochs_of(query))
        self._last = progress["batchId"]
        self._observer.catch_up(self._last)
        if self._on_progress is None:
            return
        if not self._observer.epochs:
            return
        messages = self._observer.messages
        self._on_progress(
            EpochProgress(
                self._grouping,
                self._last,
                messages,
                self._expected,
                self._observer.epochs[-1].max_over_mean,
                messages / (time.monotonic() - self._started),
                phase,
            )
        )


def epochs_of(query: StreamingQuery) -> list[dict[str, Any]]:
    """Progress of the epochs that ran, without the reports of an idle query."""
    return [each for each in query.recentProgress if _ran(each)]


def _ran(progress: Any) -> bool:
    """Whether a report is of an epoch: an idle query reports the number of the epoch to come."""
    return "addBatch" in progress["durationMs"]


class Span(NamedTuple):
    """When an epoch ran, in ms.

    Parameters
    ----------
    began
        When Spark asked the source for it, since 1970.
    waited
        Until the source offered it: where messages arrive at a rate, until they were there.
    length
        From there to its commit: the latency of what it holds.
    """

    began: float
    waited: float
    length: float

    @property
    def ended(self) -> float:
        """When it was committed, since 1970."""
        return self.began + self.waited + self.length


def span(progress: Any) -> Span:
    """Read from an epoch's progress when it ran."""
    began = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
    durations = progress["durationMs"]
    # An epoch that an earlier process began is not asked for again.
    waited = float(durations.get("latestOffset", 0))
    return Span(began, waited, float(durations["triggerExecution"]) - waited)


def timing_of(query: StreamingQuery) -> Timing:
    """Read from a query's progress how long its epochs took."""
    epochs = epochs_of(query)
    if not epochs:
        return Timing(0.0, ())
    spans = [span(each) for each in epochs]
    held = [
        ran.length
        for each, ran in zip(epochs, spans, strict=True)
        if each["sources"][0]["numInputRows"]
    ]
    makespan = max(ran.ended for ran in spans) - min(ran.began for ran in spans)
    return Timing(makespan, tuple(held))
