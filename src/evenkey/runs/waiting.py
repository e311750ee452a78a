"""Says that a run waits for executors, where none has come.

Spark says so in its log alone, whose warnings are not shown.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from evenkey.runs.progress import before_the_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from evenkey.runs.progress import EpochProgress, OnProgress, Phase

_POLL_SECONDS = 1.0
_PATIENCE_SECONDS = 15.0


@contextlib.contextmanager
def executors_awaited(
    spark: SparkSession, name: str, on_progress: OnProgress | None
) -> Iterator[OnProgress | None]:
    """Report, as a phase of the run, that its work has waited for an executor for 15 seconds.

    A master may have given its cores to others, a driver that died without a farewell among them,
    or have no worker at all.

    Parameters
    ----------
    spark
        Where the run is.
    name
        The grouping's spelling, or what else runs.
    on_progress
        Is called, from a thread too.

    Yields
    ------
    callable or None
        What to report the run's progress by inside.
    """
    if on_progress is None or (spark.conf.get("spark.master") or "").startswith("local"):
        yield on_progress
        return
    awaited = _Awaited(lambda: _waits(spark), name, on_progress)
    thread = threading.Thread(target=awaited.watch, name="evenkey-executors", daemon=True)
    thread.start()
    try:
        yield awaited.pass_on
    finally:
        awaited.over.set()
        thread.join()


def _waits(spark: SparkSession) -> bool:
    """Whether there is work, and nobody but the driver to do it."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()  # noqa: SLF001 - Python's lacks executors
    return len(tracker.getActiveJobIds()) > 0 and len(tracker.getExecutorInfos()) <= 1


class _Awaited:
    """Passes a run's progress on, and puts a phase of its own between it.

    Parameters
    ----------
    waits
        Whether work waits for an executor.
    name
        What runs.
    on_progress
        Is called.
    """

    def __init__(self, waits: Callable[[], bool], name: str, on_progress: OnProgress) -> None:
        self._waits = waits
        self._on_progress = on_progress
        self._last = before_the_first(name, "starting Spark")
        self.over = threading.Event()

    def pass_on(self, progress: EpochProgress) -> None:
        """Report where the run stands."""
        self._last = progress
        self._on_progress(progress)

    def watch(self) -> None:
        """Look until the run is over, or Java is."""
        with contextlib.suppress(Py4JError, OSError):
            since: float | None = None
            said = False
            while not self.over.wait(_POLL_SECONDS):
                if not self._waits():
                    since = None
                    if said:
                        self._report()
                    said = False
                    continue
                since = time.monotonic() if since is None else since
                if not said and time.monotonic() - since >= _PATIENCE_SECONDS:
                    self._report(waiting=True)
                    said = True

    def _report(self, *, waiting: bool = False) -> None:
        """Report where the run stood last, or that it waits there."""
        phase: Phase = "waiting for executors" if waiting else self._last.phase
        self._on_progress(dataclasses.replace(self._last, phase=phase))
