"""A dataset in a topic, its true counts, and the counts that a pipeline wrote."""

from __future__ import annotations

from collections import Counter

from evenkey.cli.produce import parse_time
from evenkey.core.streams import generated
from evenkey.kafka import read_topic
from evenkey.kafka.topic_address import Address
from evenkey.kafka.topic_producer import produce
from evenkey.kafka.topic_records import find_records

__all__ = ["counted", "send", "truth"]

DATASET = "country-skew-r80"
START = parse_time("2020-01-01")


def send(broker, topic, messages):
    address = Address.parse(f"{broker.server}/{topic}")
    found = find_records(DATASET, messages=messages)
    assert produce(found.records, address, first=START, partitions=3).messages == messages


def counted(spark, broker, topic):
    """Map (seconds since the start of the window's minute, key) to the count in the topic."""
    rows = read_topic(spark, f"{broker.server}/{topic}-out").toArrow().to_pylist()
    counts = {(row["window_start"].timestamp() - START, row["key"]): row["count"] for row in rows}
    assert len(counts) == len(rows)
    return counts


def truth(messages):
    stream = generated(DATASET, messages=messages)
    batch = stream.batch(0, messages)
    keys = stream.texts(batch.ids).to_pylist()
    return Counter((t // 60 * 60, key) for t, key in zip(batch.times, keys, strict=True))
