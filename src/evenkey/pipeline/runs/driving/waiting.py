"""Report that a run waits for executors, or for the end of a transaction.

Spark reports missing executors only in its log, whose warnings are not shown. It does not report
open transactions at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from py4j.protocol import Py4JError

from evenkey.pipeline.runs.driving.progress import before_the_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from evenkey.pipeline.runs.driving.progress import EpochProgress, OnProgress, Phase

logger = logging.getLogger(__name__)

_POLL_SECONDS = 1.0
_PATIENCE_SECONDS = 15.0
_FAREWELL_SECONDS = 5.0
_AGAIN_SECONDS = 60.0
"""Interval after which a wait that continues is reported again, with its current details."""


class Awaited(NamedTuple):
    """The thing that a run waits for.

    Parameters
    ----------
    phase
        Name of the wait, as a phase of the run.
    detail
        What blocks the run, where, and for how long.
    """

    phase: Phase
    detail: str = ""


Look: TypeAlias = "Callable[[], Awaited | None]"
"""A function that returns what the run waits for now, or None if it does not wait."""


@contextlib.contextmanager
def waits_reported(
    looks: Sequence[Look], name: str, on_progress: OnProgress | None
) -> Iterator[OnProgress | None]:
    """Report a wait of at least 15 seconds as a phase of the run.

    Parameters
    ----------
    looks
        Functions that check for waits, called in a thread.
    name
        The grouping's spelling, or the name of another job.
    on_progress
        Called with the progress, also from the thread that calls `looks`; None: details are
        logged as warnings.

    Yields
    ------
    callable or None
        The function to call with the run's progress inside the block.
    """
    if not looks:
        yield on_progress
        return
    waiting = _Waiting(looks, name, _log if on_progress is None else on_progress)
    thread = threading.Thread(target=waiting.watch, name="evenkey-waits", daemon=True)
    thread.start()
    try:
        yield None if on_progress is None else waiting.pass_on
    finally:
        waiting.over.set()
        # The check of an unreachable broker may outlast this wait, but then reports nothing.
        thread.join(_FAREWELL_SECONDS)


def executors_looked_for(spark: SparkSession) -> list[Look]:
    """Return a list with a check for missing executors; empty if the master is local.

    A cluster may have no worker, or may have given its cores to other applications, such as that of
    a crashed driver.
    """
    if (spark.conf.get("spark.master") or "").startswith("local"):
        return []
    return [lambda: Awaited("waiting for executors") if _waits(spark) else None]


def _waits(spark: SparkSession) -> bool:
    """Return whether there is work, but no executor besides the driver."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()  # noqa: SLF001 - Python's lacks executors
    return len(tracker.getActiveJobIds()) > 0 and len(tracker.getExecutorInfos()) <= 1


def _log(progress: EpochProgress) -> None:
    if progress.detail:
        logger.warning("%s: %s%s", progress.grouping, progress.phase, progress.detail)


class _Waiting:
    """Forwards a run's progress, and inserts phases of waiting.

    Parameters
    ----------
    looks
        Functions that check for waits.
    name
        The name of the job.
    on_progress
        Called with the progress.
    """

    def __init__(self, looks: Sequence[Look], name: str, on_progress: OnProgress) -> None:
        self._looks = looks
        self._on_progress = on_progress
        self._last = before_the_first(name, "starting Spark")
        self.over = threading.Event()

    def pass_on(self, progress: EpochProgress) -> None:
        """Report the progress of the run."""
        self._last = progress
        self._on_progress(progress)

    def watch(self) -> None:
        """Check until the run or the JVM has ended."""
        with contextlib.suppress(Py4JError, OSError):
            since: float | None = None
            said: float | None = None
            while not self.over.wait(_POLL_SECONDS):
                awaited = next((found for look in self._looks if (found := look())), None)
                if self.over.is_set():
                    return
                now = time.monotonic()
                if awaited is None:
                    since = None
                    if said is not None:
                        self._on_progress(self._last)
                    said = None
                    continue
                since = now if since is None else since
                if now - since < _PATIENCE_SECONDS:
                    continue
                if said is None or (awaited.detail and now - said >= _AGAIN_SECONDS):
                    self._report(awaited)
                    said = now

    def _report(self, awaited: Awaited) -> None:
        """Report that the run waits, with its last progress."""
        stands = dataclasses.replace(self._last, phase=awaited.phase, detail=awaited.detail)
        self._on_progress(stands)
