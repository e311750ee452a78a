"""Run a job from its source to its sink, and derive the options of several runs to compare."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, TypeVar

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports
from evenkey.pipeline.runs.driving.epochs import EpochEnd, earlier_spans
from evenkey.pipeline.runs.driving.faults import faults_named, file_handles_named
from evenkey.pipeline.runs.driving.gate import Gate
from evenkey.pipeline.runs.driving.held_up import HeldUp
from evenkey.pipeline.runs.driving.job import Outcome
from evenkey.pipeline.runs.driving.progress import Watch, announce
from evenkey.pipeline.runs.driving.query import drive
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.run_times import Timeline
from evenkey.pipeline.runs.driving.timing import epochs_of
from evenkey.pipeline.runs.driving.waiting import executors_looked_for, waits_reported
from evenkey.pipeline.runs.input.input_files import check_same_input, digested
from evenkey.pipeline.runs.input.run_topics import run_topics
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.output_location import below, on_a_disk, output_store
from evenkey.spark.sessions import (
    check_sources,
    ending_unlogged,
    fewer_processes,
    is_remote,
    java_deaths_named,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.pipeline.options import RunOptions
    from evenkey.pipeline.runs.driving.job import Found, Job, Prepared, ReportT
    from evenkey.pipeline.runs.driving.progress import OnProgress, Phase
    from evenkey.pipeline.runs.input.run_topics import RunTopics

    OptionsT = TypeVar("OptionsT", bound=RunOptions)


@file_handles_named()
@java_deaths_named()
def run(
    job: Job[ReportT], *, on_progress: OnProgress | None = None, warm_up: bool = False
) -> ReportT:
    """Run a job until its input is processed and its windows are closed.

    If the output directory contains an unfinished run of the same configuration, this function
    continues where that run stopped, whatever stopped it. Nothing is lost or counted twice.

    If the directory contains a finished run, this function returns the report of that run. The
    input and the layout (workers, sources, grouping) must still be those of that run. Spark is then
    started only if the output is a URI, because the store may need Spark's settings.

    Parameters
    ----------
    job
        The job.
    on_progress
        Called when an epoch has ended; None: no calls.
    warm_up
        Whether to warm up before the first epoch.

    Raises
    ------
    ConfigurationError
        PySpark is older than 4.2, the configuration cannot be run, the output contains another run
        or files that no run wrote, the input of a finished run has changed, or another process uses
        the output.
    RunError
        The state of an earlier run cannot be read, another process took the output while this
        process sent no heartbeat, driver and executors do not share the output, the counts of an
        epoch do not add up, a topic was replaced during the run, records were deleted before they
        were read, there are too few file handles, or Spark's Java process died.
    """
    options = job.options
    check_sources()
    options.check_paths()
    output, spark = None, None
    if options.output is not None:
        if not on_a_disk(options.output):
            # Spark's settings determine how the store is reached.
            announce(on_progress, job.name, "starting Spark")
            spark = _classic(job.session())
        output = output_store(options.output, spark)
        before = _finished_before(job, output, on_progress)
        if before is not None:
            return before
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(RunDirectory.opened(output))
        directory.check(options.manifest(), options.free(), options.pinned())
        _announce_changes(on_progress, job, directory, "continuing")
        found, keep_input = _found(stack, job, directory, on_progress)
        if spark is None:
            announce(on_progress, job.name, "starting Spark")
            spark = _classic(job.session())
        topics = stack.enter_context(run_topics(spark, job.topics, directory))
        looks = executors_looked_for(spark)
        if topics is not None and topics.waits_for_transactions:
            looks.append(HeldUp(topics))
        seen = stack.enter_context(waits_reported(looks, job.name, on_progress))
        prepared = found.prepare(spark, directory)
        if keep_input is not None:
            keep_input(directory)
        directory.begin(options.manifest())
        directory.lay_out(options.layout())
        history = None if options.output is None else directory.history
        exports = Exports(
            options.export,
            prepared.info(history),
            history=history,
            held=lambda: directory.claim.held,
        )
        timeline = Timeline(earlier_spans(directory.commits))
        with Recorder(exports, timeline) as recorder:
            if warm_up:
                announce(seen, job.name, "warming up")
                prepared.warm_up(spark, directory)
            announce(seen, job.name, "first epoch")
            recording = recorder if exports else None
            report = execute(
                spark,
                job,
                prepared,
                directory,
                timeline,
                on_progress=seen,
                recorder=recording,
                topics=topics,
            )
            report = report.exported(recorder.close("finished" if report.finished else "paused"))
        if report.finished:
            directory.finish(report.to_record())
        return report


def _classic(spark: SparkSession) -> SparkSession:
    if is_remote(spark):
        message = (
            "the active session is a Spark Connect session, but a run commits its epochs in "
            "Spark's driver: stop the session first, or pass its DataFrames to evenkey.spark, "
            "evenkey.joins or evenkey.applications"
        )
        raise ConfigurationError(message)
    return spark


def _found(
    stack: contextlib.ExitStack,
    job: Job[ReportT],
    directory: RunDirectory,
    on_progress: OnProgress | None,
) -> tuple[Found[ReportT], Callable[[RunDirectory], None] | None]:
    """Find the input of a run; return it with a function that stores the files' digests.

    The function is None if the run has no output, or has begun before.
    """
    announce(on_progress, job.name, "finding the input")
    keep_input = None
    if job.options.output is not None and not directory.begun:
        keep_input = stack.enter_context(digested(job.input_files()))
    return job.find(directory), keep_input


def _announce_changes(
    on_progress: OnProgress | None, job: Job[ReportT], directory: RunDirectory, phase: Phase
) -> None:
    """Report the options that differ from those of the run in the directory, if there are any."""
    changed = directory.changes(job.options.manifest())
    if changed:
        announce(on_progress, job.name, phase, f": {'; '.join(changed.values())}")


def _finished_before(
    job: Job[ReportT], output: Store, on_progress: OnProgress | None
) -> ReportT | None:
    """Return the report of the finished run in the output; None if there is no finished run."""
    options = job.options
    directory = RunDirectory(output)
    directory.check(options.manifest(), options.free(), options.pinned())
    record = directory.finished()
    if record is None:
        return None
    directory.check_layout(options.manifest(), options.layout().keys())
    check_same_input(output, job.input_files())
    _announce_changes(on_progress, job, directory, "already finished")
    return job.restored(record, directory)


def execute(
    spark: SparkSession,
    job: Job[ReportT],
    prepared: Prepared[ReportT],
    directory: RunDirectory,
    timeline: Timeline | None = None,
    *,
    on_progress: OnProgress | None = None,
    close: bool = True,
    recorder: Recorder | None = None,
    topics: RunTopics | None = None,
) -> ReportT:
    """Run a job's query in a directory in which the run has begun, and return the report.

    Parameters
    ----------
    spark, job, prepared, directory
        The session, the job, the prepared job and the run's directory.
    timeline
        The times of the epochs of earlier processes; receives those of this process. None: there
        were no earlier processes.
    on_progress
        See `run`.
    close
        Whether windows are closed at the end.
    recorder
        See `Prepared.open`.
    topics
        The topics at the start of the run; None: no topics.
    """
    started = time.monotonic()
    work = prepared.open(spark, directory, recorder)
    timeline = timeline or Timeline()
    timeline.preceded_by(work.planning_ms)
    end = EpochEnd(
        spark,
        directory,
        work.sink,
        windowed=job.windowed,
        tallies=work.tallies,
        topics=topics,
    )
    gate = Gate(directory.paused, open_always=work.asked_to_pause)

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
    watch = Watch(job.name, work.expected, work.measures, on_progress, timeline, work.offsets)
    of_topics = contextlib.nullcontext() if topics is None else topics.faults_named()
    with faults_named(directory), of_topics, ending_unlogged(query):
        finished = drive(
            spark,
            query,
            gate,
            directory,
            watch,
            work.offsets,
            time_limit=job.options.time_limit,
            close=close and job.windowed,
        )
        if topics is not None and finished:
            topics.check()
    timeline.take_in(epochs_of(query))
    work.measures.catch_up(query)
    return work.report(Outcome(query, finished, time.monotonic() - started, timeline))


def variants(
    options: OptionsT, updates: Mapping[str, Mapping[str, object]], *, topic: str | None
) -> list[OptionsT]:
    """Return the options of the runs of a comparison; each run has its own directory.

    All directories are checked first, so that an error does not appear only after hours of runs.

    Parameters
    ----------
    options
        The common options.
    updates
        The options that differ in each run, by the name of the run's directory in the output.
    topic
        The topic for results; None: no topic.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or a directory on a disk contains another run.
    """
    if topic is not None:
        message = (
            f"output_kafka = {topic!r}: each run of a comparison would send the same results to "
            "the topic; leave out output_kafka"
        )
        raise ConfigurationError(message)
    made = []
    for name, update in updates.items():
        output = None if options.output is None else below(options.output, name)
        made.append(options.with_options(**{**update, "output": output}))
    for each in made:
        # A URI may need Spark's settings, so it is checked when its run starts.
        if each.output is not None and on_a_disk(each.output):
            RunDirectory(output_store(each.output)).check(
                each.manifest(), each.free(), each.pinned()
            )
    return made
