"""Where a run stands, reported while it goes on."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from evenkey.pipeline.runs.driving.timing import epochs_of, ran

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.runs.driving.run_recorder import Recorder

Phase = Literal[
    "starting Spark",
    "warming up",
    "waiting for executors",
    "waiting for a transaction",
    "running",
    "closing",
    "pausing",
]


@dataclass(frozen=True)
class EpochProgress:
    """Where a run stands.

    Parameters
    ----------
    grouping
        Its spelling, or what else runs.
    epoch
        The last epoch that ended; -1 before the first.
    messages, expected
        Messages so far, and in the whole run where that is known (input messages, so that
        both count what the source gave).
    max_over_mean
        Of the loads of that epoch.
    messages_per_second
        Messages over the time since the first epoch started.
    share
        Of the offsets of topics that were read; None for any other input. It is no share of
        messages: transactions and compaction leave offsets without records.
    detail
        What to add to the phase, such as which transaction is waited for.

    Examples
    --------
    >>> stands = EpochProgress("pkg", 3, 40_000, 80_000, 1.02, 7_500.0, "running")
    >>> f"{stands.grouping}: {stands.messages / stands.expected:.0%}"
    'pkg: 50%'
    """

    grouping: str
    epoch: int
    messages: int
    expected: int | None
    max_over_mean: float
    messages_per_second: float
    phase: Phase
    share: float | None = None
    detail: str = ""


OnProgress: TypeAlias = "Callable[[EpochProgress], None]"
"""Is called when an epoch has ended."""


def before_the_first(name: str, phase: Phase) -> EpochProgress:
    """Say where a run stands before its first epoch."""
    return EpochProgress(name, -1, 0, None, 0.0, 0.0, phase)


def announce(on_progress: OnProgress | None, name: str, phase: Phase) -> None:
    """Report that a run is in a phase before its first epoch.

    Parameters
    ----------
    on_progress
        Is called; None is nobody.
    name
        The grouping's spelling, or what else runs.
    phase
        Such as ``starting Spark``.
    """
    if on_progress is not None:
        on_progress(before_the_first(name, phase))


class Measures(Protocol):
    """Measures the epochs of a run once they have ended; each kind of job has its own."""

    @property
    def messages(self) -> int:
        """Messages of the epochs that were taken in."""

    @property
    def max_over_mean(self) -> float | None:
        """Of the loads of the last epoch that was taken in; None before the first."""

    def catch_up(self, query: StreamingQuery, last: int | None = None) -> None:
        """Take in the epochs that have ended, or those up to the last of them."""


class Watch:
    """Reports each epoch once it has ended.

    Parameters
    ----------
    name
        What runs.
    expected
        Messages that the source has, where that is known.
    measures
        Takes in each epoch before it is reported.
    on_progress
        Is called.
    recorder
        Is given how long the epochs took, before they are measured.
    offsets
        What is read of topics; None for any other input.
    """

    def __init__(
        self,
        name: str,
        expected: int | None,
        measures: Measures,
        on_progress: OnProgress | None,
        recorder: Recorder | None = None,
        offsets: OffsetRange | None = None,
    ) -> None:
        self._offsets = offsets
        self._share: float | None = None
        self._name = name
        self._expected = expected
        self._measures = measures
        self._on_progress = on_progress
        self._recorder = recorder
        self._last = -1
        self._started = time.monotonic()

    def look(self, query: StreamingQuery, phase: Phase) -> None:
        """Report the last epoch, if it has ended since the last look."""
        progress = query.lastProgress
        nobody = self._on_progress is None and self._recorder is None
        if nobody or progress is None or not ran(progress) or progress["batchId"] <= self._last:
            return
        if self._recorder is not None:
            # All of recent progress is long: it is read only where an epoch went by unseen.
            next_one = progress["batchId"] == self._last + 1
            self._recorder.time([progress] if next_one else epochs_of(query))
        self._last = progress["batchId"]
        if self._offsets is not None:
            ends = (_read(each["endOffset"]) for each in progress["sources"])
            self._share = self._offsets.share(self._offsets.ends_of(ends))
        self._measures.catch_up(query, self._last)
        if self._measures.max_over_mean is not None:
            rate = self._measures.messages / (time.monotonic() - self._started)
            self._report(phase, self._measures.max_over_mean, rate)

    def pausing(self) -> None:
        """Report that the run ends with the epoch that it is in."""
        self._report("pausing", 0.0, 0.0)

    def _report(self, phase: Phase, max_over_mean: float, rate: float) -> None:
        if self._on_progress is not None:
            seen = self._measures.messages
            self._on_progress(
                EpochProgress(
                    self._name,
                    self._last,
                    seen,
                    self._expected,
                    max_over_mean,
                    rate,
                    phase,
                    self._share,
                )
            )


def _read(offset: str) -> Any:
    """Read the offset of a source in Spark's report; a source without one is no JSON there."""
    try:
        return json.loads(offset)
    except ValueError:
        return None
