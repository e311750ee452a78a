"""Kafka brokers for tests: started on free ports, filled, and read."""

from __future__ import annotations

import json
import secrets
import socket
import time
from typing import TYPE_CHECKING, Any

from tests.components import skip_without
from tests.java_options import SHORT_LIVED
from tools.kafka_broker import HOST, JARS, Broker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "PASSWORD",
    "begin_transaction",
    "consume",
    "create",
    "delete_records",
    "delete_topic",
    "delivered",
    "fill",
    "producer_to",
    "records",
    "send",
    "start_broker",
]

PASSWORD = secrets.token_hex(16)
"""Password of the brokers' second listener."""
_AHEAD = "message.timestamp.after.max.ms"
_PORTS = range(20_000, 32_000, 3)
"""Ports to choose from, below the ephemeral ports of the system."""


def start_broker(directory: Path, settings: str = "") -> Broker:
    """Start a broker with additional settings; skip the test if a component is missing."""
    try:
        import confluent_kafka  # noqa: F401 - checks that it is installed
    except ImportError:
        skip_without("kafka", "the package confluent-kafka is not installed")
    if not any(JARS.glob("*.jar")):
        skip_without("kafka", f"there are no jars in {JARS}: run make setup-kafka")
    # Random, so that test runs at the same time choose different ports.
    ports = iter(lambda: secrets.choice(_PORTS), None)
    broker = Broker(directory, next(filter(_free, ports)), PASSWORD, settings, SHORT_LIVED)
    broker.start()
    return broker


def _free(port: int) -> bool:
    for number in range(port, port + 3):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, number)) == 0:
                return False
    return True


def fill(broker: Broker, topic: str, values: Iterable[bytes | None], partitions: int = 2) -> None:
    """Create a topic, and `send` values to it."""
    create(broker, topic, partitions)
    send(broker, topic, values, partitions=partitions)


def create(broker: Broker, topic: str, partitions: int = 2, **settings: object) -> None:
    """Create a topic; its settings are keyword arguments with underscores in place of dots.

    The topic accepts records of any time; by default Kafka 4 rejects those an hour ahead.
    """
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    named = {name.replace("_", "."): str(value) for name, value in settings.items()}
    new = NewTopic(topic, num_partitions=partitions, config={_AHEAD: str(2**63 - 1), **named})
    admin = AdminClient({"bootstrap.servers": broker.server})
    admin.create_topics([new])[topic].result(240)


def send(
    broker: Broker,
    topic: str,
    values: Iterable[bytes | None],
    keys: Sequence[bytes] | None = None,
    first: int = 0,
    *,
    partitions: int = 2,
    **settings: Any,
) -> None:
    """Send values to the partitions in turn, one per second, from 2020-01-01 plus `first` s."""
    producer = producer_to(broker, **settings)
    for number, value in enumerate(values):
        producer.produce(
            topic,
            value,
            None if keys is None else keys[number],
            partition=number % partitions,
            timestamp=(1_577_836_800 + first + number) * 1000,
            on_delivery=delivered,
        )
        producer.poll(0)
    assert producer.flush(240) == 0


def producer_to(broker: Broker, **settings: Any) -> Any:
    """Return a producer that stores each record once, in the order of the calls of ``produce``.

    By default, Kafka's client may store a batch that it has to send again behind later batches, so
    its records come late. Settings are keyword arguments with underscores in place of dots.
    """
    from confluent_kafka import Producer

    named = {name.replace("_", "."): value for name, value in settings.items()}
    in_order = {"bootstrap.servers": broker.server, "enable.idempotence": True}
    return Producer({**in_order, **named})


def begin_transaction(
    broker: Broker, topic: str, values: Iterable[bytes], partitions: int = 2
) -> Any:
    """Send values in a transaction; return the producer, which must commit or abort it."""
    producer = producer_to(
        broker,
        transactional_id=f"of {topic}",
        # A broker aborts a transaction that is open for longer than this; a test may be slow.
        transaction_timeout_ms=600_000,
    )
    producer.init_transactions(240)
    producer.begin_transaction()
    for number, value in enumerate(values):
        timestamp = (1_577_836_800 + number) * 1000
        producer.produce(
            topic, value, partition=number % partitions, timestamp=timestamp, on_delivery=delivered
        )
    assert producer.flush(240) == 0
    return producer


def delete_topic(broker: Broker, topic: str) -> None:
    """Delete a topic, and wait until it is gone, so that its name can be used again."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": broker.server})
    admin.delete_topics([topic])[topic].result(240)
    while topic in admin.list_topics(timeout=240).topics:
        time.sleep(0.1)


def delete_records(broker: Broker, topic: str, before: Mapping[int, int]) -> None:
    """Delete the records of partitions before an offset, as retention does."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": broker.server})
    places = [TopicPartition(topic, number, offset) for number, offset in before.items()]
    for done in admin.delete_records(places).values():
        done.result(240)


def delivered(error: Any, _message: Any) -> None:
    """Fail if a record was not accepted; for ``on_delivery`` of a producer."""
    assert error is None, error


def records(broker: Broker, topic: str) -> list[tuple[bytes, bytes]]:
    """Return the key and value of all records that a topic holds now."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": broker.server, "group.id": "test", "enable.auto.commit": False}
    )
    try:
        numbers = consumer.list_topics(topic, timeout=240).topics[topic].partitions
        places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers]
        ends = [consumer.get_watermark_offsets(place, timeout=240)[1] for place in places]
        consumer.assign(places)
        found = consumer.consume(sum(ends), timeout=240) if sum(ends) else []
    finally:
        consumer.close()
    assert len(found) == sum(ends)
    return [(each.key() or b"", each.value() or b"") for each in found]


def consume(broker: Broker, topic: str) -> list[tuple[Any, Any]]:
    """Return all records that a topic holds now, with keys and values parsed as JSON."""
    return [(json.loads(key), json.loads(value)) for key, value in records(broker, topic)]
