"""Progress of a run, reported while it runs."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from evenkey.core.metrics import Paced
from evenkey.pipeline.runs.driving.run_times import ran

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.metrics import Balance
    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.runs.driving.run_times import Timeline

Phase = Literal[
    "already finished",
    "continuing",
    "finding the input",
    "starting Spark",
    "warming up",
    "first epoch",
    "waiting for executors",
    "waiting for a transaction",
    "running",
    "closing",
    "pausing",
]


@dataclass(frozen=True)
class EpochProgress:
    """The progress of a run.

    Parameters
    ----------
    grouping
        The grouping's spelling, or the name of another job.
    epoch
        The last epoch that ended; -1 before the end of the first epoch.
    messages, expected
        Input messages so far, and input messages in the whole run; None if their number is unknown.
    max_over_mean, messages_per_second
        Figures of the run so far, as declared in `evenkey.core.metrics.FIGURES`.
    share
        Share of the topics' offsets that was read; None for any other input. This differs from the
        share of messages, because transactions and compaction leave offsets without records.
    detail
        Text to add to the phase, such as the transaction that the run waits for.

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
"""A function that is called with a run's progress when an epoch has ended or a phase begins."""


def before_the_first(name: str, phase: Phase) -> EpochProgress:
    """Return the progress of a run before its first epoch."""
    return EpochProgress(name, -1, 0, None, 0.0, 0.0, phase)


def announce(on_progress: OnProgress | None, name: str, phase: Phase, detail: str = "") -> None:
    """Report that a run is in a phase before its first epoch.

    Parameters
    ----------
    on_progress
        Called with the progress; None: no calls.
    name
        The grouping's spelling, or the name of another job.
    phase
        A phase such as ``starting Spark``.
    detail
        See `EpochProgress`.
    """
    if on_progress is not None:
        on_progress(dataclasses.replace(before_the_first(name, phase), detail=detail))


class Measures(Protocol):
    """Measures the epochs of a run after they have ended; each kind of job has its own class."""

    @property
    def balance(self) -> Balance | None:
        """Messages and load balance of all measured epochs; None: no epoch yet."""

    def catch_up(self, query: StreamingQuery, last: int | None = None) -> None:
        """Measure the epochs that have ended, up to epoch `last`; None: all of them."""


@dataclass
class Watch:
    """Reports each epoch after it has ended.

    Parameters
    ----------
    name
        The name of the job.
    expected
        Number of messages of the source; None: unknown.
    measures
        Measures each epoch before it is reported.
    on_progress
        Called with the progress; None: no calls.
    timeline
        Receives Spark's report of each epoch before the epoch is measured.
    offsets
        The range of offsets that is read from topics; None for any other input.
    """

    name: str
    expected: int | None
    measures: Measures
    on_progress: OnProgress | None
    timeline: Timeline
    offsets: OffsetRange | None = None
    _share: float | None = field(default=None, init=False)
    _last: int = field(default=-1, init=False)
    _reported: Phase | None = field(default=None, init=False)

    def look(self, query: StreamingQuery, phase: Phase) -> None:
        """Report the last epoch, if it has ended since the last call."""
        progress = query.lastProgress
        if progress is None or not ran(progress) or progress["batchId"] <= self._last:
            return
        # Reading all recent progress reports takes long: do it only if an epoch was missed.
        next_one = progress["batchId"] == self._last + 1
        if next_one:
            self.timeline.take_in([progress])
        else:
            self.timeline.take_in_all(query)
        self._last = progress["batchId"]
        if self.offsets is not None:
            ends = (_read(each["endOffset"]) for each in progress["sources"])
            self._share = self.offsets.share(self.offsets.ends_of(ends))
        self.measures.catch_up(query, self._last)
        if self.measures.balance is not None:
            self._report(phase)

    def ended(self, query: StreamingQuery) -> None:
        """Report the figures of the run after its last epoch."""
        self.look(query, "running")
        if self._reported != "running" and self.measures.balance is not None:
            self._report("running")

    def pausing(self) -> None:
        """Report that the run ends with the current epoch."""
        self._report("pausing")

    def _report(self, phase: Phase) -> None:
        self._reported = phase
        if self.on_progress is None:
            return
        balance, times = self.measures.balance, self.timeline.timing(self._last)
        messages = 0 if balance is None else balance.messages
        self.on_progress(
            EpochProgress(
                self.name,
                self._last,
                messages,
                self.expected,
                0.0 if balance is None else balance.max_over_mean,
                Paced(messages, times.makespan_ms, times.epoch_ms).messages_per_second,
                phase,
                self._share,
            )
        )


def _read(offset: str) -> Any:
    """Parse a source's offset in Spark's progress; text that is not JSON means no offset (None)."""
    try:
        return json.loads(offset)
    except ValueError:
        return None
