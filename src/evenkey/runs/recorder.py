"""The recorder: what the observer saw and how long it took, as records for the exporters."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from evenkey.exporters import EpochRecord, History, RunInfo
from evenkey.metrics import messages_per_second
from evenkey.runs.epoch_files import SPLITS
from evenkey.runs.timing import Span, span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from evenkey.exporters import Ending, Exports, ExportSummary
    from evenkey.pipelines.aggregate.observer import Observed
    from evenkey.runs.directory import RunDirectory
    from evenkey.runs.epoch_files import EpochFiles

__all__ = ["Recorder", "run_info"]

_SHORTEST_MS = 1.0
"""Spark reports whole milliseconds, and a rate over none is no number."""


def run_info(
    what: str, dataset: str, workers: int, sources: int, history: RunDirectory | None
) -> RunInfo:
    """Say who runs; a run that goes on keeps the name in its history.

    Parameters
    ----------
    what
        The grouping's spelling, or what else runs.
    dataset
        Name of the dataset, or the input's paths.
    workers, sources
        How many there are.
    history
        Where this run's history lies, if it has one.
    """
    name = f"{what}-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    if history is not None:
        # Where there is none yet, or one of another version, a new name will do.
        with contextlib.suppress(OSError, ValueError, TypeError):
            name = History(history.history).run().run
    return RunInfo(name, dataset, what, workers, sources)


class Recorder:
    """Makes a record of each epoch that this process ran, and offers it to the exporters.

    Parameters
    ----------
    exports
        Take the records; closed with the recorder.
    files
        Where splitters count what they rejected.
    """

    def __init__(self, exports: Exports, files: EpochFiles) -> None:
        self._exports = exports
        self._files = files
        self._spans: dict[int, Span] = {}
        self._first_start: float | None = None
        self._lengths: list[float] = []
        self._messages = 0
        self._rejected = 0
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._closed:
            # An interrupted run ends with its epoch, and can go on.
            self.close("paused" if _interrupted(kind) else "failed")

    def close(self, ending: Ending) -> tuple[ExportSummary, ...]:
        """Let the exporters write what is left, and tell what became of all."""
        self._closed = True
        return self._exports.close(ending)

    def time(self, progresses: Iterable[Any]) -> None:
        """Take in Spark's reports of epochs: when they started, how long they took."""
        for each in progresses:
            self._spans[each["batchId"]] = span(each)

    def record(self, seen: Observed) -> None:
        """Offer an epoch's record; one that an earlier process ran is only added up."""
        epoch, run = seen.epoch, seen.run
        self._rejected += self._rejected_in(epoch.epoch)
        if epoch.epoch not in self._spans:
            return
        ran = self._spans.pop(epoch.epoch)
        length = max(ran.length, _SHORTEST_MS)
        if self._first_start is None:
            self._first_start = ran.began
        duration_ms = max(ran.ended - self._first_start, _SHORTEST_MS)
        self._lengths.append(length)
        self._messages += epoch.messages
        p50, p99 = np.percentile(self._lengths, [50, 99])
        self._exports.offer(
            EpochRecord(
                epoch=epoch.epoch,
                ended=ran.ended / 1000,
                messages=epoch.messages,
                total_count=run.messages,
                rejected=self._rejected,
                duration=duration_ms / 1000,
                throughput=messages_per_second(self._messages, duration_ms / 1000),
                epoch_throughput=messages_per_second(epoch.messages, length / 1000),
                latency_ms=length,
                latency_p50_ms=float(p50),
                latency_p99_ms=float(p99),
                std_dev=run.stddev_percent,
                epoch_std_dev=epoch.stddev_percent,
                dist_cost=run.dist_cost,
                epoch_dist_cost=epoch.dist_cost,
                max_over_mean=run.max_over_mean,
                epoch_max_over_mean=epoch.max_over_mean,
                loads=run.loads,
                epoch_loads=seen.loads,
                hottest=seen.hottest,
            )
        )

    def _rejected_in(self, epoch: int) -> int:
        counts = self._files.read(SPLITS, [epoch])
        return 0 if counts is None else int(pc.sum(counts["rejected"]).as_py())


def _interrupted(kind: type[BaseException] | None) -> bool:
    return kind is not None and issubclass(kind, KeyboardInterrupt)
