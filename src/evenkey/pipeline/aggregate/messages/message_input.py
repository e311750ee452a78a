"""Open the messages of a configuration: source, splitter and length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.core.streams import RowIndex, SplitLines
from evenkey.kafka import PLACES, Address, ClientSettings, OffsetRange, kafka_lines, read_schema
from evenkey.pipeline.aggregate.messages.kept import FoundInput, keep_records, kept_records
from evenkey.pipeline.aggregate.messages.own_columns import described
from evenkey.pipeline.aggregate.messages.readings import GeneratorReading, LinesReading, RowsReading
from evenkey.pipeline.aggregate.messages.splitting import LATEST, split_lines, vet_rows
from evenkey.pipeline.aggregate.messages.streams import (
    generated_stream,
    index_input,
    lines_splitter,
)
from evenkey.pipeline.runs import stream_of
from evenkey.spark.keys import latest_time
from evenkey.spark.routing import routes_natively, routing_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.core.streams import Splitter
    from evenkey.pipeline.aggregate.config import PipelineConfig
    from evenkey.pipeline.aggregate.messages.kept import Extent
    from evenkey.pipeline.runs import RunDirectory
    from evenkey.spark.routing import RoutingTask


@dataclass(frozen=True)
class Input:
    """The messages of a run.

    Parameters
    ----------
    name
        The name of the dataset, the paths of the files, or the address of the topics.
    messages
        Streaming DataFrame with the columns ``position``, ``key`` (with the metadata of
        `described`), ``count``, ``time`` and further columns that the aggregator reads. If the
        splitters, which run in Python, also route, there is a column with the worker.
    sources
        Number of tasks that route; each routes by the loads that it has counted itself.
    expected
        Number of positions to read; None for topics, in which not every offset is a record.
    split
        Whether tasks split or validate the lines or rows, and count them, before routing.
    offsets
        The range of offsets to read from topics; None for any other input.
    """

    name: str
    messages: DataFrame
    sources: int
    expected: int | None
    split: bool
    offsets: OffsetRange | None = None


def find_input(config: PipelineConfig, directory: RunDirectory) -> FoundInput:
    """Find the input of a configuration, or read the index that the run has already stored.

    Raises
    ------
    ConfigurationError
        The dataset or a file does not exist, is empty, or lacks the key.
    RunError
        The stored index of the input cannot be read.
    """
    if config.dataset is not None:
        stream = generated_stream(config.dataset, config)
        return FoundInput(stream.name, GeneratorReading(stream), None)
    if config.kafka is not None:
        return FoundInput(config.kafka, None, lines_splitter(config))
    if directory.begun:
        return _found(config, *kept_records(directory))
    records = index_input(config, directory.unpacked(config.input))
    extent = _extent(config, len(records))
    found = _found(config, records, extent)
    keep_records(records, extent, directory)
    return found


def open_input(
    spark: SparkSession, found: FoundInput, config: PipelineConfig, directory: RunDirectory
) -> Input:
    """Open the input as a stream of messages."""
    if found.reading is None:
        # Records of topics are lines, so there is a splitter.
        return _open_topics(spark, found.name, cast("Splitter", found.splitter), config, directory)
    epoch_messages = config.epoch_positions(found.reading.total)
    rows = stream_of(
        spark,
        found.reading,
        sources=config.sources,
        epoch_messages=epoch_messages,
        stop_file=directory.paused,
        arrival_rate=config.arrival_rate,
    )
    if config.time is not None:
        allowed = F.make_dt_interval(secs=F.lit(config.max_ahead))
        rows = rows.withColumn(LATEST, latest_time(allowed))
    messages = _spread(rows, config, F.col("position"), ("position",))
    routing = _routing(spark, config, directory)
    dead_letters, files, split = directory.dead_letters, directory.files, True
    if found.splitter is not None:
        messages = split_lines(messages, found.splitter, dead_letters, files, routing=routing)
    elif isinstance(found.reading, RowsReading):
        extra = found.reading.index.columns.extra
        messages = vet_rows(messages, dead_letters, files, extra=extra, routing=routing)
    elif routing is not None and config.route_by == "weights":
        # Route in this pass: Spark's routing would count every row as a message of weight 1.
        messages = vet_rows(messages, dead_letters, files, routing=routing)
    else:
        split = False
    messages = described(messages, config, found)
    return Input(found.name, messages, config.routers, found.reading.total, split)


def _found(config: PipelineConfig, records: SplitLines | RowIndex, extent: Extent) -> FoundInput:
    name = ", ".join(map(str, config.input))
    if isinstance(records, RowIndex):
        return FoundInput(name, RowsReading(records, *extent), None)
    return FoundInput(name, LinesReading(records.index, *extent), records.splitter)


def _extent(config: PipelineConfig, positions: int) -> Extent:
    """Return the `Extent` of an input that has this number of positions."""
    total = positions if config.messages is None else min(positions, config.messages)
    return total, config.event_rate(total), config.block_positions(total, config.sources)


def _routing(
    spark: SparkSession, config: PipelineConfig, directory: RunDirectory
) -> RoutingTask | None:
    """Return the task that routes messages after splitting; None if Spark routes natively."""
    grouping = config.resolved_grouping()
    if routes_natively(grouping, streaming=True, spread=True):
        return None
    return routing_task(
        spark,
        grouping,
        config.workers,
        load=config.load,
        state=directory.tables,
        streaming=True,
        learn=False,
        weighted=config.route_by == "weights",
    )


def _spread(
    df: DataFrame, config: PipelineConfig, number: Column, order: tuple[str, ...]
) -> DataFrame:
    """Distribute rows to splitters round-robin, unless there are as many splitters as sources."""
    if config.routers == config.sources:
        return df
    turn = F.pmod(number, F.lit(config.splitters)).cast("int")
    dealt = df.withColumn("__turn", turn).repartitionById(config.routers, F.col("__turn"))
    columns = dealt.drop("__turn")
    return columns.mapInArrow(_InOrder(order), columns.schema)


class _InOrder:
    """Sorts a task's share of an epoch, because blocks of a shuffle arrive in any order."""

    def __init__(self, order: tuple[str, ...]) -> None:
        self._order = [(name, "ascending") for name in order]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        share = [batch for batch in batches if batch.num_rows]
        if share:
            yield from pa.Table.from_batches(share).sort_by(self._order).to_batches()


def _open_topics(
    spark: SparkSession,
    name: str,
    splitter: Splitter,
    config: PipelineConfig,
    directory: RunDirectory,
) -> Input:
    """Open topics for the range of offsets that the run stored at its start."""
    offsets = OffsetRange.read(directory.store, directory.OFFSETS)
    span = offsets.span
    lines = kafka_lines(
        spark,
        Address.parse(name),
        ClientSettings.read(config.kafka_config),
        offsets,
        part=config.record_part,
        isolation=config.isolation,
        avro=None if config.avro_schema is None else read_schema(config.avro_schema),
        sources=config.sources,
        epoch_records=config.epoch_messages if span is None else config.epoch_positions(span),
        max_ahead=config.max_ahead,
    )
    dealt = _spread(lines, config, F.col("offset") + F.col("partition"), ("time", *PLACES))
    messages = split_lines(
        dealt,
        splitter,
        directory.dead_letters,
        directory.files,
        places=PLACES,
        routing=_routing(spark, config, directory),
    )
    messages = described(messages, config, FoundInput(name, None, splitter))
    return Input(name, messages, config.routers, None, split=True, offsets=offsets)
