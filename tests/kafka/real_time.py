"""A real-time count from topic to topic, for tests to kill: ``python -m ... SERVER DIRECTORY``."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.kafka.connector import connector_settings
from evenkey.spark.routing.real_time import REAL_TIME_SETTINGS
from evenkey.spark.sessions.starting import session
from tests.brokers import delivered, producer_to, records

__all__ = [
    "SETTINGS",
    "clicks",
    "merged",
    "read",
    "seconds",
    "send",
    "send_far_ahead",
    "start",
    "sums",
    "truth",
    "window_of",
    "write",
]

START = 1_577_836_800
WINDOW = 600
AGGREGATES = {"clicks": "count", "total": "sum(number)", "last": "max(number)"}
_SCHEMA = (
    "window struct<start timestamp, end timestamp>, user string, worker int, clicks bigint, "
    "total decimal(38,0), last bigint"
)
_MIN_DURATION = "spark.sql.streaming.realTimeMode.minBatchDuration"
SETTINGS = {**REAL_TIME_SETTINGS, _MIN_DURATION: "1s", "spark.sql.session.timeZone": "UTC"}


def window_of(number: int) -> int:
    """Return the start of the window that contains a number's time, in seconds."""
    return (START + number) // WINDOW * WINDOW


def seconds(moment: str) -> int:
    """Convert a time in Spark's JSON to seconds."""
    return int(datetime.fromisoformat(moment).timestamp())


def _user(number: int) -> str | None:
    if number % 50 == 7:
        return None
    return "alice" if number % 10 < 6 else f"user {number % 37}"


def send(broker, topic, numbers):
    """Send clicks, one per second of event time; the number of a click determines its user."""
    producer = producer_to(broker)
    for number in numbers:
        value = json.dumps({"user": _user(number), "number": number})
        at = (START + number) * 1000
        producer.produce(topic, value, partition=0, timestamp=at, on_delivery=delivered)
    assert producer.flush(30) == 0


def send_far_ahead(broker, topic):
    """Send a click of the year 2099, which must not make later clicks late."""
    producer = producer_to(broker)
    value = json.dumps({"user": "alice", "number": 10**9, "amount": 10**9})
    producer.produce(topic, value, partition=0, timestamp=4_070_908_800_000, on_delivery=delivered)
    assert producer.flush(30) == 0


def truth(numbers):
    """Return the clicks, their sum and the last one, by window and user."""
    found: dict[Any, list[int]] = {}
    for number in numbers:
        found.setdefault((window_of(number), _user(number)), []).append(number)
    return {key: (len(each), sum(each), max(each)) for key, each in found.items()}


def clicks(spark, server, topic):
    """Return the stream of clicks."""
    rows = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .load()
    )
    click = F.from_json(F.col("value").cast("string"), "user string, number bigint")
    return rows.select(click.alias("click"), "timestamp", "offset").select(
        "click.*", "timestamp", "offset"
    )


def start(spark, server, source, target, directory, *, grouping="planned(planning=fit)", workers=2):
    """Start the count."""
    parts = eks.aggregate_by_worker(
        clicks(spark, server, source),
        "user",
        grouping,
        workers,
        AGGREGATES,
        time="timestamp",
        window=f"{WINDOW} seconds",
        watermark="1 day",
        state=directory / "state",
        position="offset",
    )
    return write(parts, ("window", "user", "worker"), server, target, directory / "checkpoint")


def write(rows, key, server, target, checkpoint):
    """Write rows to a topic, in real time, as JSON."""
    return (
        rows.select(F.to_json(F.struct(*key)).alias("key"), F.to_json(F.struct("*")).alias("value"))
        .writeStream.format("kafka")
        .outputMode("update")
        .option("kafka.bootstrap.servers", server)
        .option("topic", target)
        .option("checkpointLocation", str(checkpoint))
        .trigger(realTime="2 seconds")
        .start()
    )


def read(reader, server, topic):
    """Read each worker's partial results per key, with the offset of each record."""
    rows = (
        reader.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .load()
    )
    part = F.from_json(F.col("value").cast("string"), _SCHEMA)
    return rows.select(part.alias("part"), "offset").select("part.*", "offset")


def merged(parts, workers=2):
    """Merge what `read` returned into results."""
    return eks.merge_workers(parts, "user", workers, AGGREGATES, order="offset", window=True)


def sums(broker, topic):
    """Compute results from the last record of each part, without Spark and evenkey."""
    lasts = {}
    for key, value in records(broker, topic):
        lasts[key] = json.loads(value)
    found: dict[Any, Counter[str]] = {}
    for each in lasts.values():
        at = seconds(each["window"]["start"])
        sum_ = found.setdefault((at, each.get("user")), Counter())
        sum_.update({"clicks": each["clicks"], "total": each["total"]})
        sum_["last"] = max(sum_["last"], each["last"])
    return {key: (each["clicks"], each["total"], each["last"]) for key, each in found.items()}


def main(server: str, directory: Path) -> None:
    """Count until a file requests the end."""
    settings = {**SETTINGS, **connector_settings(), "spark.sql.shuffle.partitions": "2"}
    query = start(session("local[4]", settings), server, "killed", "killed-parts", directory)
    while not (directory / "end").exists():
        if not query.isActive:
            raise RuntimeError(str(query.exception()))
        time.sleep(0.1)
    query.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
