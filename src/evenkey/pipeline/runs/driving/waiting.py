"""Says that a run waits: for executors, where none has come, or for a transaction to end.

Spark says nothing of the second, and of the first in its log alone, whose warnings are not shown.
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
"""After so long what is waited for is reported again, if its details are others."""


class Awaited(NamedTuple):
    """What a run waits for.

    Parameters
    ----------
    phase
        What it is called.
    detail
        More about it: by whom, where, how long.
    """

    phase: Phase
    detail: str = ""


Look: TypeAlias = "Callable[[], Awaited | None]"
"""Says what the run waits for now, None where it does not."""


@contextlib.contextmanager
def waits_reported(
    looks: Sequence[Look], name: str, on_progress: OnProgress | None
) -> Iterator[OnProgress | None]:
    """Report, as a phase of the run, what its work has waited for for 15 seconds.

    Parameters
    ----------
    looks
        For what it may wait. They are called in a thread.
    name
        The grouping's spelling, or what else runs.
    on_progress
        Is called, from a thread too; where it is None, details are logged as warnings.

    Yields
    ------
    callable or None
        What to report the run's progress by inside.
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
        # One that asks a broker which is away takes longer; it reports nothing any more.
        thread.join(_FAREWELL_SECONDS)


def executors_looked_for(spark: SparkSession) -> list[Look]:
    """Give a look for executors where others may have them.

    A master may have given its cores to others, a driver that died without a farewell among them,
    or have no worker at all.
    """
    if (spark.conf.get("spark.master") or "").startswith("local"):
        return []
    return [lambda: Awaited("waiting for executors") if _waits(spark) else None]


def _waits(spark: SparkSession) -> bool:
    """Whether there is work, and nobody but the driver to do it."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()  # noqa: SLF001 - Python's lacks executors
    return len(tracker.getActiveJobIds()) > 0 and len(tracker.getExecutorInfos()) <= 1


def _log(progress: EpochProgress) -> None:
    if progress.detail:
        logger.warning("%s: %s%s", progress.grouping, progress.phase, progress.detail)


class _Waiting:
    """Passes a run's progress on, and puts phases of waiting between it.

    Parameters
    ----------
    looks
        For what it may wait.
    name
        What runs.
    on_progress
        Is called.
    """

    def __init__(self, looks: Sequence[Look], name: str, on_progress: OnProgress) -> None:
        self._looks = looks
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
        """Report that the run waits where it stood last."""
        stands = dataclasses.replace(self._last, phase=awaited.phase, detail=awaited.detail)
        self._on_progress(stands)
