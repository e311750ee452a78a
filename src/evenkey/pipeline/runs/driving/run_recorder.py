"""The recorder: makes records to export from each epoch's figures and duration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from evenkey.core.metrics import Pace, Paced
from evenkey.pipeline.exporters import EpochRecord
from evenkey.pipeline.runs.driving.timing import Span, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from evenkey.core.metrics import Value
    from evenkey.pipeline.exporters import Ending, Exports, ExportSummary, HotKey

_SHORTEST_MS = 1.0
"""Shortest duration to assume: Spark reports whole ms, and a rate over 0 ms is undefined."""


@dataclass
class _Clock:
    """Adds up the times and messages of the epochs of one process."""

    began: float | None = None
    messages: int = 0
    lengths: list[float] = field(default_factory=list)

    def add(self, ran: Span, messages: int) -> None:
        """Add an epoch."""
        if self.began is None:
            self.began = ran.began
        self.messages += messages
        self.lengths.append(max(ran.length, _SHORTEST_MS))

    def figures(self, ended: float, messages: int) -> dict[str, Value]:
        """Return rates and latencies of the run, and of its last epoch with `messages` messages."""
        length, began = self.lengths[-1], ended if self.began is None else self.began
        makespan = max(ended - began, _SHORTEST_MS)
        run = Pace.of(Paced(self.messages, makespan, self.lengths))
        epoch = Pace.of(Paced(messages, length, [length]))
        return {**run.named(of_epoch=False), **epoch.named(of_epoch=True)}


class Recorder:
    """Makes a record of each epoch and offers it to the exporters, independently of the job.

    All exporters receive the records of the epochs that this process runs. The record of an epoch
    that an earlier process ran goes only to histories that lack this record, because that process
    was killed before the export.

    Parameters
    ----------
    exports
        The exporters, which receive the records; closed with the recorder.
    earlier
        By number, the claim and times of each epoch that an earlier process committed; None: no
        epochs.
    """

    def __init__(
        self, exports: Exports, earlier: Mapping[int, tuple[int, Span]] | None = None
    ) -> None:
        self._exports = exports
        self._earlier = dict(earlier or {})
        self._spans: dict[int, Span] = {}
        self._clocks: dict[int | None, _Clock] = {}
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._closed:
            # An interrupted run ends after its current epoch, and can continue.
            self.close("paused" if _interrupted(kind) else "failed")

    def close(self, ending: Ending) -> tuple[ExportSummary, ...]:
        """Let the exporters write the remaining records, and return their summaries."""
        self._closed = True
        return self._exports.close(ending)

    def time(self, progresses: Iterable[Any]) -> None:
        """Record from Spark's reports when epochs started and how long they took."""
        for each in progresses:
            self._spans[each["batchId"]] = span(each)

    def record(
        self, epoch: int, figures: Mapping[str, Value], hottest: tuple[HotKey, ...] = ()
    ) -> None:
        """Offer the record of an epoch.

        Parameters
        ----------
        epoch
            Number of the epoch; epochs come in order.
        figures
            The job's figures, by the names of `evenkey.core.metrics.FIGURES`, including
            ``epoch_messages``; this method adds rates and latencies.
        hottest
            Hottest keys of the epoch, the hottest key first.
        """
        own = epoch in self._spans
        if not own and epoch not in self._earlier:
            return
        claim, ran = (None, self._spans.pop(epoch)) if own else self._earlier.pop(epoch)
        messages = cast("int", figures["epoch_messages"])
        clock = self._clocks.setdefault(claim, _Clock())
        clock.add(ran, messages)
        if own or self._exports.lacks(epoch):
            measured = {**figures, **clock.figures(ran.ended, messages)}
            # Leave out unknown figures, which are NaN: few formats support NaN.
            known = {name: each for name, each in measured.items() if not _is_nan(each)}
            record = EpochRecord(epoch, ran.ended / 1000, known, hottest)
            (self._exports.offer if own else self._exports.complete)(record)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _interrupted(kind: type[BaseException] | None) -> bool:
    return kind is not None and issubclass(kind, KeyboardInterrupt)
