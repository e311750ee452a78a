"""The address of topics: ``SERVERS/TOPIC[,TOPIC]``."""

from __future__ import annotations

import contextlib
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.addresses import without_password
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Self

_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:,/\s]+):(\d{1,5})")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_HIGHEST_PORT = 65535
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class Address:
    """The address of topics: bootstrap servers and topic names.

    Parameters
    ----------
    servers
        ``HOST:PORT``, separated by commas.
    topics
        Names of the topics.

    Examples
    --------
    >>> Address.parse("localhost:9092,other:9092/clicks,views")
    Address(servers='localhost:9092,other:9092', topics=('clicks', 'views'))
    >>> str(_)
    'localhost:9092,other:9092/clicks,views'

    >>> clicks = Address.parse_one("localhost:9092/clicks")
    >>> clicks.topic, Address.check_topic("views")
    ('clicks', 'views')
    >>> Address.parse_one("localhost:1/clicks").check_reachable()
    Traceback (most recent call last):
        ...
    evenkey.core.errors.ConfigurationError: no Kafka broker answers (localhost:1...
    """

    servers: str
    topics: tuple[str, ...]

    @staticmethod
    def check_topic(name: str) -> str:
        """Check that a text is a valid topic name, and return it.

        Raises
        ------
        ConfigurationError
            The text is not a valid topic name.
        """
        if not _TOPIC.fullmatch(name):
            message = (
                f"{name!r} is not a valid topic name: use 1 to 249 of the characters "
                "A-Z a-z 0-9 . _ -"
            )
            raise ConfigurationError(message)
        return name

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address.

        Raises
        ------
        ConfigurationError
            The text is not an address, or contains a user or password; the message does not repeat
            the password.
        """
        if "@" in text:
            message = (
                f"{without_password(text)!r}: an address must not contain a user or password, "
                "because addresses are printed and stored; write SERVERS/TOPIC[,TOPIC] and set "
                "EVENKEY_KAFKA_CLIENT_SASL_USERNAME and EVENKEY_KAFKA_CLIENT_SASL_PASSWORD"
            )
            raise ConfigurationError(message)
        servers, _, topics = text.partition("/")
        names = tuple(topics.split(","))
        for server in servers.split(","):
            read = _SERVER.fullmatch(server)
            if read is None or int(read[2]) > _HIGHEST_PORT:
                message = f"{server!r} is not HOST:PORT; write SERVERS/TOPIC[,TOPIC]"
                raise ConfigurationError(message)
        for topic in names:
            if not _TOPIC.fullmatch(topic):
                message = (
                    f"{topic!r} is not a valid topic name: write SERVERS/TOPIC[,TOPIC], where a "
                    "topic name has 1 to 249 of the characters A-Z a-z 0-9 . _ -"
                )
                raise ConfigurationError(message)
        if len(set(names)) < len(names):
            message = f"{text!r}: a topic is named twice; name it once"
            raise ConfigurationError(message)
        return cls(servers, names)

    @classmethod
    def parse_one(cls, text: str) -> Self:
        """Read an address of one topic, to write to.

        Raises
        ------
        ConfigurationError
            The text is not an address, or names several topics.
        """
        address = cls.parse(text)
        if len(address.topics) > 1:
            message = f"{text!r}: only one topic can be written; name one"
            raise ConfigurationError(message)
        return address

    @property
    def topic(self) -> str:
        """The only topic.

        Raises
        ------
        ConfigurationError
            There are several topics.
        """
        if len(self.topics) > 1:
            message = f"{str(self)!r}: only one topic can be written; name one"
            raise ConfigurationError(message)
        return self.topics[0]

    def __str__(self) -> str:
        """Return the address as text, in the form that `parse` reads."""
        return f"{self.servers}/{','.join(self.topics)}"

    def check_reachable(self) -> None:
        """Check that one of the servers accepts connections.

        Raises
        ------
        ConfigurationError
            No server accepts connections; the message says why.
        """
        reasons = []
        for server in self.servers.split(","):
            host, _, port = server.rpartition(":")
            try:
                with contextlib.closing(
                    socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS)
                ):
                    return
            except (OSError, OverflowError) as error:
                reasons.append(f"{server}: {error}")
        message = (
            f"no Kafka broker answers ({'; '.join(reasons)}): start it, or correct the servers; "
            "in a checkout, `make kafka-up` starts one on 127.0.0.1:9092"
        )
        raise ConfigurationError(message)
