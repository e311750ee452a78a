"""The recorder: makes records to export from each epoch's figures and duration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from evenkey.core.metrics import Pace, Paced, Standing
from evenkey.pipeline.exporters import EpochRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from evenkey.core.metrics import Value
    from evenkey.pipeline.exporters import Ending, Exports, ExportSummary, HotKey
    from evenkey.pipeline.runs.driving.run_times import At, Timeline


@dataclass
class Recorder:
    """Makes a record of each epoch and offers it to the exporters, independently of the job.

    All exporters receive the records of the epochs that this process runs. The record of an epoch
    that an earlier process ran goes only to histories that lack this record, because that process
    was killed before the export.

    Parameters
    ----------
    exports
        The exporters, which receive the records; closed with the recorder.
    timeline
        The times of the run's epochs.
    """

    exports: Exports
    timeline: Timeline
    _closed: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._closed:
            # An interrupted run ends after its current epoch, and can continue.
            self.close("paused" if _interrupted(kind) else "failed")

    def close(self, ending: Ending) -> tuple[ExportSummary, ...]:
        """Let the exporters write the remaining records, and return their summaries."""
        self._closed = True
        return self.exports.close(ending)

    def record(
        self,
        epoch: int,
        figures: Mapping[str, Value],
        hottest: tuple[HotKey, ...] = (),
        owners: tuple[int, ...] = (),
    ) -> None:
        """Offer the record of an epoch.

        Parameters
        ----------
        epoch
            Number of the epoch; epochs come in order.
        figures
            The job's figures, by the names of `evenkey.core.metrics.FIGURES`, including
            ``messages``; this method adds rates, durations, lag and state.
        hottest, owners
            See `EpochRecord`.
        """
        at = self.timeline.at(epoch)
        if at is None or not (at.own or self.exports.lacks(epoch)):
            return
        measured = {**figures, **_paced(figures, at), **Standing.of(at.stood).named(of_epoch=True)}
        # Leave out unknown figures, which are NaN: few formats support NaN.
        known = {name: each for name, each in measured.items() if not _is_nan(each)}
        record = EpochRecord(epoch, at.epoch.ended / 1000, known, hottest, owners)
        (self.exports.offer if at.own else self.exports.complete)(record)


def _paced(figures: Mapping[str, Value], at: At) -> dict[str, Value]:
    """Return rates and durations of the run, and of its last epoch if it had messages."""
    messages, length = cast("int", figures["messages"]), at.epoch.length
    run = Pace.of(Paced(messages, at.run.makespan_ms, at.run.epoch_ms)).named(of_epoch=False)
    if "epoch_messages" not in figures:
        return run
    epoch = Paced(cast("int", figures["epoch_messages"]), length, [length])
    return {**run, **Pace.of(epoch).named(of_epoch=True)}


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _interrupted(kind: type[BaseException] | None) -> bool:
    return kind is not None and issubclass(kind, KeyboardInterrupt)
