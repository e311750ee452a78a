"""What a run tells: progress while it goes on, a report when it has ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evenkey.metrics import epoch_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

    from evenkey.exporters import ExportSummary
    from evenkey.metrics import EpochMetrics
    from evenkey.topology.observer import RunMetrics

__all__ = ["EpochProgress", "OnProgress", "RunReport", "Timing"]

Phase = Literal["warming up", "running", "closing"]


@dataclass(frozen=True)
class EpochProgress:
    """Where a run stands.

    Parameters
    ----------
    grouping
        Its spelling.
    epoch
        The last epoch that ended; -1 before the first.
    messages, expected
        Messages so far, and in the whole run where that is known (input messages, so that
        both count what the source gave).
    max_over_mean
        Of the loads of that epoch.
    messages_per_second
        Messages over the time since the first epoch started.
    """

    grouping: str
    epoch: int
    messages: int
    expected: int | None
    max_over_mean: float
    messages_per_second: float
    phase: Phase


OnProgress: TypeAlias = "Callable[[EpochProgress], None]"
"""Is told when an epoch has ended."""


@dataclass(frozen=True)
class Timing:
    """When the epochs of this process ran.

    Parameters
    ----------
    makespan_ms
        From the start of the first epoch to the last commit, windows closed.
    epoch_ms
        Duration of each epoch that held messages, from when these were there to its commit.
    """

    makespan_ms: float
    epoch_ms: tuple[float, ...]

    def preceded_by(self, milliseconds: float) -> Timing:
        """Add work that was done for the first epoch before it began, such as counting it."""
        return replace(self, makespan_ms=self.makespan_ms + milliseconds)


@dataclass(frozen=True)
class RunReport:
    """The figures of a finished or paused run; `to_json` has the names of the command line.

    Parameters
    ----------
    dataset
        Name of the dataset, or the input's paths.
    metrics
        Over the whole run, epochs before a restart included.
    epochs
        Each epoch's own metrics.
    timing
        Of the epochs that this process ran.
    seconds
        From the start of the query to its end, warm-up and session start left out.
    rejected
        Records in dead letters.
    late
        Partial aggregates that came after their window was closed.
    overflows
        Results that are null because a sum does not fit its type.
    finished
        Whether the whole input was processed and all windows closed.
    exports
        What became of the points of each exporter.
    """

    dataset: str
    grouping: str
    workers: int
    sources: int
    metrics: RunMetrics
    epochs: Sequence[EpochMetrics]
    timing: Timing
    seconds: float
    lines: int
    rejected: int
    late: int
    finished: bool
    results: Path | None
    dead_letters: Path | None
    state: Path | None
    table: pa.Table | None = None
    exports: tuple[ExportSummary, ...] = ()
    overflows: int = 0

    @property
    def messages_per_second(self) -> float:
        """Messages over the makespan; 0 if this process ran no epoch."""
        milliseconds = self.timing.makespan_ms
        return 1000 * self.metrics.messages / milliseconds if milliseconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Give the figures under the names that all commands share."""
        metrics = self.metrics
        return {
            "dataset": self.dataset,
            "grouping": self.grouping,
            "workers": self.workers,
            "sources": self.sources,
            "messages": metrics.messages,
            "lines": self.lines,
            "rejected": self.rejected,
            "late": self.late,
            "overflows": self.overflows,
            "keys": metrics.keys,
            "pairs": metrics.pairs,
            "loads": list(metrics.loads),
            "max_over_mean": metrics.max_over_mean,
            "imbalance_fraction": metrics.imbalance_fraction,
            "average_imbalance_fraction": metrics.average_imbalance_fraction,
            "stddev_percent": metrics.stddev_percent,
            "dist_cost": metrics.dist_cost,
            "dist_cost_lower_bound": metrics.dist_cost_lower_bound,
            "seconds": self.seconds,
            "makespan_ms": self.timing.makespan_ms,
            "messages_per_second": self.messages_per_second,
            "latency_ms": _latency(self.timing.epoch_ms),
            **epoch_figures(self.epochs),
            "finished": self.finished,
            "exports": [each.to_json() for each in self.exports],
            "output": {
                "results": _text(self.results),
                "dead_letters": _text(self.dead_letters),
                "state": _text(self.state),
            },
        }


def _latency(milliseconds: Sequence[float]) -> dict[str, float | None]:
    if not milliseconds:
        return {"p50": None, "p99": None}
    return {f"p{part}": float(np.percentile(milliseconds, part)) for part in (50, 99)}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
