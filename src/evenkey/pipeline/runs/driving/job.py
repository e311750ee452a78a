"""Base classes of jobs, and what a run gives them. A job is what a run does from source to sink."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import History, RunInfo
from evenkey.pipeline.runs.driving.epochs import EpochEnd
from evenkey.pipeline.runs.driving.faults import faults_named
from evenkey.pipeline.runs.driving.progress import Watch
from evenkey.pipeline.runs.driving.query import Gate, drive
from evenkey.pipeline.runs.driving.run_times import Timeline
from evenkey.pipeline.runs.driving.run_topics import NO_TOPICS
from evenkey.spark.sessions import ending_unlogged, fewer_processes, is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.stores import Store
    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.exporters import Exporter, ExportSummary
    from evenkey.pipeline.options import KafkaOptions, RunOptions
    from evenkey.pipeline.runs.driving.progress import Measures, OnProgress
    from evenkey.pipeline.runs.driving.run_recorder import Recorder
    from evenkey.pipeline.runs.driving.waiting import Look
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

    options: RunOptions
    topics: KafkaOptions | None = None
    """The options for the topics that the job reads or writes; None: no topics."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the job in progress reports."""

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
        """Start Spark, or return the existing session.

        Raises
        ------
        ConfigurationError
            The existing session is one of Spark Connect.
        """

    @staticmethod
    def classic(spark: SparkSession) -> SparkSession:
        """Return a session if a run can use it.

        Raises
        ------
        ConfigurationError
            The session is one of Spark Connect.
        """
        if is_remote(spark):
            message = (
                "the active session is a Spark Connect session, but a run commits its epochs in "
                "Spark's driver: stop the session first, or pass its DataFrames to evenkey.spark, "
                "evenkey.joins or evenkey.applications"
            )
            raise ConfigurationError(message)
        return spark

    def execute(
        self,
        spark: SparkSession,
        prepared: Prepared[ReportT],
        directory: RunDirectory,
        timeline: Timeline | None = None,
        *,
        on_progress: OnProgress | None = None,
        close: bool = True,
        recorder: Recorder | None = None,
        topics: OpenTopics = NO_TOPICS,
    ) -> ReportT:
        """Run the query of the job in a directory in which the run has begun; return the report.

        Parameters
        ----------
        spark, prepared, directory
            The session, the prepared job and the run's directory.
        timeline
            The times of the epochs of earlier processes; receives those of this process. None:
            there were no earlier processes.
        on_progress
            See `run`.
        close
            Whether windows are closed at the end.
        recorder
            See `Prepared.open`.
        topics
            The topics at the start of the run.
        """
        started = time.monotonic()
        work = prepared.open(spark, directory, recorder)
        timeline = timeline or Timeline()
        timeline.preceded_by(work.planning_ms)
        end = EpochEnd(
            spark,
            directory,
            work.sink,
            windowed=self.windowed,
            tallies=work.tallies,
            check=topics.check,
        )
        gate = Gate(directory.paused, work.asked_to_pause)

        def write(rows: DataFrame, epoch: int) -> None:
            gate.enter()
            end.write(work.emitted(rows), epoch)
            work.after(epoch)

        with fewer_processes(spark, directory.checkpoint):
            query = (
                work.rows.writeStream.foreachBatch(write)
                .option("checkpointLocation", directory.checkpoint)
                .outputMode("append")
                .start()
            )
        with ending_unlogged(query), faults_named(directory), topics.faults_named():
            watch = Watch(
                self.name, work.expected, work.measures, on_progress, timeline, work.offsets
            )
            finished = drive(
                spark,
                query,
                gate,
                directory,
                watch,
                work.offsets,
                time_limit=self.options.time_limit,
                close=close and self.windowed,
            )
            if finished:
                topics.check()
        timeline.take_in_all(query)
        work.measures.catch_up(query)
        return work.report(Outcome(query, finished, time.monotonic() - started, timeline))


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


class Topics(Protocol):
    """The topics that the options of a run name, or the lack of topics."""

    def opened(
        self, spark: SparkSession, directory: RunDirectory
    ) -> contextlib.AbstractContextManager[OpenTopics]:
        """Open the topics of a run, and record or compare their state."""


class OpenTopics(Protocol):
    """The topics of a running run, which other programs can change."""

    def looks(self) -> list[Look]:
        """Return functions that check whether the run waits for a topic."""

    def check(self) -> None:
        """Check that each topic is still the same as at the start of the run.

        Raises
        ------
        RunError
            A topic is gone or was created again, or no broker answers.
        """

    def faults_named(self) -> contextlib.AbstractContextManager[None]:
        """If a topic caused the error of a query, raise an error that names the topic instead."""


class Output(Protocol):
    """The place where a run keeps its directory after its end, or the lack of such a place."""

    @property
    def needs_spark(self) -> bool:
        """Whether Spark's settings determine how the place is reached."""

    def finished(
        self, job: Job[ReportT], spark: SparkSession | None, on_progress: OnProgress | None
    ) -> ReportT | None:
        """Return the report of the finished run in this place; None if there is no finished run."""

    def opened(self, spark: SparkSession | None) -> contextlib.AbstractContextManager[RunDirectory]:
        """Open and hold the directory of a run, as `RunDirectory.opened` does."""

    def digested(
        self, job: Job[ReportT], directory: RunDirectory
    ) -> contextlib.AbstractContextManager[Callable[[RunDirectory], None]]:
        """Note the input files; yield a function that stores their digests before a run begins."""

    def history(self, directory: RunDirectory) -> Store | None:
        """Return the store of the run's history; None: the run has no history."""

    def exporter(self, directory: RunDirectory) -> Callable[[RunInfo], Exporter] | None:
        """Return a function that makes the exporter of the run's history; None: no history."""
