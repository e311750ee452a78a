"""Throughput from Kafka: ``dkg`` and ``planned`` beside plain Spark queries that count the same.

One million messages of ``country-skew-r80`` in five partitions of a real broker on this
machine, two cores, eight epochs, no simulated cost. The plain query counts by window and key
with `groupBy`, in append mode, and writes into the same kind of topic; evenkey does the same
work with ten workers, closes its windows, and measures its balance. Runs are interleaved, three
of each after one warm-up. The target concerns the ratio of the median throughputs. Throughput is
messages over makespan, from the start of the first epoch to the end of the last (decision 006).
The ratio of processor times, of this process and all that it started, is reported too.

Two more plain queries show what delivering costs: Spark counts the first one's messages before it
shuffles them. In ``delivered`` each message goes to one of ten tasks by the hash of its key, and is
counted there; in ``delivered to Python`` it is counted there in Python.
"""

from __future__ import annotations

import itertools
import statistics
from functools import partial

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from benchmarks.processor_time import processor_seconds
from evenkey import PipelineConfig, run
from evenkey.cli.produce import parse_time
from evenkey.kafka import Address, produce
from evenkey.kafka.connector import connector_settings
from evenkey.kafka.topic_records import find_records
from evenkey.pipeline.runs.driving.run_times import Timeline, epochs_of
from evenkey.spark.sessions.starting import session
from tests.brokers import start_broker

MESSAGES, PARTITIONS, EPOCHS, WORKERS, ROUNDS, TARGET = 1_000_000, 5, 8, 10, 3, 0.5
GROUPINGS = ("dkg", "planned")
WINDOW = "60 seconds"

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


def plain(messages):
    """Count by window and key, with Spark's partial aggregation before the shuffle."""
    marked = messages.withWatermark("timestamp", WINDOW)
    return marked.groupBy(F.window("timestamp", WINDOW), "key").count()


def delivered(messages):
    """Move each message to a worker by the hash of its key, and count it there."""
    return plain(at_workers(messages))


def delivered_to_python(messages):
    """Move each message to a worker by the hash of its key, and count it there in Python."""
    start = F.window("timestamp", WINDOW).start.alias("start")
    placed = at_workers(messages).select(start, "key", "timestamp")
    counted = placed.mapInArrow(count, "start timestamp, key string, n bigint, timestamp timestamp")
    partial = counted.withWatermark("timestamp", WINDOW)
    return partial.groupBy(F.window("timestamp", WINDOW), "key").agg(F.sum("n").alias("count"))


def at_workers(messages):
    return messages.repartitionById(WORKERS, F.pmod(F.xxhash64("key"), WORKERS).cast("int"))


def count(batches):
    for batch in batches:
        groups = pa.Table.from_batches([batch]).group_by(["start", "key"])
        counted = groups.aggregate([([], "count_all"), ("timestamp", "max")])
        yield from counted.rename_columns(["start", "key", "n", "timestamp"]).to_batches()


def queried(spark, server, directory, query):
    """Return the makespan in seconds of a plain Spark query that counts by window and key."""
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", 4)
    messages = (
        own.readStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("subscribe", "clicks")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", MESSAGES // EPOCHS)
        .load()
        .select(F.col("value").cast("string").alias("key"), "timestamp")
    )
    running = (
        query(messages)
        .select(F.to_json(F.struct("window", "key", "count")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("topic", f"plain-{next(_numbers)}")
        .option("checkpointLocation", str(directory / f"checkpoint-{next(_numbers)}"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    assert sum(each["numInputRows"] for each in running.recentProgress) == MESSAGES
    timeline = Timeline()
    timeline.take_in(epochs_of(running))
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
    queries = {
        "plain": plain,
        "delivered": delivered,
        "delivered to Python": delivered_to_python,
    }
    runs = {name: partial(queried, spark, server, tmp_path, each) for name, each in queries.items()}
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
    for name in runs:
        target = f">= {TARGET}" if name in GROUPINGS else ""
        figure = f"{of[name]:,.0f} / {of['plain']:,.0f} = {of[name] / of['plain']:.2f}"
        report(f"messages/s from Kafka, {name} over a plain count", figure, target)
        spent = [statistics.median(work[each]) for each in (name, "plain")]
        figure = f"{spent[0]:.1f} / {spent[1]:.1f} = {spent[0] / spent[1]:.2f}"
        report(f"processor seconds of the same, {name} over plain", figure, "")
