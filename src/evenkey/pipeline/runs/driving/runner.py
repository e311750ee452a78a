"""Run a job from its source to its sink."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from evenkey.pipeline.exporters import Exports
from evenkey.pipeline.runs.driving.faults import file_handles_named
from evenkey.pipeline.runs.driving.outputs import output_of
from evenkey.pipeline.runs.driving.progress import announce
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.run_times import Timeline
from evenkey.pipeline.runs.driving.run_topics import topics_of
from evenkey.pipeline.runs.driving.waiting import executors_looked_for, waits_reported
from evenkey.spark.sessions import check_sources, java_deaths_named

if TYPE_CHECKING:
    from evenkey.pipeline.runs.driving.job import Job, Output, ReportT, Topics
    from evenkey.pipeline.runs.driving.progress import OnProgress


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
    output: Output = output_of(options.output)
    named: Topics = topics_of(job.topics)
    spark = None
    if output.needs_spark:
        announce(on_progress, job.name, "starting Spark")
        spark = job.session()
    before = output.finished(job, spark, on_progress)
    if before is not None:
        return before
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(output.opened(spark))
        directory.check(options.manifest(), options.free(), options.pinned())
        if changed := directory.changes(options.manifest()):
            announce(on_progress, job.name, "continuing", f": {'; '.join(changed.values())}")
        announce(on_progress, job.name, "finding the input")
        history = output.history(directory)
        keep_input = stack.enter_context(output.digested(job, directory))
        found = job.find(directory)
        if spark is None:
            announce(on_progress, job.name, "starting Spark")
            spark = job.session()
        topics = stack.enter_context(named.opened(spark, directory))
        looks = [*executors_looked_for(spark), *topics.looks()]
        seen = stack.enter_context(waits_reported(looks, job.name, on_progress))
        prepared = found.prepare(spark, directory)
        keep_input(directory)
        directory.begin(options.manifest())
        directory.lay_out(options.layout())
        exports = Exports(options.export, prepared.info(history), output.exporter(directory))
        timeline = Timeline(directory.commits.earlier_spans())
        with Recorder(exports, timeline) as recorder:
            if warm_up:
                announce(seen, job.name, "warming up")
                prepared.warm_up(spark, directory)
            announce(seen, job.name, "first epoch")
            report = job.execute(
                spark,
                prepared,
                directory,
                timeline,
                on_progress=seen,
                recorder=recorder if exports else None,
                topics=topics,
            )
            report = report.exported(recorder.close("finished" if report.finished else "paused"))
        if report.finished:
            directory.finish(report.to_record())
        return report
