"""Send a dataset, or the lines of a file, into a topic."""

from __future__ import annotations

import json
import logging
import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evenkey.errors import ConfigurationError, RunError
from evenkey.streams import SPAN_SECONDS, generated
from evenkey.streams.files import LineIndex, find_files
from evenkey.topology.config_files import check_input
from evenkey.topology.kafka.client import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkey.streams import KeyStream
    from evenkey.topology.kafka.address import Address

__all__ = ["Produced", "Record", "Records", "ValueFormat", "find_records", "parse_time", "produce"]

ValueFormat = Literal["lines", "json"]

_BATCH = 1 << 16
_TOLD_EVERY = 10_000
_LATE_SECONDS = 0.01
"""A producer that is ahead of its rate by less than this does not wait."""
_TIMEOUT_SECONDS = 20.0
_FLOAT_ERROR = 1e-6
_SILENT = logging.getLogger(__name__)
"""librdkafka reports each attempt at a server here; what counts is raised."""
_SILENT.addHandler(logging.NullHandler())


class Record(NamedTuple):
    """A record to send: its key and value, and its event time in seconds from the first one."""

    key: bytes | None
    value: bytes
    seconds: float


class Records(NamedTuple):
    """What is to be sent.

    Parameters
    ----------
    name
        The dataset's, or the path.
    records
        In order of event time.
    total
        How many they are.
    seconds
        Event time that they span.
    """

    name: str
    records: Iterator[Record]
    total: int
    seconds: float


@dataclass(frozen=True)
class Produced:
    """What was sent.

    Parameters
    ----------
    messages
        Records that the broker has acknowledged.
    seconds
        How long it took.
    """

    messages: int
    seconds: float

    @property
    def messages_per_second(self) -> float:
        """Records a second."""
        return self.messages / self.seconds


def dataset_records(stream: KeyStream, form: ValueFormat = "lines") -> Iterator[Record]:
    """Make the records of a dataset.

    Parameters
    ----------
    stream
        The dataset.
    form
        ``lines``: the value is the key's text. ``json``: an object with ``key`` and
        ``count``. The record's key is the key's text in both.

    Examples
    --------
    >>> from evenkey.streams import generated
    >>> next(dataset_records(generated("country-skew-r100", messages=10)))
    Record(key=b'Turkey', value=b'Turkey', seconds=0.0)
    """
    for batch in stream.batches(_BATCH):
        for text, count, seconds in zip(
            stream.texts(batch.ids).to_pylist(),
            batch.counts.tolist(),
            batch.times.tolist(),
            strict=True,
        ):
            key = text.encode()
            if form == "json":
                value = json.dumps({"key": text, "count": count}, ensure_ascii=False).encode()
            else:
                value = key
            yield Record(key, value, seconds)


def line_records(index: LineIndex, lines: int, per_second: float) -> Iterator[Record]:
    """Make a record of each line of files, without key and line end.

    Parameters
    ----------
    index
        The files; what a splitter later makes of their lines is not looked at.
    lines
        How many, from the first.
    per_second
        Lines per second of event time.
    """
    for begin in range(0, lines, _BATCH):
        values = index.read(begin, min(lines, begin + _BATCH)).to_pylist()
        for number, line in enumerate(values, start=begin):
            yield Record(None, line, number / per_second)


def find_records(
    source: str,
    *,
    form: ValueFormat = "lines",
    messages: int | None = None,
    seed: int = 0,
    rate: float | None = None,
) -> Records:
    """Find what a name or a path stands for.

    Parameters
    ----------
    source
        A dataset, or files of lines: a file, a directory or a glob.
    form
        As for `dataset_records`.
    messages
        How many, from the first; None is all there are.
    seed
        Another seed gives another stream of the same dataset.
    rate
        Messages per second of event time; None lets them span 400 s.

    Raises
    ------
    ConfigurationError
        There is no such file or dataset, or it is empty.
    """
    if not (Path(source).exists() or "/" in source):
        stream = generated(source, messages=messages, seed=seed, rate=rate)
        seconds = stream.length / stream.per_second
        return Records(stream.name, dataset_records(stream, form), stream.length, seconds)
    check_input([Path(source)])
    index = LineIndex.build(find_files([source]))
    lines = index.lines if messages is None else min(index.lines, messages)
    per_second = lines / SPAN_SECONDS if rate is None else rate
    return Records(source, line_records(index, lines, per_second), lines, lines / per_second)


def parse_time(text: str) -> float:
    """Read a point in time as seconds since 1970; without a zone it is UTC.

    Raises
    ------
    ConfigurationError
        It is not of the form of ISO 8601.

    Examples
    --------
    >>> parse_time("2020-01-01")
    1577836800.0
    """
    try:
        told = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"start = {text!r}: must be a time such as 2020-01-01T00:00:00+00:00"
        raise ConfigurationError(message) from error
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()


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
    """Send records to a topic, record i to partition i mod P, and wait until they are kept.

    Parameters
    ----------
    records
        In order of event time.
    address
        Servers, and the one topic.
    first
        Event time of the first record, in seconds since 1970.
    live
        Whether each record waits until its time has passed on the clock, from now on;
        otherwise they are sent as fast as it goes.
    partitions
        Partitions of the topic, where it is not there yet.
    settings
        Of the client.
    on_progress
        Called with the records so far.

    Raises
    ------
    ConfigurationError
        The package ``confluent-kafka`` is missing, no broker answers, or a setting cannot be.
    RunError
        The broker did not take a record.
    """
    kafka = _client()
    settings = settings or ClientSettings()
    count = _partitions(kafka, address, partitions, settings)
    sender = _Sender(kafka, address, settings)
    started = time.monotonic()
    sent = 0
    for record in records:
        if live:
            _wait(started + record.seconds)
        sender.send(record, sent % count, round(1000 * first) + _milliseconds(record.seconds))
        sent += 1
        if on_progress is not None and sent % _TOLD_EVERY == 0:
            on_progress(sent)
    sender.finish()
    if on_progress is not None:
        on_progress(sent)
    return Produced(sent, time.monotonic() - started)


def _client() -> Any:
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError as error:
        message = "producing needs the package confluent-kafka: pip install 'evenkey[kafka]'"
        raise ConfigurationError(message) from error
    return confluent_kafka


def _milliseconds(seconds: float) -> int:
    """Round down, so that no record moves into the next window."""
    return math.floor(1000 * seconds + _FLOAT_ERROR)


def _wait(due: float) -> None:
    ahead = due - time.monotonic()
    if ahead > _LATE_SECONDS:
        time.sleep(ahead)


class _Sender:
    """librdkafka's producer: idempotent, so that no record is kept twice or out of order."""

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
            logger=_SILENT,
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
                    on_delivery=self._heard,
                )
            except BufferError:  # the queue is full: let some be delivered
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

    def _heard(self, error: Any, message: Any) -> None:
        del message
        if error is not None:
            self._fault = error.str()

    def _refused(self, reason: str) -> RunError:
        return RunError(f"topic {self._topic!r} did not take a record: {reason}")


def _partitions(kafka: Any, address: Address, wanted: int, settings: ClientSettings) -> int:
    """How many partitions the topic has; it is made where it is not there."""
    address.check_reachable()
    try:
        admin = kafka.admin.AdminClient(
            {**settings.for_librdkafka(), "bootstrap.servers": address.servers}, logger=_SILENT
        )
        topics = admin.list_topics(timeout=_TIMEOUT_SECONDS).topics
        if address.topic in topics:
            return len(topics[address.topic].partitions)
        new = kafka.admin.NewTopic(address.topic, num_partitions=wanted)
        admin.create_topics([new])[address.topic].result(_TIMEOUT_SECONDS)
    except kafka.KafkaException as error:
        reason = error.args[0].str()
        message = f"kafka at {address.servers}: {reason}: correct the address or kafka_config"
        raise ConfigurationError(message) from None
    return wanted
