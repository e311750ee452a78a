"""Run join pipelines: one from its source to its sink, or several modes side by side."""

from __future__ import annotations

import gc
import shutil
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from evenkey.errors import ConfigurationError
from evenkey.files import replacing
from evenkey.joins import DynamicDistributor, Mode, SpatialMatch, balanced_join
from evenkey.joins.dead_letters import DEAD_LETTERS, STATIC_DEAD_LETTERS
from evenkey.joins.epoch_log import EpochLog
from evenkey.joins.reference import reference_digest
from evenkey.joins.slots import own_processes
from evenkey.joins.static_store import StaticStore
from evenkey.joins.static_writing import write_static
from evenkey.pipelines.aggregate.inputs import find_offsets
from evenkey.pipelines.join.inputs import (
    all_publications,
    check_publications,
    publication_input,
    subscriptions_of,
)
from evenkey.pipelines.join.matches import UNITED, matches_of, united
from evenkey.pipelines.join.report import JoinReport, epochs_of
from evenkey.pipelines.join.session import join_session
from evenkey.pipelines.join.sink import digest_of, sink_of
from evenkey.pipelines.join.watch import JoinWatch
from evenkey.runs.directory import RunDirectory
from evenkey.runs.driving import drive, span, timing_of
from evenkey.runs.driving import epochs_of as progress_of
from evenkey.runs.epochs import EpochEnd, earlier_timings
from evenkey.runs.faults import faults_told
from evenkey.runs.following import Gate, drive_topics
from evenkey.runs.report import announce
from evenkey.runs.results import committed_tables
from evenkey.runs.topic_output import open_output
from evenkey.spark.gateway import ending_unlogged, java_deaths_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.joins.static_manifest import Manifest
    from evenkey.pipelines.join.config import JoinConfig
    from evenkey.pipelines.join.inputs import PublicationInput
    from evenkey.runs.report import OnProgress

__all__ = ["compare_joins", "run_join"]

_MB = 1 << 20
_TASKS_TO_WARM_UP = 8
_ROW_GROUP = 20_000
"""Subscriptions that a task reads at least."""


@java_deaths_named()
def run_join(config: JoinConfig, *, on_progress: OnProgress | None = None) -> JoinReport:
    """Run a pipeline until all publications are joined.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped. Of a finished run its report is
    given, without Spark.

    Parameters
    ----------
    config
        What to run.
    on_progress
        Called when an epoch has ended.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, the output holds another run, or another process holds
        the output.
    RunError
        State that an earlier run left, or a static partition, cannot be read; another process took
        the output while this one gave no sign of life; or Spark's Java process died.
    """
    config.check_paths()
    before = _finished_before(config)
    if before is not None:
        return before
    with RunDirectory.opened(config.output) as directory:
        directory.check(config.manifest())
        subscriptions = subscriptions_of(config)
        check_publications(config)
        announce(on_progress, config.name, "starting Spark")
        spark = join_session(config.master, kafka=bool(config.kafka or config.output_kafka))
        open_output(spark, config)
        find_offsets(spark, config, directory)
        report = _execute(spark, config, directory, subscriptions, on_progress)
        if report.finished:
            directory.finish(report.to_record())
        return report


def _finished_before(config: JoinConfig) -> JoinReport | None:
    """Give the report of the run that is finished in the output; None where it is not."""
    if config.output is None:
        return None
    directory = RunDirectory(config.output)
    directory.check(config.manifest())
    record = directory.finished()
    return None if record is None else JoinReport.restored(record, directory.results)


def compare_joins(
    config: JoinConfig, modes: Sequence[str], *, on_progress: OnProgress | None = None
) -> list[JoinReport]:
    """Run the same publications under several modes, one after the other in one session.

    Parameters
    ----------
    config
        What to run; its mode is replaced. With an output, each mode gets a subdirectory.
    modes
        Their names.
    on_progress
        Called when an epoch has ended.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or as for `run_join`.
    """
    if config.output_kafka is not None:
        message = (
            f"output_kafka = {config.output_kafka!r}: a comparison has the same matches several "
            "times, which a topic cannot tell apart; drop it"
        )
        raise ConfigurationError(message)
    variants = []
    for mode in modes:
        output = None if config.output is None else config.output / mode
        variants.append(config.with_options(mode=mode, output=output))
    for variant in variants:
        # Before the first of them has run for an hour.
        if variant.output is not None:
            RunDirectory(variant.output).check(variant.manifest())
    return [run_join(variant, on_progress=on_progress) for variant in variants]


def _execute(
    spark: SparkSession,
    config: JoinConfig,
    directory: RunDirectory,
    subscriptions: pa.Table,
    on_progress: OnProgress | None,
) -> JoinReport:
    match = SpatialMatch(
        relation_column="relation",
        pipeline=config.pipeline,
        partitioner=config.partitioner,
        subject=config.subject,
    )
    static = _on_disk(spark, subscriptions, directory)
    manifest = _stored(static, match, config, directory)
    mode = Mode.parse(config.mode)
    source = publication_input(spark, config, directory, manifest)
    directory.begin(config.manifest())
    found = balanced_join(
        source.stream,
        static,
        match,
        workers=config.workers,
        balance=mode.balance,
        cache_static=mode.cache_static,
        partitions=config.partitions_or_default,
        state=directory.state,
        time="time" if source.timed else None,
        distributor=_distributor(config),
        cache_bytes=config.cache_mb * _MB,
        dead_letters=directory.dead_letters,
        # The run's own configuration says whether they are those of before.
        if_changed="reuse",
        then=united,
        schema=UNITED,
    )
    announce(on_progress, config.name, "warming up")
    _warm_up(spark)
    sink = sink_of(config, directory)
    end = EpochEnd(spark, directory, sink, windowed=False)
    gate = end if source.offsets is None else Gate(end, directory.paused)
    query = (
        found.writeStream.foreachBatch(lambda rows, epoch: gate.write(matches_of(rows), epoch))
        .option("checkpointLocation", str(directory.checkpoint))
        .start()
    )
    logs = directory.state / "epochs"
    watch = JoinWatch(config, source.expected, lambda name: EpochLog(logs / name), on_progress)
    limit = config.time_limit
    with faults_told(directory), ending_unlogged(query):
        if source.offsets is None:
            finished = drive(query, directory, watch, time_limit=limit, close=False)
        else:
            finished = drive_topics(
                spark, query, directory, watch, source.offsets, time_limit=limit, close=False
            )
    return _report(spark, query, config, directory, source, subscriptions, finished=finished)


def _on_disk(spark: SparkSession, subscriptions: pa.Table, directory: RunDirectory) -> DataFrame:
    """Let Spark read them from a file, since large ones would fill its driver's memory."""
    file = directory.state / "subscriptions.parquet"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as unfinished:
            pq.write_table(subscriptions, unfinished, row_group_size=_ROW_GROUP)
    return spark.read.parquet(str(file))


def _stored(
    static: DataFrame, match: SpatialMatch, config: JoinConfig, directory: RunDirectory
) -> Manifest:
    """Write the subscriptions, unless the run that goes on has written them."""
    store = StaticStore(directory.state / "static")
    if store.versions() and directory.begun:
        return store.manifest(store.latest())
    # What a process wrote that was stopped before the run began has no dead letters.
    shutil.rmtree(store.directory, ignore_errors=True)
    count = config.partitions_or_default
    return write_static(static, store, match, partitions=count, dead_letters=directory.dead_letters)


def _distributor(config: JoinConfig) -> DynamicDistributor:
    return DynamicDistributor(
        threshold=config.threshold,
        min_items=config.min_items,
        wait_periods=config.wait_periods,
        period=config.period,
        min_improvement=config.min_improvement,
        load_clock=config.load_clock,
        forced=() if config.force_redistribution is None else (config.force_redistribution,),
    )


def _warm_up(spark: SparkSession) -> None:
    """Start the Python workers and let them import what they need, so that no epoch does."""
    tasks = spark.range(0, _TASKS_TO_WARM_UP, 1, _TASKS_TO_WARM_UP)
    tasks.mapInArrow(_import_all, "id bigint").count()
    with own_processes(tasks):
        joining = tasks.mapInArrow(_import_all, "id bigint")
    joining.count()


def _import_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import evenkey.pipelines.join.publishing  # noqa: F401 - to have it done

    # Spark collects garbage after each task; what is frozen is not looked at.
    gc.freeze()
    yield from batches


def _report(
    spark: SparkSession,
    query: StreamingQuery,
    config: JoinConfig,
    directory: RunDirectory,
    source: PublicationInput,
    subscriptions: pa.Table,
    *,
    finished: bool,
) -> JoinReport:
    log = EpochLog(directory.state / "epochs" / str(query.id))
    matches = list(committed_tables(directory.commits))
    digest = digest_of(matches)
    expected = None
    if config.verify:
        expected = str(
            reference_digest(
                all_publications(spark, config, directory, source), subscriptions, config.subject
            )
        )
    letters = directory.dead_letters
    return JoinReport(
        pipeline=config.pipeline,
        mode=config.mode,
        workers=config.workers,
        partitions=config.partitions_or_default,
        by_items=config.by_items,
        publications=_published(query) if source.expected is None else source.expected,
        subscriptions=subscriptions.num_rows,
        skew=config.skew if config.draws else None,
        matches=digest.pairs,
        matched_publications=sum(table.num_rows for table in matches),
        pairs_digest=str(digest),
        epochs=tuple(epochs_of(log, config.partitions_or_default, config.workers)),
        timing=timing_of(query).after(earlier_timings(directory.commits)),
        epoch_ms={each["batchId"]: span(each).length for each in progress_of(query)},
        rejected=letters.rows(DEAD_LETTERS) + letters.rows(STATIC_DEAD_LETTERS),
        finished=finished,
        results=directory.results if config.output is not None else None,
        expected_digest=expected,
    )


def _published(query: StreamingQuery) -> int:
    """How many publications this process has taken in."""
    return sum(int(each["numInputRows"]) for each in progress_of(query))
