"""Replay a stream through a new topic."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

from evenkey.kafka.client import ClientSettings
from evenkey.kafka.topic_address import Address
from evenkey.kafka.topic_producer import produce
from evenkey.kafka.topic_records import dataset_records
from evenkey.kafka.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import KeyStream
    from evenkey.kafka.topic_records import ValueFormat


@contextlib.contextmanager
def replayed(
    stream: KeyStream, servers: str, partitions: int, form: ValueFormat = "lines"
) -> Iterator[str]:
    """Send a stream to a new topic, and delete the topic at the end.

    Event times begin in 1970, so they are the same in every run. The settings of the clients come
    from environment variables (`ClientSettings.read`).

    Parameters
    ----------
    stream
        The stream to send, in full.
    servers
        ``HOST:PORT``, separated by commas.
    partitions
        Number of partitions of the topic.
    form
        As for `dataset_records`.

    Yields
    ------
    str
        Address of the topic, ``SERVERS/TOPIC``.

    Raises
    ------
    ConfigurationError
        The package ``confluent-kafka`` is missing, or no broker answers.
    RunError
        The broker rejected a record.
    """
    address = Address.parse(f"{servers}/evenkey-{uuid.uuid4().hex}")
    settings = ClientSettings.read(None)
    try:
        produce(
            dataset_records(stream, form),
            address,
            first=0.0,
            partitions=partitions,
            settings=settings,
        )
        yield str(address)
    finally:
        Topic(address, settings).delete()
