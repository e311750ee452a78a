"""Throughput from Kafka: ``dkg`` and ``planned`` beside a plain Spark query that counts the same.

One million messages of ``country-skew-r80`` in five partitions of a real broker on this
machine, two cores, eight epochs, no simulated cost. The plain query counts by window and key
with `groupBy`, in append mode, and writes into the same kind of topic; evenkey does the same
work with ten workers, closes its windows, and measures its balance. Runs are interleaved, three
of each after one warm-up. The target concerns the ratio of the median throughputs. Throughput is
messages over makespan, from the start of the first epoch to the end of the last (decision 006).
The ratio of processor times, of this process and all that it started, is reported too.
"""

from __future__ import annotations

import itertools
import statistics
from functools import partial

import pytest
from pyspark.sql import functions as F

from benchmarks.processor_time import processor_seconds
from evenkey import PipelineConfig, run
from evenkey.cli.produce import parse_time
from evenkey.kafka import Address, produce
from evenkey.kafka.connector import connector_settings
from evenkey.kafka.topic_records import find_records
from evenkey.pipeline.runs.driving.run_times import Timeline
from evenkey.pipeline.runs.driving.timing import epochs_of
from evenkey.spark.sessions.starting import session
from tests.brokers import start_broker

MESSAGES, PARTITIONS, EPOCHS, WORKERS, ROUNDS, TARGET = 1_000_000, 5, 8, 10, 3, 0.5
GROUPINGS = ("dkg", "planned")

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
    """Return the makespan in seconds of a plain Spark query that counts by window and key."""
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
    timeline = Timeline()
    timeline.take_in(epochs_of(query))
    return timeline.timing().makespan_ms / 1000


def grouped(server, directory, grouping):
    """Return the makespan in seconds of evenkey's run of the same count."""
    number = next(_numbers)
    config = PipelineConfig(
        kafka=f"{server}/clicks",
        output_kafka=f"{server}/grouped-{number}",
        output=directory / f"out-{number}",
        grouping=grouping,
        workers=WORKERS,
        epochs=EPOCHS,
    )
    report = run(config)
    assert report.finished
    assert report.metrics.messages == MESSAGES
    return report.timing.makespan_ms / 1000


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_throughput_from_kafka(spark, server, report, tmp_path):
    runs = {"plain": partial(plain, spark, server, tmp_path)}
    runs |= {name: partial(grouped, server, tmp_path, name) for name in GROUPINGS}
    for each in runs.values():
        each()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    work: dict[str, list[float]] = {name: [] for name in runs}
    for _, (name, each) in itertools.product(range(ROUNDS), runs.items()):
        before = processor_seconds()
        seconds[name].append(each())
        work[name].append(processor_seconds() - before)
    of = {name: MESSAGES / statistics.median(side) for name, side in seconds.items()}
    for name in GROUPINGS:
        figure = f"{of[name]:,.0f} / {of['plain']:,.0f} = {of[name] / of['plain']:.2f}"
        report(f"messages/s from Kafka, {name} over a plain count", figure, f">= {TARGET}")
        spent = [statistics.median(work[each]) for each in (name, "plain")]
        figure = f"{spent[0]:.1f} / {spent[1]:.1f} = {spent[0] / spent[1]:.2f}"
        report(f"processor seconds of the same, {name} over plain", figure, "")
