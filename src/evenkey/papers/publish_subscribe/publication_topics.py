"""Read publications from Kafka topics, as a stream or as a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.kafka import PLACES, ClientSettings, kafka_lines
from evenkey.pipeline.runs import READ

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from evenkey.kafka import Address, OffsetRange
    from evenkey.papers.publish_subscribe.config import JoinConfig

_VALUE = "publication bigint, geometry string"


def stream_of_topics(
    spark: SparkSession, config: JoinConfig, address: Address, offsets: OffsetRange
) -> DataFrame:
    """Stream publications from topics, with ``publication``, ``geometry``, ``time`` and the place.

    The place is the topic, the partition and the offset of the record. If the value of a record is
    not a JSON object with ``publication`` and ``geometry``, the geometry is null, and the record
    becomes a dead letter with its place.
    """
    span = offsets.span
    lines = kafka_lines(
        spark,
        address,
        ClientSettings.read(config.kafka_config),
        offsets,
        part=config.record_part,
        isolation=config.isolation,
        sources=config.sources,
        epoch_records=None if span is None else max(1, -(-span // config.epochs)),
    )
    counted = lines.observe(READ, F.count(F.lit(1)).alias("records"))
    return _parsed(counted).select("publication", "geometry", "time", *PLACES)


def publications_of_topics(
    spark: SparkSession, config: JoinConfig, address: Address, offsets: OffsetRange
) -> pa.Table:
    """Read the publications of topics as a table: ``publication`` and ``geometry``."""
    records = (
        spark.read.format("kafka")
        .options(**ClientSettings.read(config.kafka_config).for_reading(config.isolation))
        .option("kafka.bootstrap.servers", address.servers)
        # Read only the partitions that existed at the start of the run.
        .option(
            "assign", json.dumps({topic: sorted(each) for topic, each in offsets.start.items()})
        )
        .option("startingOffsets", json.dumps(offsets.start))
        .option("endingOffsets", json.dumps(offsets.end or "latest"))
        .load()
    )
    rows = _parsed(records.withColumn("line", F.col(config.record_part)))
    return rows.select("publication", "geometry").toArrow()


def _parsed(lines: DataFrame) -> DataFrame:
    text = F.try_validate_utf8(F.col("line").cast("string"))
    row = F.from_json(text, _VALUE)
    named = lines.withColumn("row", row).withColumn("publication", F.col("row.publication"))
    # A publication without a number could match, but the results could not name the publication.
    well_formed = F.when(F.col("publication").isNotNull(), F.unhex("row.geometry"))
    return named.withColumn("geometry", well_formed)
