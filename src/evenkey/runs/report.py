"""What a run tells: progress while it goes on, a report when it has ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evenkey.exporters import ExportSummary
from evenkey.metrics import EpochMetrics, epoch_figures
from evenkey.pipelines.aggregate.observer import RunMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from evenkey.groupings import By
    from evenkey.runs.directory import RunDirectory

__all__ = ["EpochProgress", "OnProgress", "RunReport", "Timing", "announce"]

_PATHS = ("results", "dead_letters", "state")

Phase = Literal["starting Spark", "warming up", "running", "closing", "pausing"]


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
        on_progress(EpochProgress(name, -1, 0, None, 0.0, 0.0, phase))


@dataclass(frozen=True)
class Timing:
    """When the epochs of a run ran.

    Parameters
    ----------
    makespan_ms
        From the start of the first epoch to the last commit, windows closed; of a run that was
        stopped and went on, the sum over its processes.
    epoch_ms
        Duration of each epoch that held messages, from when these were there to its commit.
    """

    makespan_ms: float
    epoch_ms: tuple[float, ...]

    def preceded_by(self, milliseconds: float) -> Timing:
        """Add work that was done for the first epoch before it began, such as counting it."""
        return replace(self, makespan_ms=self.makespan_ms + milliseconds)

    def after(self, earlier: Sequence[Timing]) -> Timing:
        """Add the epochs of earlier processes of the run."""
        everything = [*earlier, self]
        return Timing(
            sum(each.makespan_ms for each in everything),
            tuple(length for each in everything for length in each.epoch_ms),
        )


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
        Over the whole run, too.
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
    finished_before
        Whether an earlier process had finished it already, so that nothing was run.
    route_by, observe_by
        What messages counted for where they were routed, and in the loads: 1 or their weight.
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
    finished_before: bool = False
    route_by: By = "messages"
    observe_by: By = "messages"

    def to_record(self) -> dict[str, Any]:
        """Give what `restored` makes the report of, as JSON can hold it."""
        told = {each.name: getattr(self, each.name) for each in fields(RunReport)}
        nested = {
            "metrics": asdict(self.metrics),
            "epochs": [asdict(each) for each in self.epochs],
            "timing": asdict(self.timing),
            "exports": [asdict(each) for each in self.exports],
        }
        return {**told, **nested, "table": None, **{name: _text(told[name]) for name in _PATHS}}

    @staticmethod
    def restored(record: Mapping[str, Any], directory: RunDirectory) -> RunReport:
        """Make the report of a run that was finished before.

        Parameters
        ----------
        record
            What `to_record` gave.
        directory
            Where the run lies now.
        """
        here = (directory.results, directory.path / "dead-letters", directory.state)
        paths = zip(_PATHS, here, strict=True)
        timing = Timing(record["timing"]["makespan_ms"], tuple(record["timing"]["epoch_ms"]))
        metrics = {**record["metrics"], "loads": tuple(record["metrics"]["loads"])}
        nested = {
            "metrics": RunMetrics(**metrics),
            "epochs": tuple(EpochMetrics(**each) for each in record["epochs"]),
            "timing": timing,
            "exports": tuple(ExportSummary(**each) for each in record["exports"]),
            "finished_before": True,
            **{name: path if record[name] else None for name, path in paths},
        }
        return RunReport(**{**record, **nested})

    @property
    def messages_per_second(self) -> float:
        """Messages over the makespan; 0 if no epoch ran."""
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
            "route_by": self.route_by,
            "observe_by": self.observe_by,
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
            "finished_before": self.finished_before,
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
