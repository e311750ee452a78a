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
        The range to read. Spark's source has no end, so later records are dropped, and so are
        partitions that a topic gets during the run. If the range has no end, such partitions are
        read from their beginning.
    part
        ``value`` or ``key``: which of the two is the line.
    sources
        Number of reading tasks. If there are fewer partitions, they are split; if there are more, a
        task reads several, one after the other.
    epoch_records
        Maximum number of offsets that an epoch takes from all partitions together, and so of
        records; None: no limit.
    isolation
        ``read_uncommitted`` also reads records of open and aborted transactions.
    avro
        Schema of Avro records, which become JSON objects; None: the records are lines.
    max_ahead
        Seconds that a record's timestamp may be ahead of the epoch's processing time; None: no
        limit.

    Returns
    -------
    DataFrame
        ``topic``, ``partition``, ``offset``, ``line`` (binary, empty for null), ``time`` (the
        record's timestamp), and `FAR_AHEAD` if there is a `max_ahead`.
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
    """Return a column with the end of a record's partition; 0: added since the start."""
    known = []
    for topic, partitions in (offsets.end or {}).items():
        ends = [partitions.get(number, 0) for number in range(max(partitions, default=0) + 1)]
        end = F.get(F.array(*map(F.lit, ends)), F.col("partition")).cast("long")
        known.append(F.when(F.col("topic") == topic, end))
    return F.coalesce(*known, F.lit(0))
