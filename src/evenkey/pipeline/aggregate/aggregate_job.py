"""The job of a pipeline: split, route, aggregate by window and key, write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from pyspark import cloudpickle

from evenkey.aggregators import modules_of
from evenkey.aggregators import parse as parse_aggregator
from evenkey.core.streams import find_files
from evenkey.kafka import check_loaded
from evenkey.pipeline.aggregate.changed_functions import note_functions
from evenkey.pipeline.aggregate.config import PipelineConfig
from evenkey.pipeline.aggregate.dataflow import results
from evenkey.pipeline.aggregate.key_planner import PlannableInput
from evenkey.pipeline.aggregate.keyed import KeyedWork, keyed_session
from evenkey.pipeline.aggregate.messages.message_input import find_input, open_input
from evenkey.pipeline.aggregate.report import RunReport
from evenkey.pipeline.aggregate.sink_names import sink_of
from evenkey.pipeline.options import GroupingOptions, WorkOptions, check_configuration
from evenkey.pipeline.runs import (
    Job,
    Prepared,
    RunDirectory,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store
    from evenkey.pipeline.aggregate.messages.kept import FoundInput
    from evenkey.pipeline.exporters import RunInfo
    from evenkey.pipeline.options import KeyedOptions
    from evenkey.pipeline.runs import Outcome, Recorder

_WARM_UP_MESSAGES_PER_WORKER = 20


class AggregateJob(Job[RunReport]):
    """The job that runs a pipeline.

    Parameters
    ----------
    config
        The configuration of the pipeline.
    console
        Where the console sink prints; None: standard output.
    """

    windowed = True

    def __init__(self, config: PipelineConfig, console: TextIO | None = None) -> None:
        check_configuration(config, PipelineConfig)
        self.options = self.topics = self.config = config
        self._console = console

    @property
    def name(self) -> str:
        """The spelling of the grouping."""
        return str(self.config.resolved_grouping())

    def restored(self, record: Mapping[str, Any], directory: RunDirectory) -> RunReport:
        """Return the report of a finished run."""
        return RunReport.restored(record, directory)

    def input_files(self) -> Sequence[Path]:
        """Find the files that the option ``input`` names."""
        return find_files(self.config.input)

    def find(self, directory: RunDirectory) -> _FoundAggregate:
        """Find the input: a dataset, files or topics."""
        found = find_input(self.config, directory)
        return _FoundAggregate(self.name, self.config, found, self._console)

    def session(self) -> SparkSession:
        """Return a session; if the run reads or writes topics, it has the Kafka connector."""
        config = self.config
        topics = config.kafka is not None or config.output_kafka is not None
        spark = self.classic(
            keyed_session(config, shuffle_partitions=config.aggregators, topics=topics)
        )
        if config.avro_schema is not None:
            check_loaded(spark, avro=True)
        for module in modules_of(config.aggregator):
            # Executors may lack the user's module, so its functions are pickled into the tasks.
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        return spark


@dataclass(frozen=True)
class _FoundAggregate(Prepared[RunReport]):
    name: str
    config: PipelineConfig
    found: FoundInput
    console: TextIO | None

    def info(self, history: Store | None) -> RunInfo:
        """Return the run's properties."""
        config = self.config
        return self.who_runs(
            self.name,
            self.found.name,
            workers=config.workers,
            sources=config.routers,
            history=history,
            load_unit=config.observe_by,
        )

    def warm_up(self, spark: SparkSession, directory: RunDirectory) -> None:
        """Warm up with a small stream."""
        warm_up(spark, self.config, directory)

    def open(
        self, spark: SparkSession, directory: RunDirectory, recorder: Recorder | None
    ) -> _AggregateWork:
        """Open the input, and build the query that computes the results of windows."""
        config, found = self.config, self.found
        note_functions(parse_aggregator(config.aggregator), directory)
        source = open_input(spark, found, config, directory)
        ahead = None
        if found.reading is not None:
            epoch_messages = config.epoch_positions(found.reading.total)
            ahead = PlannableInput(found.reading, found.splitter, epoch_messages, config.sources)
        work = _AggregateWork(
            spark,
            config,
            directory,
            recorder,
            name=source.name,
            rows=results(source.messages, config, directory),
            sink=sink_of(
                config.sink, config, directory, keys=config.key_names, console=self.console
            ),
            expected=source.expected,
            routers=source.sources,
            ahead=ahead,
            route_by=config.route_by,
            observe_by=config.observe_by,
        )
        work.offsets = source.offsets
        work.tallied_by(directory.files.SPLITS if source.split else None)
        work.asked_to_pause = source.offsets is None
        return work


class _AggregateWork(KeyedWork[RunReport]):
    def report(self, outcome: Outcome) -> RunReport:
        """Return the report of the run."""
        return RunReport(**self.figures(outcome))


def warm_up(spark: SparkSession, options: KeyedOptions, directory: RunDirectory) -> None:
    """Start the Python workers and compile the kernels before the first measured epoch.

    On a cluster the temporary files of the warm-up are in the output of the run, which all hosts
    share.

    Parameters
    ----------
    spark
        The session.
    options
        The options of the run, whose grouping, workers and merging tasks the warm-up uses.
    directory
        The directory of the run.
    """
    small = AggregateJob(
        PipelineConfig(
            **{
                **options.given(GroupingOptions, WorkOptions),
                "dataset": "uniform(keys=50)",
                "messages": _WARM_UP_MESSAGES_PER_WORKER * options.workers,
                "epochs": 1,
                "cost_ms": 0.0,
            }
        )
    )
    master = spark.conf.get("spark.master") or ""
    place = None if master.startswith("local") else directory.store.under("state/warm-up")
    if place is not None:
        # An earlier process may have been killed during its warm-up.
        RunDirectory(place).clear()
    with RunDirectory.opened(place) as own:
        found = small.find(own)
        own.begin(small.options.manifest())
        # Nobody reads the results of the warm-up, so its windows may stay open.
        small.execute(spark, found, own, close=False)
    if place is not None:
        RunDirectory(place).clear()
