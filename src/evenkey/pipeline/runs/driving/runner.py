"""Run a job from its source to its sink, or several side by side."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, TypeVar

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports
from evenkey.pipeline.runs.driving.epochs import EpochEnd, earlier_spans, earlier_timings
from evenkey.pipeline.runs.driving.faults import faults_named, file_handles_named
from evenkey.pipeline.runs.driving.gate import Gate
from evenkey.pipeline.runs.driving.held_up import HeldUp
from evenkey.pipeline.runs.driving.job import Outcome
from evenkey.pipeline.runs.driving.progress import Watch, announce
from evenkey.pipeline.runs.driving.query import drive
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.timing import epochs_of, timing_of
from evenkey.pipeline.runs.driving.waiting import executors_looked_for, waits_reported
from evenkey.pipeline.runs.input.input_files import check_same_input, digested
from evenkey.pipeline.runs.input.run_topics import run_topics
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.output_location import below, on_a_disk, output_store
from evenkey.spark.sessions import check_sources, ending_unlogged, is_remote, java_deaths_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.pipeline.options import RunOptions
    from evenkey.pipeline.runs.driving.job import Job, Prepared, ReportT
    from evenkey.pipeline.runs.driving.progress import OnProgress
    from evenkey.pipeline.runs.input.run_topics import RunTopics

    OptionsT = TypeVar("OptionsT", bound=RunOptions)


@file_handles_named()
@java_deaths_named()
def run(
    job: Job[ReportT], *, on_progress: OnProgress | None = None, prepare: bool = True
) -> ReportT:
    """Run a job until its input is processed and its windows are closed.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped; nothing is lost and nothing counted twice. Of a
    finished run its report is given; without Spark, but for the settings by which a URI is reached.
    Its input and its layout (workers, sources, grouping) must still be the same.

    Parameters
    ----------
    job
        What to run.
    on_progress
        Called when an epoch has ended.
    prepare
        Whether to warm up first, so that no measured epoch pays for it.

    Raises
    ------
    ConfigurationError
        PySpark is older than 4.2, the configuration cannot be run, the output holds another run or
        files that no run wrote, the input of a finished run has changed, or another process holds
        the output.
    RunError
        State that an earlier run left cannot be read, another process took the output while this
        one gave no sign of life, an executor does not see the output or the driver not what
        executors wrote there, an epoch does not add up, a topic is another one than when the run
        began, records of it were deleted before they were read, there are too few file handles, or
        Spark's Java process died.
    """
    options = job.options
    check_sources()
    options.check_paths()
    output, spark = None, None
    if options.output is not None:
        if not on_a_disk(options.output):
            # How it is reached is among Spark's settings.
            announce(on_progress, job.name, "starting Spark")
            spark = _classic(job.session())
        output = output_store(options.output, spark)
        before = _finished_before(job, output)
        if before is not None:
            return before
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(RunDirectory.opened(output))
        directory.check(options.manifest(), options.free(), options.pinned())
        keep_input = None
        if output is not None and not directory.begun:
            keep_input = stack.enter_context(digested(job.input_files()))
        found = job.find(directory)
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
        with Recorder(exports, earlier_spans(directory.commits)) as recorder:
            if prepare:
                announce(seen, job.name, "warming up")
                prepared.warm_up(spark, directory)
            recording = recorder if exports else None
            report = execute(
                spark, job, prepared, directory, on_progress=seen, recorder=recording, topics=topics
            )
            report = report.exported(recorder.close("finished" if report.finished else "paused"))
        if report.finished:
            directory.finish(report.to_record())
        return report


def _classic(spark: SparkSession) -> SparkSession:
    if is_remote(spark):
        message = (
            "the active session is one of Spark Connect: a run commits its epochs in Spark's "
            "driver; stop the session first, or pass DataFrames of it to evenkey.spark, "
            "evenkey.joins or evenkey.applications"
        )
        raise ConfigurationError(message)
    return spark


def _finished_before(job: Job[ReportT], output: Store) -> ReportT | None:
    """Give the report of the run that is finished in the output; None where it is not."""
    options = job.options
    directory = RunDirectory(output)
    directory.check(options.manifest(), options.free(), options.pinned())
    record = directory.finished()
    if record is None:
        return None
    directory.check_layout(options.layout())
    check_same_input(output, job.input_files())
    return job.restored(record, directory)


def execute(
    spark: SparkSession,
    job: Job[ReportT],
    prepared: Prepared[ReportT],
    directory: RunDirectory,
    *,
    on_progress: OnProgress | None = None,
    close: bool = True,
    recorder: Recorder | None = None,
    topics: RunTopics | None = None,
) -> ReportT:
    """Run a job's query in a directory that it has begun, and report it.

    Parameters
    ----------
    spark, job, prepared, directory
        What runs, and where.
    on_progress
        As for `run`.
    close
        Whether windows are closed at the end.
    recorder
        As for `Prepared.open`.
    topics
        Those with which the run began; None where it has none.
    """
    started = time.monotonic()
    work = prepared.open(spark, directory, recorder)
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

    query = (
        work.rows.writeStream.foreachBatch(write)
        .option("checkpointLocation", directory.checkpoint)
        .outputMode("append")
        .start()
    )
    watch = Watch(job.name, work.expected, work.measures, on_progress, recorder, work.offsets)
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
    if recorder is not None:
        recorder.time(epochs_of(query))
    work.measures.catch_up(query)
    timing = timing_of(query).preceded_by(work.planning_ms)
    timing = timing.after(earlier_timings(directory.commits))
    return work.report(Outcome(query, finished, time.monotonic() - started, timing))


def variants(
    options: OptionsT, updates: Mapping[str, Mapping[str, object]], *, topic: str | None
) -> list[OptionsT]:
    """Make the options of several runs of one comparison, each with a directory of its own.

    Parameters
    ----------
    options
        Of all of them.
    updates
        What is different in each, by the name of its directory in the output.
    topic
        Where results would go.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or a directory on a disk holds another run: before the first of
        them has run for an hour.
    """
    if topic is not None:
        message = (
            f"output_kafka = {topic!r}: a comparison has the same results several times, which a "
            "topic cannot tell apart; drop it"
        )
        raise ConfigurationError(message)
    made = []
    for name, update in updates.items():
        output = None if options.output is None else below(options.output, name)
        made.append(options.with_options(**{**update, "output": output}))
    for each in made:
        # How a URI is reached is known when Spark runs; each run looks again.
        if each.output is not None and on_a_disk(each.output):
            RunDirectory(output_store(each.output)).check(
                each.manifest(), each.free(), each.pinned()
            )
    return made
