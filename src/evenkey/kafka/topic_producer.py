"""Send records to a topic."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import RunError
from evenkey.kafka.client import ClientSettings
from evenkey.kafka.topics import SILENT, Topic, confluent_kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkey.kafka.topic_address import Address
    from evenkey.kafka.topic_records import Record

_PROGRESS_EVERY = 10_000
_LATE_SECONDS = 0.01
"""A producer that is ahead of its rate by at most this number of seconds does not wait."""
_FLOAT_ERROR = 1e-6


@dataclass(frozen=True)
class Produced:
    """What `produce` has sent.

    Parameters
    ----------
    messages
        Number of records that the broker acknowledged.
    seconds
        Seconds until the broker had acknowledged all records.
    """

    messages: int
    seconds: float

    @property
    def messages_per_second(self) -> float:
        """Records per second."""
        return self.messages / self.seconds


def produce(
    records: Iterable[Record],
    address: Address,
    *,
    first: float,
    live: bool = False,
    partitions: int = 5,
    settings: ClientSettings | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Produced:
    """Send records to a topic, record i to partition i mod P, and wait for acknowledgement.

    Parameters
    ----------
    records
        The records, in order of event time. A `Record` is a tuple of the record's key (bytes or
        None), its value (bytes) and its event time in seconds after the first record.
    address
        Servers and one topic, as ``Address.parse("HOST:PORT/TOPIC")`` returns them.
    first
        Event time of the first record, in seconds since 1970.
    live
        Whether to send records in real time, starting now; otherwise as fast as possible.
    partitions
        Number of partitions, P, with which the topic is created if it does not exist yet. If the
        topic exists, P is its number of partitions.
    settings
        Settings of the client; None: the defaults.
    on_progress
        Function that is called with the number of records so far; None: no calls.

    Returns
    -------
    Produced
        How much was sent: `messages`, the number of records that the broker acknowledged, and
        `seconds`, the time until it had acknowledged all of them.

    Raises
    ------
    ConfigurationError
        The package ``confluent-kafka`` is missing, no broker answers, or a setting is invalid.
    RunError
        The broker rejected a record.

    Examples
    --------
    `Address` and `Record` come from this module too.

    >>> from evenkey.kafka import Address, Record
    >>> records = [Record(b"ann", b"click", second / 10) for second in range(100)]
    >>> address = Address.parse("127.0.0.1:9092/clicks")
    >>> produce(records, address, first=1_767_225_600.0).messages  # doctest: +SKIP
    100
    """
    settings = settings or ClientSettings()
    count = Topic(address, settings).partitions(partitions)
    sender = _Sender(confluent_kafka(), address, settings)
    started = time.monotonic()
    sent = 0
    for record in records:
        if live:
            _wait(started + record.seconds)
        sender.send(record, sent % count, round(1000 * first) + _milliseconds(record.seconds))
        sent += 1
        if on_progress is not None and sent % _PROGRESS_EVERY == 0:
            on_progress(sent)
    sender.finish()
    if on_progress is not None:
        on_progress(sent)
    return Produced(sent, time.monotonic() - started)


def _milliseconds(seconds: float) -> int:
    """Convert to milliseconds, rounded down so that no record moves into the next window."""
    return math.floor(1000 * seconds + _FLOAT_ERROR)


def _wait(due: float) -> None:
    ahead = due - time.monotonic()
    if ahead > _LATE_SECONDS:
        time.sleep(ahead)


class _Sender:
    """librdkafka's idempotent producer, which stores each record once and in order."""

    def __init__(self, kafka: Any, address: Address, settings: ClientSettings) -> None:
        self._kafka = kafka
        self._topic = address.topic
        self._fault: str | None = None
        self._producer = kafka.Producer(
            {
                "linger.ms": "50",
                "compression.type": "lz4",
                **settings.for_librdkafka(),
                "bootstrap.servers": address.servers,
                "enable.idempotence": "true",
            },
            logger=SILENT,
        )

    def send(self, record: Record, partition: int, timestamp: int) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    key=record.key,
                    value=record.value,
                    partition=partition,
                    timestamp=timestamp,
                    on_delivery=self._delivered,
                )
            except BufferError:  # the queue is full: let some records be delivered
                self._producer.poll(0.1)
                continue
            except self._kafka.KafkaException as error:
                raise self._refused(error.args[0].str()) from error
            break
        self._producer.poll(0)
        if self._fault is not None:
            raise self._refused(self._fault)

    def finish(self) -> None:
        while self._producer.flush(1.0) and self._fault is None:
            pass
        if self._fault is not None:
            raise self._refused(self._fault)

    def _delivered(self, error: Any, message: Any) -> None:
        del message
        if error is not None:
            self._fault = error.str()

    def _refused(self, reason: str) -> RunError:
        return RunError(f"topic {self._topic!r} rejected a record: {reason}")
