"""Base classes of jobs. A job is what a run does between source and sink."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from evenkey.pipeline.exporters import History, RunInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.stores import Store
    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.exporters import ExportSummary
    from evenkey.pipeline.options import KafkaOptions, RunOptions
    from evenkey.pipeline.runs.driving.progress import Measures
    from evenkey.pipeline.runs.driving.run_recorder import Recorder
    from evenkey.pipeline.runs.driving.run_times import Timeline
    from evenkey.pipeline.runs.output.directory import RunDirectory
    from evenkey.pipeline.runs.output.sinks import Sink
    from evenkey.pipeline.runs.output.tallies import Tallies


class Report(Protocol):
    """The report of a run."""

    @property
    def finished(self) -> bool:
        """Whether the whole input was processed and all windows were closed."""

    def exported(self, exports: tuple[ExportSummary, ...]) -> Self:
        """Return the same report with a summary of each exporter."""

    def to_record(self) -> dict[str, Any]:
        """Convert the report to JSON values; `Job.restored` converts them back."""


ReportT = TypeVar("ReportT", bound=Report)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a query.

    Parameters
    ----------
    query
        The stopped query, with its progress reports.
    finished
        Whether the whole input was processed and all windows closed.
    seconds
        Seconds from the planning of the query to its end.
    timeline
        Times of the epochs, including those of earlier processes of the run.
    """

    query: StreamingQuery
    finished: bool
    seconds: float
    timeline: Timeline


class Work(ABC, Generic[ReportT]):
    """A running job, with its session and directory."""

    rows: DataFrame
    """The streaming DataFrame whose rows the sink receives, epoch by epoch."""
    sink: Sink
    measures: Measures
    expected: int | None
    """Number of messages in the input; None: unknown."""
    offsets: OffsetRange | None = None
    """The range of offsets that is read from topics; None for any other input."""
    asked_to_pause: bool = True
    """Whether the source itself checks the pause file, and offers nothing more once it exists."""
    tallies: Tallies | None = None
    """Counts that must add up before an epoch is committed; None: no counts are checked."""
    planning_ms: float = 0.0
    """Duration in ms of the work for the first epoch that is done before this epoch begins."""

    def emitted(self, rows: DataFrame) -> DataFrame:
        """Return the rows of an epoch for the sink."""
        return rows

    def after(self, epoch: int) -> None:
        """Do the work after an epoch, such as planning the next epoch."""
        del epoch

    @abstractmethod
    def report(self, outcome: Outcome) -> ReportT:
        """Return the report of the run; called while the run's directory still exists."""


class Job(ABC, Generic[ReportT]):
    """A kind of run with its options.

    A run goes through five objects, each returned by a method of the previous object: `Job`,
    `Found` (the input is found), `Prepared`, `Work` and the report.
    """

    windowed: ClassVar[bool] = False
    """Whether windows of event time must be closed at the end of the input."""

    name: str
    """The name of the job in progress reports."""
    options: RunOptions
    topics: KafkaOptions | None = None
    """The options for the topics that the job reads or writes; None: no topics."""

    @abstractmethod
    def restored(self, record: Mapping[str, Any], directory: RunDirectory) -> ReportT:
        """Return the report of a finished run, without Spark."""

    def input_files(self) -> Sequence[Path]:
        """Find the input files that the options name now."""
        return ()

    @abstractmethod
    def find(self, directory: RunDirectory) -> Found[ReportT]:
        """Find the input without Spark, or read the description that the run has already stored."""

    @abstractmethod
    def session(self) -> SparkSession:
        """Start Spark, or return the existing session."""


class Found(ABC, Generic[ReportT]):
    """A job that has found its input."""

    @abstractmethod
    def prepare(self, spark: SparkSession, directory: RunDirectory) -> Prepared[ReportT]:
        """Store, before the run begins, what the run needs and what must not change later."""


class Prepared(Found[ReportT]):
    """A job that can begin. `Job.find` returns it directly if there is nothing to prepare."""

    def prepare(self, spark: SparkSession, directory: RunDirectory) -> Prepared[ReportT]:
        """Return this object itself, which needs no preparation."""
        del spark, directory
        return self

    @staticmethod
    def who_runs(
        name: str,
        dataset: str,
        *,
        workers: int,
        sources: int,
        history: Store | None,
        load_unit: str = "messages",
    ) -> RunInfo:
        """Return the run's properties; if the run has a history, its name comes from there.

        Parameters
        ----------
        name
            A grouping's spelling, or a join's pipeline and mode.
        dataset
            Name of the dataset, or the input's paths.
        workers, sources
            Number of workers, and number of sources.
        history
            Location of this run's history; None: no history.
        load_unit
            The unit of loads, such as ``messages``.
        """
        run = f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
        if history is not None:
            # Without a readable history the run gets a new name.
            with contextlib.suppress(OSError, ValueError, TypeError):
                run = History(history).run().run
        return RunInfo(run, dataset, name, workers, sources, load_unit)

    @abstractmethod
    def info(self, history: Store | None) -> RunInfo:
        """Return the run's properties for exporters; a continued run keeps its name."""

    @abstractmethod
    def warm_up(self, spark: SparkSession, directory: RunDirectory) -> None:
        """Start Python workers and load kernels before the first measured epoch."""

    @abstractmethod
    def open(
        self, spark: SparkSession, directory: RunDirectory, recorder: Recorder | None
    ) -> Work[ReportT]:
        """Open the input and plan the work on it.

        Parameters
        ----------
        spark
            The session of `Job.session`.
        directory
            Directory of the run, which has begun.
        recorder
            Receives the record of each measured epoch; None: no recorder.
        """
