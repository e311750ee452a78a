"""What a kind of run does between its source and its sink; the runner does what all runs share."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from evenkey.pipeline.exporters import History, RunInfo
from evenkey.pipeline.runs.driving.timing import epochs_of, span

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
    from evenkey.pipeline.runs.driving.timing import Timing
    from evenkey.pipeline.runs.output.directory import RunDirectory
    from evenkey.pipeline.runs.output.sinks import Sink
    from evenkey.pipeline.runs.output.tallies import Tallies


class Report(Protocol):
    """What a run reports when it has ended."""

    @property
    def finished(self) -> bool:
        """Whether the whole input was processed and all windows closed."""

    def exported(self, exports: tuple[ExportSummary, ...]) -> Self:
        """Give the same report, with what became of the records of each exporter."""

    def to_record(self) -> dict[str, Any]:
        """Give what the job's `restored` makes the report of, as JSON can hold it."""


ReportT = TypeVar("ReportT", bound=Report)


@dataclass(frozen=True)
class Outcome:
    """How a query ended.

    Parameters
    ----------
    query
        Stopped; its reports of progress can be read.
    finished
        Whether the whole input was processed and all windows closed.
    seconds
        From the planning of the query to its end.
    timing
        Of the epochs, those of earlier processes of the run included.
    """

    query: StreamingQuery
    finished: bool
    seconds: float
    timing: Timing

    @property
    def epoch_ms(self) -> dict[int, float]:
        """How long each epoch took that this process ran, by its number."""
        return {each["batchId"]: span(each).length for each in epochs_of(self.query)}


class Work(ABC, Generic[ReportT]):
    """A job at work: on its session, in its directory."""

    rows: DataFrame
    """Streaming: what the sink is given, epoch by epoch."""
    sink: Sink
    measures: Measures
    expected: int | None
    """Messages of the input, where that is known."""
    offsets: OffsetRange | None = None
    """What is read of topics; None for any other input."""
    asked_to_pause: bool = True
    """Whether the source looks at the sign to pause, and then offers no more."""
    tallies: Tallies | None = None
    """What must add up before an epoch is committed; None: nothing is tallied."""
    planning_ms: float = 0.0
    """What was done for the first epoch before it began."""

    def emitted(self, rows: DataFrame) -> DataFrame:
        """Give what the sink takes of the rows of an epoch."""
        return rows

    def after(self, epoch: int) -> None:
        """Do what an epoch's end asks for, such as planning the next one."""
        del epoch

    @abstractmethod
    def report(self, outcome: Outcome) -> ReportT:
        """Report the run, while its directory is there."""


class Job(ABC, Generic[ReportT]):
    """A kind of run with its options.

    A run is a chain of values, each given by a method of the one before: a job, what it found to
    read, what it has prepared, the work on that, the report.
    """

    windowed: ClassVar[bool] = False
    """Whether there are windows of event time that must be closed at the end of the input."""

    name: str
    """What runs, as progress shows it."""
    options: RunOptions
    topics: KafkaOptions | None = None
    """Topics that it reads or writes; None if there is no way to name any."""

    @abstractmethod
    def restored(self, record: Mapping[str, Any], directory: RunDirectory) -> ReportT:
        """Make the report of a run that was finished before; without Spark."""

    def input_files(self) -> Sequence[Path]:
        """Find the files that are read, as the options name them now."""
        return ()

    @abstractmethod
    def find(self, directory: RunDirectory) -> Found[ReportT]:
        """Find what is read, or what the run in this directory found before; without Spark."""

    @abstractmethod
    def session(self) -> SparkSession:
        """Start Spark, or take the session that there is."""


class Found(ABC, Generic[ReportT]):
    """A job that has found its input."""

    @abstractmethod
    def prepare(self, spark: SparkSession, directory: RunDirectory) -> Prepared[ReportT]:
        """Write down what the run needs and cannot change later; it begins after it."""


class Prepared(Found[ReportT]):
    """A job that can begin; where nothing is prepared, as soon as it has found its input."""

    def prepare(self, spark: SparkSession, directory: RunDirectory) -> Prepared[ReportT]:
        """Do nothing more."""
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
        """Say who runs; the run that a history belongs to keeps its name.

        Parameters
        ----------
        name
            What runs: a grouping's spelling, or a join's pipeline and mode.
        dataset
            Name of the dataset, or the input's paths.
        workers, sources
            How many there are.
        history
            Where this run's history lies, if it has one.
        load_unit
            What loads are counted in.
        """
        run = f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
        if history is not None:
            # Where there is none yet, or one that cannot be read, a new name will do.
            with contextlib.suppress(OSError, ValueError, TypeError):
                run = History(history).run().run
        return RunInfo(run, dataset, name, workers, sources, load_unit)

    @abstractmethod
    def info(self, history: Store | None) -> RunInfo:
        """Say who runs, for the exporters; a run that goes on keeps the name in its history."""

    @abstractmethod
    def warm_up(self, spark: SparkSession, directory: RunDirectory) -> None:
        """Start Python workers and load kernels, so that no measured epoch pays for it."""

    @abstractmethod
    def open(
        self, spark: SparkSession, directory: RunDirectory, recorder: Recorder | None
    ) -> Work[ReportT]:
        """Open the input and plan the work on it.

        Parameters
        ----------
        spark
            What `Job.session` gave.
        directory
            Of the run, which has begun.
        recorder
            Takes the record of each epoch that was measured; None: nobody does.
        """
