"""The report of a run over keyed messages."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from evenkey.core.metrics import (
    EpochMetrics,
    Outcome,
    Pace,
    Paced,
    RunMetrics,
    epoch_figures,
    known,
)
from evenkey.pipeline.exporters import ExportSummary
from evenkey.pipeline.runs import Timing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self

    import pyarrow as pa

    from evenkey.groupings import By
    from evenkey.pipeline.runs import RunDirectory

_PATHS = ("results", "dead_letters", "state")


@dataclass(frozen=True)
class RunReport:
    """The figures of a finished or paused run; `to_json` uses the names of the command line.

    Parameters
    ----------
    dataset
        Name of the dataset, or the input's paths.
    grouping
        Spelling of the grouping, as at the end of the run.
    workers
        Number of workers, as at the end.
    sources
        Number of sources, as at the end.
    metrics
        Metrics of the whole run, including epochs before a restart.
    epochs
        Metrics of each epoch.
    timing
        Durations of the whole run and of its epochs.
    seconds
        Seconds from the start of the query to its end, without warm-up and session start.
    lines
        Number of lines or rows that were read.
    rejected
        Number of records in dead letters.
    late
        Number of partial aggregates that arrived after their window was closed.
    overflows
        Number of results that are null because a sum does not fit its type.
    finished
        Whether the whole input was processed and all windows closed.
    exports
        A summary of each exporter.
    table
        All results if the sink keeps them in memory, else None.
    results
        Path of the results; a URI if the output is a URI, and None without an output.
    dead_letters
        Path or URI of the dead letters; None without an output.
    state
        Path or URI of the state; None without an output.
    finished_before
        Whether an earlier process had already finished the run, so that nothing was left to run.
    route_by
        What a message counted as in routing: 1 (``messages``) or its weight (``weights``).
    observe_by
        What a message counted as in the reported loads: 1 (``messages``) or its weight
        (``weights``).

    Examples
    --------
    >>> from evenkey import PipelineConfig
    >>> config = PipelineConfig(dataset="country-skew-r80", messages=1000, epochs=1, workers=2)
    >>> from evenkey import run
    >>> report = run(config.with_options(grouping="sg"))  # doctest: +SKIP
    >>> report.finished, report.metrics.messages, report.metrics.max_over_mean  # doctest: +SKIP
    (True, 1000, 1.0)

    The figures to print or store, without the rows:

    >>> report.pace.messages_per_second > 0  # doctest: +SKIP
    True
    >>> report.to_json()["max_over_mean"]  # doctest: +SKIP
    1.0
    >>> report.exported(()).to_record()["lines"]  # doctest: +SKIP
    1000
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
    results: Path | str | None
    dead_letters: Path | str | None
    state: Path | str | None
    table: pa.Table | None = None
    exports: tuple[ExportSummary, ...] = ()
    overflows: int = 0
    finished_before: bool = False
    route_by: By = "messages"
    observe_by: By = "messages"

    def exported(self, exports: tuple[ExportSummary, ...]) -> Self:
        """Return the same report with `exports`, a summary of each exporter."""
        return replace(self, exports=exports)

    def to_record(self) -> dict[str, Any]:
        """Convert the report to values that JSON can represent; `restored` converts them back."""
        plain = {each.name: getattr(self, each.name) for each in fields(RunReport)}
        nested = {
            "metrics": asdict(self.metrics),
            "epochs": [asdict(each) for each in self.epochs],
            "timing": asdict(self.timing),
            "exports": [asdict(each) for each in self.exports],
        }
        return {
            **plain,
            **nested,
            "table": None,
            **{name: _text(plain[name]) for name in _PATHS},
        }

    @staticmethod
    def restored(record: Mapping[str, Any], directory: RunDirectory) -> RunReport:
        """Return the report of a finished run.

        Parameters
        ----------
        record
            The result of `to_record`.
        directory
            The directory of the run, which may have moved.
        """
        here = (directory.results, directory.dead_letters_place, directory.place("state"))
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
        """Throughput and durations of the whole run."""
        timing = self.timing
        return Pace.of(Paced(self.metrics.messages, timing.makespan_ms, timing.epoch_ms))

    def to_json(self) -> dict[str, Any]:
        """Return the figures under the names that all commands share."""
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


ReportT = TypeVar("ReportT", bound=RunReport)


def _text(path: Path | str | None) -> str | None:
    return None if path is None else str(path)
