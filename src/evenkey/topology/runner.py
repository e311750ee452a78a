"""Run pipelines: one from its source to its sink, or several groupings side by side."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import time
from typing import TYPE_CHECKING, TextIO

from evenkey.errors import ConfigurationError, RunError
from evenkey.exporters import Exports
from evenkey.groupings import Planned
from evenkey.spark.session import local_master, session
from evenkey.topology.config import PipelineConfig
from evenkey.topology.driving import (
    Watch,
    drive,
    epochs_of,
    late_rows,
    overflowed_results,
    timing_of,
)
from evenkey.topology.following import GatedSink, drive_topics
from evenkey.topology.inputs import find_offsets, open_input
from evenkey.topology.job import Job, PipelineJob
from evenkey.topology.kafka.connector import AVRO, check_loaded, connector_settings
from evenkey.topology.kafka.output import open_output
from evenkey.topology.observer import Observer
from evenkey.topology.planning import EpochPlanner
from evenkey.topology.recorder import Recorder, run_info
from evenkey.topology.report import EpochProgress, RunReport
from evenkey.topology.run_directory import RunDirectory
from evenkey.topology.sinks import FileSink, MemorySink
from evenkey.topology.splitting import DEAD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.topology.inputs import Found
    from evenkey.topology.report import OnProgress

__all__ = ["compare", "run"]

_PIPELINE = PipelineJob()
_WARM_UP_MESSAGES_PER_WORKER = 20
_DISK_FULL = os.strerror(errno.ENOSPC)


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
    where that one stopped, however it stopped; nothing is lost and nothing counted twice.

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
        The configuration cannot be run, or the output holds another run.
    RunError
        State that an earlier run left cannot be read.
    """
    config.check_paths()
    with RunDirectory.opened(config.output) as directory:
        directory.check(config.manifest())
        found = job.find(config, directory)
        spark = _session(config)
        find_offsets(spark, config, directory)
        directory.claim(config.manifest())
        history = None if config.output is None else directory.history
        exports = Exports(config.export, run_info(config, found.name, history), history=history)
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
        return dataclasses.replace(report, exports=exported)


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
    if on_progress is not None:
        grouping = str(config.resolved_grouping())
        on_progress(EpochProgress(grouping, -1, 0, None, 0.0, 0.0, "warming up"))
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
    directory.paused.unlink(missing_ok=True)
    source = open_input(spark, found, config, directory)
    sink = job.sink(config, directory, console)
    on_epoch = None if recorder is None else recorder.record
    observer = Observer(directory.files, config.workers, on_epoch=on_epoch)
    grouping = str(config.resolved_grouping())
    watch = Watch(grouping, source.expected, observer, on_progress, recorder)
    offsets = source.offsets
    gate = sink if offsets is None else GatedSink(sink, directory.paused)
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
    with _full_disk_told(directory):
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
        timing=timing_of(query).preceded_by(planning_ms),
        seconds=time.monotonic() - started,
        lines=lines,
        rejected=rejected,
        late=late_rows(query),
        overflows=overflowed_results(query),
        finished=finished,
        results=directory.results if kept and isinstance(sink, FileSink) else None,
        dead_letters=directory.path / DEAD_LETTERS if kept else None,
        state=directory.state if kept else None,
        table=sink.table() if isinstance(sink, MemorySink) else None,
    )
    return job.report(report, sink)


@contextlib.contextmanager
def _full_disk_told(directory: RunDirectory) -> Iterator[None]:
    """Name the mend of what else is an error from deep inside Spark."""
    try:
        yield
    except Exception as error:
        if _DISK_FULL not in str(error):
            raise
        message = (
            f"a disk is full ({_DISK_FULL}): that of {directory.path}, or of Spark's temporary "
            "files; make room and give the same command again: it goes on where this run stopped"
        )
        raise RunError(message) from error


def _planner(
    spark: SparkSession,
    job: Job,
    found: Found,
    config: PipelineConfig,
    directory: RunDirectory,
) -> EpochPlanner | None:
    """Start the planner of a grouping that plans; None for the others."""
    grouping = config.resolved_grouping()
    if not isinstance(grouping, Planned):
        return None
    ahead = job.countable(found, config)
    planner = EpochPlanner(spark, grouping, config.workers, directory, ahead)
    planner.start()
    return planner
