"""Read the records of topics as lines to split, through Spark's Kafka connector."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.kafka.admin import Admin
from evenkey.kafka.avro import json_lines
from evenkey.kafka.offsets import with_new_partitions
from evenkey.spark.keys import FAR_AHEAD, far_ahead

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.kafka.client import ClientSettings, Isolation
    from evenkey.kafka.offsets import OffsetRange
    from evenkey.kafka.topic_address import Address

PLACES = ("topic", "partition", "offset")
"""Columns with the position of a record."""


def kafka_lines(
    spark: SparkSession,
    address: Address,
    settings: ClientSettings,
    offsets: OffsetRange,
    *,
    part: str,
    sources: int,
    epoch_records: int | None,
    isolation: Isolation = "read_committed",
    avro: str | None = None,
    max_ahead: float | None = None,
) -> DataFrame:
    """Stream the records of topics.

    Parameters
    ----------
    offsets
        The range to read. If the range has an end, later records are dropped, because Spark's
        source has no end. Partitions that a topic gets during the run are dropped too. If the range
        has no end, such partitions are read from their beginning.
    part
        The part of a record that is the line: ``value`` or ``key``.
    sources
        Number of reading tasks. If there are fewer partitions than tasks, partitions are split. If
        there are more partitions than tasks, a task reads several partitions, one after the other.
    epoch_records
        Maximum number of offsets, and so of records, that an epoch takes from all partitions
        together. None: no limit.
    isolation
        ``read_uncommitted`` also reads records of open and aborted transactions.
    avro
        Schema of Avro records, which are converted to JSON objects. None: the records are lines.
    max_ahead
        Seconds that a record's timestamp may be ahead of the epoch's processing time; None: no
        limit.

    Returns
    -------
    DataFrame
        ``topic``, ``partition``, ``offset``, ``line`` (binary, empty for null), ``time`` (the
        record's timestamp), and `FAR_AHEAD` if `max_ahead` is not None.
    """
    with Admin.open(spark, address, settings) as admin:
        start = with_new_partitions(admin, address, offsets.start)
    reader = (
        spark.readStream.format("kafka")
        .options(**settings.for_reading(isolation))
        .option("kafka.bootstrap.servers", address.servers)
        .option("subscribe", ",".join(address.topics))
        .option("startingOffsets", json.dumps(start))
    )
    if epoch_records is not None:
        reader = reader.option("maxOffsetsPerTrigger", epoch_records)
    if offsets.partitions < sources:
        reader = reader.option("minPartitions", sources)
    records = reader.load()
    if offsets.end is not None:
        records = records.filter(F.col("offset") < _ends(offsets))
    line = F.col(part) if avro is None else json_lines(F.col(part), avro)
    lines = records.select(
        *PLACES,
        F.coalesce(line, F.lit(b"")).alias("line"),
        F.col("timestamp").alias("time"),
    )
    if max_ahead is not None:
        allowed = F.make_dt_interval(secs=F.lit(max_ahead))
        lines = lines.withColumn(FAR_AHEAD, far_ahead(F.col("time"), allowed))
    return lines.coalesce(sources)


def _ends(offsets: OffsetRange) -> Column:
    """Return a column with the end offset of a record's partition; 0 for partitions added later."""
    known = []
    for topic, partitions in (offsets.end or {}).items():
        ends = [partitions.get(number, 0) for number in range(max(partitions, default=0) + 1)]
        end = F.get(F.array(*map(F.lit, ends)), F.col("partition")).cast("long")
        known.append(F.when(F.col("topic") == topic, end))
    return F.coalesce(*known, F.lit(0))
