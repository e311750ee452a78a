"""What a run does between its source and its sink: the pipeline's own work, or another's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, TextIO

from evenkey.kafka.client import ClientSettings
from evenkey.pipelines.aggregate.inputs import Found, epoch_positions, find_input
from evenkey.pipelines.aggregate.plan import results
from evenkey.pipelines.aggregate.planning import PlannableInput
from evenkey.runs.sinks import ConsoleSink, FileSink, MemorySink, Sink
from evenkey.runs.topic_sink import KafkaSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.pipelines.aggregate.config import PipelineConfig
    from evenkey.runs.directory import RunDirectory
    from evenkey.runs.report import RunReport

__all__ = ["Job", "PipelineJob"]


class Job(ABC):
    """What is particular to a kind of run; the runner does what all runs share.

    The runner keeps the directory, the session, the observer and the exporters, drives the
    query, and goes on where an earlier run stopped.
    """

    windowed: ClassVar[bool]
    """Whether there are windows of event time that must be closed at the end of the input."""

    @abstractmethod
    def find(self, config: PipelineConfig, directory: RunDirectory) -> Found:
        """Find what is read, or what the run in this directory found before; without Spark."""

    def countable(self, found: Found, config: PipelineConfig) -> PlannableInput | None:
        """Give what a planner can count before it is routed; None where nothing can be."""
        del found, config
        return None

    @abstractmethod
    def plan(self, rows: DataFrame, config: PipelineConfig, directory: RunDirectory) -> DataFrame:
        """Plan the work on the streaming rows of the source; workers hold `PLACED` messages."""

    @abstractmethod
    def sink(self, config: PipelineConfig, directory: RunDirectory, console: TextIO | None) -> Sink:
        """Make what takes the outcome of each epoch."""

    def report(self, report: RunReport, directory: RunDirectory) -> RunReport:
        """Add to the report of the run, while its directory is there; without Spark."""
        del directory
        return report


class PipelineJob(Job):
    """The pipeline's own work: split, route, aggregate by window and key, write."""

    windowed = True

    def find(self, config: PipelineConfig, directory: RunDirectory) -> Found:
        """Find a dataset, files or topics."""
        return find_input(config, directory)

    def countable(self, found: Found, config: PipelineConfig) -> PlannableInput | None:
        """Give what can be read at any position: all but topics."""
        if found.reading is None:
            return None
        epoch_messages = epoch_positions(config, found.reading.total)
        return PlannableInput(found.reading, found.splitter, epoch_messages, config.sources)

    def plan(self, rows: DataFrame, config: PipelineConfig, directory: RunDirectory) -> DataFrame:
        """Plan the results of windows."""
        return results(rows, config, directory)

    def sink(self, config: PipelineConfig, directory: RunDirectory, console: TextIO | None) -> Sink:
        """Make the sink that the configuration names."""
        if config.sink == "memory":
            return MemorySink()
        if config.sink == "console":
            return ConsoleSink(console)
        files = FileSink(directory.commits, "json" if config.sink == "jsonl" else "parquet")
        if config.sink_address is None:
            return files
        topic = config.letters_topic(config.sink_address.topic)
        settings = ClientSettings.read(config.kafka_config)
        return KafkaSink(
            files,
            config.sink_address,
            topic,
            settings,
            directory.dead_letters,
            keys=config.key_names,
        )
