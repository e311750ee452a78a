"""Throughput from Kafka: dkg against a plain query of Spark's that counts the same records.

One million messages of ``country-skew-r80`` in five partitions of a real broker on this
machine, two cores, eight epochs, no simulated cost. The plain query counts by window and key
with `groupBy`, in append mode, and writes into the same kind of topic; evenkey does the same
work with ten workers under dkg, closes its windows, and watches its balance. Both run by turns,
three times each after one warm-up; what counts is the ratio of the medians of throughput, which
is messages over makespan, from the start of the first epoch to the end of the last (decision 006).
"""

from __future__ import annotations

import itertools
import statistics

import pytest
from pyspark.sql import functions as F

from evenkey.spark.session import session
from evenkey.topology import PipelineConfig, run
from evenkey.topology.driving import timing_of
from evenkey.topology.kafka import Address, produce
from evenkey.topology.kafka.connector import connector_settings
from evenkey.topology.kafka.records import find_records, parse_time
from tests.brokers import start_broker

MESSAGES, PARTITIONS, EPOCHS, WORKERS, PAIRS, TARGET = 1_000_000, 5, 8, 10, 3, 0.5

_numbers = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    broker = start_broker(tmp_path_factory.mktemp("kafka"))
    records = find_records("country-skew-r80", messages=MESSAGES).records
    address = Address.parse(f"{broker.server}/clicks")
    produce(records, address, first=parse_time("2020-01-01"), partitions=PARTITIONS)
    yield broker.server
    broker.stop()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    settings = {**connector_settings(), "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    started = session("local[10,4]", settings)
    yield started
    started.stop()


def plain(spark, server, directory):
    """Makespan in seconds of a query that counts by window and key in Spark's own way."""
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", 4)
    query = (
        own.readStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("subscribe", "clicks")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", MESSAGES // EPOCHS)
        .load()
        .select(F.col("value").cast("string").alias("key"), "timestamp")
        .withWatermark("timestamp", "60 seconds")
        .groupBy(F.window("timestamp", "60 seconds"), "key")
        .count()
        .select(F.to_json(F.struct("window", "key", "count")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("topic", f"plain-{next(_numbers)}")
        .option("checkpointLocation", str(directory / f"checkpoint-{next(_numbers)}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sum(each["numInputRows"] for each in query.recentProgress) == MESSAGES
    return timing_of(query).makespan_ms / 1000


def grouped(server, directory):
    """Makespan in seconds of evenkey's run of the same."""
    number = next(_numbers)
    config = PipelineConfig(
        kafka=f"{server}/clicks",
        output_kafka=f"{server}/grouped-{number}",
        output=directory / f"out-{number}",
        grouping="dkg",
        workers=WORKERS,
        epochs=EPOCHS,
    )
    report = run(config, prepare=False)
    assert report.finished
    assert report.metrics.messages == MESSAGES
    return report.timing.makespan_ms / 1000


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_throughput_from_kafka(spark, server, report, tmp_path):
    plain(spark, server, tmp_path)
    grouped(server, tmp_path)
    pairs = [(plain(spark, server, tmp_path), grouped(server, tmp_path)) for _ in range(PAIRS)]
    of_spark, of_evenkey = (MESSAGES / statistics.median(side) for side in zip(*pairs, strict=True))
    what = "messages/s from Kafka, dkg over a plain count"
    figure = f"{of_evenkey:,.0f} / {of_spark:,.0f} = {of_evenkey / of_spark:.2f}"
    report(what, figure, f">= {TARGET}")
