"""Run pipelines: one from its source to its sink, or several groupings side by side."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import TYPE_CHECKING, TextIO

from evenkey.errors import ConfigurationError
from evenkey.exporters import Exports
from evenkey.groupings import PlannedGrouping
from evenkey.kafka.connector import AVRO, check_loaded, connector_settings
from evenkey.pipelines.aggregate.config import PipelineConfig
from evenkey.pipelines.aggregate.inputs import find_offsets, open_input
from evenkey.pipelines.aggregate.observer import Observer
from evenkey.pipelines.aggregate.planning import EpochPlanner
from evenkey.pipelines.aggregate.splitting import DEAD_LETTERS
from evenkey.runs.directory import RunDirectory
from evenkey.runs.driving import Watch, drive, epochs_of, timing_of
from evenkey.runs.epochs import EpochEnd, earlier_timings, late_rows, overflowed_results
from evenkey.runs.faults import faults_told
from evenkey.runs.following import Gate, drive_topics
from evenkey.runs.job import Job, PipelineJob
from evenkey.runs.recorder import Recorder, run_info
from evenkey.runs.report import RunReport, announce
from evenkey.runs.sinks import MemorySink
from evenkey.runs.topic_output import open_output
from evenkey.spark.gateway import ending_unlogged, java_deaths_named
from evenkey.spark.session import local_master, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.pipelines.aggregate.inputs import Found
    from evenkey.runs.report import OnProgress

__all__ = ["compare", "run"]

_PIPELINE = PipelineJob()
_WARM_UP_MESSAGES_PER_WORKER = 20


@java_deaths_named()
def run(
    config: PipelineConfig,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    prepare: bool = True,
    job: Job = _PIPELINE,
) -> RunReport:
    """Run a pipeline until its input is processed and its windows are closed.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped; nothing is lost and nothing counted twice. Of a
    finished run its report is given, without Spark.

    Parameters
    ----------
    config
        What to run.
    on_progress
        Called when an epoch has ended.
    console
        Where the console sink prints; None is standard output.
    prepare
        Whether to run a small stream first, so that no measured epoch pays for starting
        Python workers and loading kernels.
    job
        What is done between source and sink, if it is not the pipeline's own work.

    Returns
    -------
    RunReport
        With what became of the points of each exporter.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, the output holds another run, or another process holds
        the output.
    RunError
        State that an earlier run left cannot be read, another process took the output while this
        one gave no sign of life, or Spark's Java process died.
    """
    config.check_paths()
    report = _finished_before(config, job)
    if report is not None:
        return report
    with RunDirectory.opened(config.output) as directory:
        directory.check(config.manifest())
        found = job.find(config, directory)
        announce(on_progress, str(config.resolved_grouping()), "starting Spark")
        spark = _session(config)
        find_offsets(spark, config, directory)
        directory.begin(config.manifest())
        history = None if config.output is None else directory.history
        exports = Exports(
            config.export,
            run_info(config, found.name, history),
            history=history,
            held=lambda: directory.claim.held,
        )
        with Recorder(exports, directory.files) as recorder:
            if prepare:
                _warm_up(spark, config, on_progress)
            report = _execute(
                spark,
                config,
                directory,
                found,
                job,
                on_progress=on_progress,
                console=console,
                recorder=recorder if exports else None,
            )
            exported = recorder.close("finished" if report.finished else "paused")
        report = dataclasses.replace(report, exports=exported)
        if report.finished:
            directory.finish(report.to_record())
        return report


def _finished_before(config: PipelineConfig, job: Job) -> RunReport | None:
    """Give the report of the run that is finished in the output; None where it is not."""
    if config.output is None:
        return None
    directory = RunDirectory(config.output)
    directory.check(config.manifest())
    record = directory.finished()
    return None if record is None else job.report(RunReport.restored(record, directory), directory)


def compare(
    config: PipelineConfig,
    groupings: Sequence[str],
    *,
    on_progress: OnProgress | None = None,
) -> list[RunReport]:
    """Run the same stream under several groupings, one after the other in one session.

    Parameters
    ----------
    config
        What to run; its grouping is replaced. With an output, each grouping gets a
        subdirectory of its own. Results cannot go to a topic.
    groupings
        Spellings.
    on_progress
        Called when an epoch has ended.
    """
    if config.output_kafka is not None:
        message = (
            f"output_kafka = {config.output_kafka!r}: a comparison has the same results several "
            "times, which a topic cannot tell apart; drop it"
        )
        raise ConfigurationError(message)
    variants = []
    for grouping in groupings:
        output = None if config.output is None else config.output / _directory_name(grouping)
        sink = "memory" if output is None else config.sink
        update = {"grouping": grouping, "output": output, "sink": sink}
        variants.append(config.with_options(**update))
    for variant in variants:
        # Before the first of them has run for an hour.
        if variant.output is not None:
            RunDirectory(variant.output).check(variant.manifest())
    return [run(variant, on_progress=on_progress) for variant in variants]


def _directory_name(grouping: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_=." else "_" for letter in grouping)


def _session(config: PipelineConfig) -> SparkSession:
    """A session of the pipeline's own settings, on slots that let all workers wait at once."""
    slots = max(config.workers, os.cpu_count() or 1)
    connector = connector_settings() if config.kafka or config.output_kafka else {}
    spark = session(
        config.master or os.environ.get("SPARK_MASTER") or local_master(slots), connector
    )
    open_output(spark, config)
    if config.avro_schema is not None:
        check_loaded(spark, AVRO)
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", config.aggregators)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


def _warm_up(spark: SparkSession, config: PipelineConfig, on_progress: OnProgress | None) -> None:
    """Start the Python workers and compile the kernels, so that no epoch pays for it."""
    announce(on_progress, str(config.resolved_grouping()), "warming up")
    messages = _WARM_UP_MESSAGES_PER_WORKER * config.workers
    small = PipelineConfig(
        **{
            **config.told("Grouping", "Work"),
            "dataset": "uniform(keys=50)",
            "messages": messages,
            "epochs": 1,
            "aggregator": "count",
            "cost_ms": 0.0,
        }
    )
    with RunDirectory.opened(small.output) as directory:
        # Nobody wants its results, so its windows may stay open.
        found = _PIPELINE.find(small, directory)
        directory.begin(small.manifest())
        _execute(spark, small, directory, found, _PIPELINE, close=False)


def _execute(
    spark: SparkSession,
    config: PipelineConfig,
    directory: RunDirectory,
    found: Found,
    job: Job,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    close: bool = True,
    recorder: Recorder | None = None,
) -> RunReport:
    started = time.monotonic()
    source = open_input(spark, found, config, directory)
    sink = job.sink(config, directory, console)
    on_epoch = None if recorder is None else recorder.record
    observer = Observer(directory.files, config.workers, by=config.observe_by, on_epoch=on_epoch)
    grouping = str(config.resolved_grouping())
    watch = Watch(grouping, source.expected, observer, on_progress, recorder)
    offsets = source.offsets
    end = EpochEnd(spark, directory, sink, windowed=job.windowed)
    gate = end if offsets is None else Gate(end, directory.paused)
    planning = time.monotonic()
    planner = _planner(spark, job, found, config, directory)
    planning_ms = 1000 * (time.monotonic() - planning)

    def write(rows: DataFrame, epoch: int) -> None:
        gate.write(rows, epoch)
        if planner is not None:
            planner.end(epoch)

    query = (
        job.plan(source.messages, config, directory)
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(directory.checkpoint))
        .outputMode("append")
        .start()
    )
    limit = config.time_limit
    with faults_told(directory), ending_unlogged(query):
        if offsets is None:
            closing = close and job.windowed
            finished = drive(query, directory, watch, time_limit=limit, close=closing)
        else:
            finished = drive_topics(spark, query, directory, watch, offsets, time_limit=limit)
    if recorder is not None:
        recorder.time(epochs_of(query))
    observer.catch_up()
    metrics = observer.metrics()
    lines, rejected = source.lines_and_rejected() or (metrics.messages, 0)
    kept = config.output is not None
    report = RunReport(
        dataset=source.name,
        grouping=grouping,
        workers=config.workers,
        sources=source.sources,
        metrics=metrics,
        epochs=tuple(observer.epochs),
        timing=timing_of(query).preceded_by(planning_ms).after(earlier_timings(directory.commits)),
        seconds=time.monotonic() - started,
        lines=lines,
        rejected=rejected,
        late=late_rows(directory.commits),
        overflows=overflowed_results(directory.commits),
        finished=finished,
        results=directory.results if kept and sink.keeps_files else None,
        dead_letters=directory.path / DEAD_LETTERS if kept else None,
        state=directory.state if kept else None,
        table=sink.table() if isinstance(sink, MemorySink) else None,
        route_by=config.route_by,
        observe_by=config.observe_by,
    )
    return job.report(report, directory)


def _planner(
    spark: SparkSession,
    job: Job,
    found: Found,
    config: PipelineConfig,
    directory: RunDirectory,
) -> EpochPlanner | None:
    """Start the planner of a grouping that plans; None for the others."""
    grouping = config.resolved_grouping()
    if not isinstance(grouping, PlannedGrouping):
        return None
    ahead = job.countable(found, config)
    planner = EpochPlanner(spark, grouping, config.workers, directory, ahead, by=config.route_by)
    planner.start()
    return planner
