"""Replay a stream through a topic of its own."""

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
    """Send a stream into a new topic, which is deleted in the end.

    Event times begin in 1970, so that they are the same each time. Clients take the settings that
    the environment names.

    Parameters
    ----------
    stream
        What is sent, in whole.
    servers
        ``HOST:PORT``, several with commas between.
    partitions
        Of the topic.
    form
        As for `dataset_records`.

    Yields
    ------
    str
        ``SERVERS/TOPIC``.

    Raises
    ------
    ConfigurationError
        The package ``confluent-kafka`` is missing, or no broker answers.
    RunError
        The broker did not take a record.
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
