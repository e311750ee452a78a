"""Create, inspect and delete topics."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.kafka.client import ClientSettings
    from evenkey.kafka.topic_address import Address

_TIMEOUT_SECONDS = 20.0

SILENT = logging.getLogger(__name__)
"""Logger of librdkafka, which logs each connection attempt; errors that matter are raised."""
SILENT.addHandler(logging.NullHandler())


def confluent_kafka() -> Any:
    """Import confluent-kafka, the Python package of the client librdkafka.

    Raises
    ------
    ConfigurationError
        The package is not installed; the message names the extra to install.
    """
    purpose = "a Kafka client without Spark"
    load_extra("confluent_kafka.admin", "kafka", purpose)
    return load_extra("confluent_kafka", "kafka", purpose)


class Topic:
    """Administration of one topic.

    Parameters
    ----------
    address
        Servers and one topic.
    settings
        Settings of the client.

    Raises
    ------
    ConfigurationError
        The package ``confluent-kafka`` is missing, no broker answers, or a setting is invalid.
    """

    def __init__(self, address: Address, settings: ClientSettings) -> None:
        self._kafka = confluent_kafka()
        self._address = address
        address.check_reachable()
        with self._explained():
            self._admin = self._kafka.admin.AdminClient(
                {**settings.for_librdkafka(), "bootstrap.servers": address.servers}, logger=SILENT
            )

    def partitions(self, wanted: int) -> int:
        """Return the number of partitions; create a missing topic with `wanted` partitions.

        Raises
        ------
        ConfigurationError
            The broker refuses.
        """
        name = self._address.topic
        with self._explained():
            topics = self._admin.list_topics(timeout=_TIMEOUT_SECONDS).topics
            if name in topics:
                return len(topics[name].partitions)
            new = self._kafka.admin.NewTopic(name, num_partitions=wanted)
            self._admin.create_topics([new])[name].result(_TIMEOUT_SECONDS)
        return wanted

    def delete(self) -> None:
        """Delete the topic with all its records.

        Raises
        ------
        ConfigurationError
            The broker refuses.
        """
        name = self._address.topic
        with self._explained():
            self._admin.delete_topics([name])[name].result(_TIMEOUT_SECONDS)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain an error of the client or the broker, and name the fix."""
        try:
            yield
        except self._kafka.KafkaException as error:
            reason = error.args[0].str()
            message = (
                f"kafka at {self._address.servers}: {reason}: correct the address or kafka_config"
            )
            raise ConfigurationError(message) from None
