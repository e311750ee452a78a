"""What a run reports: progress while it goes on, a report when it has ended."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evenkey.exporters import ExportSummary
from evenkey.metrics import EpochMetrics, Outcome, Pace, Paced, RunMetrics, epoch_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from evenkey.groupings import By
    from evenkey.metrics import Figures
    from evenkey.runs.directory import RunDirectory

__all__ = ["EpochProgress", "OnProgress", "RunReport", "Timing", "announce", "known"]

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
        nested = {
            "metrics": RunMetrics.restored(record["metrics"]),
            "epochs": tuple(EpochMetrics.restored(each) for each in record["epochs"]),
            "timing": timing,
            "exports": tuple(ExportSummary(**each) for each in record["exports"]),
            "finished_before": True,
            **{name: path if record[name] else None for name, path in paths},
        }
        return RunReport(**{**record, **nested})

    @property
    def pace(self) -> Pace:
        """How fast messages went through, over the whole run."""
        timing = self.timing
        return Pace.of(Paced(self.metrics.messages, timing.makespan_ms, timing.epoch_ms))

    def to_json(self) -> dict[str, Any]:
        """Give the figures under the names that all commands share."""
        return {
            "dataset": self.dataset,
            "grouping": self.grouping,
            "workers": self.workers,
            "sources": self.sources,
            "route_by": self.route_by,
            "observe_by": self.observe_by,
            **known(self.metrics),
            "loads": list(self.metrics.loads),
            **known(Outcome.of(self)),
            **known(self.pace),
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


def known(figures: Figures) -> dict[str, Any]:
    """Give figures of a run as JSON can hold them; None where one is not known."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in figures.named(of_epoch=False).items()
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
