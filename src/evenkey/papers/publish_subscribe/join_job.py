"""The job of a join pipeline: it joins publications with a static side and reports figures."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.streams import find_files
from evenkey.joins import (
    KINDS_OF_DEAD_LETTERS,
    DynamicDistributor,
    EpochLog,
    Mode,
    StaticStore,
    balanced_join,
    own_processes,
    reference_digest,
    write_static,
)
from evenkey.papers.publish_subscribe.config import JoinConfig
from evenkey.papers.publish_subscribe.join_inputs import (
    all_publications,
    check_publications,
    publication_input,
    subscriptions_of,
)
from evenkey.papers.publish_subscribe.matches import UNITED, matches_of, united
from evenkey.papers.publish_subscribe.measures import JoinMeasures
from evenkey.papers.publish_subscribe.publication_latency import latencies, summary
from evenkey.papers.publish_subscribe.report import JoinReport, epochs_of
from evenkey.papers.publish_subscribe.session import join_session
from evenkey.papers.publish_subscribe.sink import digest_of, sink_of
from evenkey.papers.publish_subscribe.slow_match import SlowMatch
from evenkey.pipeline.exporters import History
from evenkey.pipeline.options import check_configuration
from evenkey.pipeline.runs import (
    Found,
    Job,
    Prepared,
    Work,
    committed_tables,
)
from evenkey.spark.sessions import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.stores import Store
    from evenkey.papers.publish_subscribe.join_inputs import PublicationInput
    from evenkey.pipeline.exporters import RunInfo
    from evenkey.pipeline.runs import Outcome, Recorder, RunDirectory

_MB = 1 << 20
_TASKS_TO_WARM_UP = 8
_ROW_GROUP = 20_000
"""Minimum number of subscriptions that a task reads."""
_SUBSCRIPTIONS = "state/subscriptions.parquet"


class JoinJob(Job[JoinReport]):
    """The job of a geospatial publish/subscribe pipeline.

    Parameters
    ----------
    config
        Configuration of the pipeline.
    """

    def __init__(self, config: JoinConfig) -> None:
        check_configuration(config, JoinConfig)
        self.options = self.topics = self.config = config

    @property
    def name(self) -> str:
        """The name of the pipeline and its mode."""
        return self.config.name

    def restored(self, record: Mapping[str, Any], directory: RunDirectory) -> JoinReport:
        """Restore the report of a run that was already finished."""
        return JoinReport.restored(record, directory.results)

    def input_files(self) -> Sequence[Path]:
        """List the files of publications, polygons and collisions."""
        config = self.config
        named = (config.input, config.polygons, config.collisions)
        return find_files(each for each in named if each is not None)

    def find(self, directory: RunDirectory) -> _FoundJoin:
        """Draw the subscriptions, and check the files of publications."""
        del directory
        subscriptions = subscriptions_of(self.config)
        check_publications(self.config)
        return _FoundJoin(self.config, subscriptions)

    def session(self) -> SparkSession:
        """Make a Spark session that runs each slot where its static data is cached."""
        config = self.config
        topics = config.kafka is not None or config.output_kafka is not None
        executors = config.workers if config.slow_down > 1 else None
        return self.classic(join_session(config.master, executors=executors, kafka=topics))


@dataclass(frozen=True)
class _FoundJoin(Found[JoinReport]):
    config: JoinConfig
    subscriptions: pa.Table

    def prepare(self, spark: SparkSession, directory: RunDirectory) -> _PreparedJoin:
        """Write the static side, and open the stream of publications."""
        static = _on_disk(spark, self.subscriptions, directory)
        partitioning = _stored(static, _match(self.config), self.config, directory)
        source = publication_input(spark, self.config, directory, partitioning)
        return _PreparedJoin(self.config, self.subscriptions, static, source)


@dataclass(frozen=True)
class _PreparedJoin(Prepared[JoinReport]):
    config: JoinConfig
    subscriptions: pa.Table
    static: DataFrame
    source: PublicationInput

    def info(self, history: Store | None) -> RunInfo:
        """Describe the run for exporters."""
        config = self.config
        dataset = "publications" if config.draws else str(config.input or config.kafka)
        return self.who_runs(
            self.config.name,
            dataset,
            workers=config.workers,
            sources=config.sources,
            history=history,
            load_unit=config.load_measure.unit,
        )

    def warm_up(self, spark: SparkSession, directory: RunDirectory) -> None:
        """Start the Python workers, so that they import their modules before the first epoch."""
        del directory
        tasks = spark.range(0, _TASKS_TO_WARM_UP, 1, _TASKS_TO_WARM_UP)
        tasks.mapInArrow(_import_all, "id bigint").count()
        with own_processes(tasks):
            joining = tasks.mapInArrow(_import_all, "id bigint")
        joining.count()

    def open(
        self, spark: SparkSession, directory: RunDirectory, recorder: Recorder | None
    ) -> _JoinWork:
        """Join the publications with the static side."""
        config, source = self.config, self.source
        mode = Mode.parse(config.mode)
        found = balanced_join(
            source.stream,
            self.static,
            _match(config),
            workers=config.workers,
            balance=mode.balance,
            cache_static=mode.cache_static,
            partitions=config.partitions_or_default,
            state=directory.state,
            time="time" if source.timed else None,
            distributor=_distributor(config),
            cache_bytes=config.cache_mb * _MB,
            dead_letters=directory.dead_letters,
            # The run itself compares its configuration with the stored configuration.
            if_changed="reuse",
            then=united,
            schema=UNITED,
        )
        return _JoinWork(spark, self, directory, found, recorder)


def _match(config: JoinConfig) -> SlowMatch:
    return SlowMatch(
        relation_column="relation",
        pipeline=config.pipeline,
        partitioner=config.partitioner,
        subject=config.subject,
        slow_down=config.slow_down,
    )


class _JoinWork(Work[JoinReport]):
    def __init__(
        self,
        spark: SparkSession,
        prepared: _PreparedJoin,
        directory: RunDirectory,
        found: DataFrame,
        recorder: Recorder | None,
    ) -> None:
        self._spark = spark
        self._prepared = prepared
        self._directory = directory
        config, source = prepared.config, prepared.source
        self.rows = found
        self.sink = sink_of(config, directory)
        self.expected = source.expected
        self.offsets = source.offsets
        self.asked_to_pause = config.draws
        kept = config.output is not None
        self.measures = JoinMeasures(
            config,
            self._log,
            recorder=recorder,
            rejected=self._rejected,
            history=History(directory.history) if kept else None,
        )

    def emitted(self, rows: DataFrame) -> DataFrame:
        """Return one row per publication, with the subscriptions that it matched."""
        return matches_of(rows)

    def _log(self, query: StreamingQuery) -> EpochLog:
        return EpochLog(self._directory.store.under(f"state/epochs/{query.id}"))

    def _rejected(self) -> int:
        return sum(map(self._directory.dead_letters.rows, KINDS_OF_DEAD_LETTERS))

    def _latency(self, outcome: Outcome) -> Mapping[str, float | None] | None:
        """Return the latency of publications that arrive at a rate, if this process saw them all.

        If an earlier process began the run, the time of the first arrival is not known.
        """
        config, spans = self._prepared.config, outcome.timeline.own_spans
        if config.arrival_rate is None or 0 not in spans or not spans[0].waited:
            return None
        return summary(
            latencies(
                {epoch: span.ended for epoch, span in spans.items()},
                offered=spans[0].offered,
                rate=config.arrival_rate,
                of_epoch=config.epoch_publications,
                publications=config.publications,
            )
        )

    def report(self, outcome: Outcome) -> JoinReport:
        """Make the report; with ``verify``, also join in one process to compare the results."""
        config, directory, source = self._prepared.config, self._directory, self._prepared.source
        subscriptions = self._prepared.subscriptions
        matches = list(committed_tables(directory.commits))
        digest = digest_of(matches)
        expected = None
        if config.verify:
            publications = all_publications(self._spark, config, directory, source)
            expected = str(reference_digest(publications, subscriptions, config.subject))
        log, partitions = self._log(outcome.query), config.partitions_or_default
        balance = self.measures.balance
        published = source.expected
        if published is None:
            published = directory.commits.total("read")
        if not outcome.finished:
            published = 0 if balance is None else balance.messages
        return JoinReport(
            pipeline=config.pipeline,
            mode=config.mode,
            workers=config.workers,
            partitions=partitions,
            measure=config.load_measure,
            publications=published,
            subscriptions=subscriptions.num_rows,
            skew=config.skew if config.draws else None,
            matches=digest.pairs,
            matched_publications=sum(table.num_rows for table in matches),
            pairs_digest=str(digest),
            epochs=tuple(epochs_of(log, partitions, config.workers)),
            timing=outcome.timeline.timing(),
            publication_latency_ms=self._latency(outcome),
            epoch_ms=outcome.timeline.epoch_ms,
            rejected=self._rejected(),
            finished=outcome.finished,
            results=directory.results if config.output is not None else None,
            expected_digest=expected,
        )


def _on_disk(spark: SparkSession, subscriptions: pa.Table, directory: RunDirectory) -> DataFrame:
    """Write subscriptions to a file and read it with Spark, which saves memory in the driver."""
    # The file is always written: an existing file may come from another command, which was killed
    # before its run began.
    content = pa.BufferOutputStream()
    pq.write_table(subscriptions, content, row_group_size=_ROW_GROUP)
    directory.keep(_SUBSCRIPTIONS, content.getvalue().to_pybytes())
    schema = from_arrow_schema(subscriptions.schema)
    return spark.read.schema(schema).parquet(directory.store.path(_SUBSCRIPTIONS))


def _stored(
    static: DataFrame, match: SlowMatch, config: JoinConfig, directory: RunDirectory
) -> Mapping[str, Any]:
    """Store the subscriptions, unless an earlier process did so; return their partitioning."""
    store = StaticStore(directory.store.under("state/static"))
    if store.versions() and directory.begun:
        return store.manifest(store.latest()).partitioning
    # A process that was stopped before the run began has not kept the dead letters of the static
    # side. So the static side is written again.
    store.clear()
    count = config.partitions_or_default
    dead = directory.dead_letters
    return write_static(static, store, match, partitions=count, dead_letters=dead).partitioning


def _distributor(config: JoinConfig) -> DynamicDistributor:
    return DynamicDistributor(
        threshold=config.threshold,
        min_items=config.min_items,
        wait_periods=config.wait_periods,
        period=config.period,
        min_improvement=config.min_improvement,
        load_clock=config.load_clock,
        copies=False,  # the paper's modes move partitions but do not copy them
        forced=() if config.force_redistribution is None else (config.force_redistribution,),
    )


def _import_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import evenkey.papers.publish_subscribe.publishing  # noqa: F401 - imported for later tasks

    # Spark collects garbage after each task. Frozen objects are skipped, which saves time.
    gc.freeze()
    yield from batches
