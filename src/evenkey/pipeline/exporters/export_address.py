"""Addresses of exporters: ``kind://place?option=value``, never with a password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from evenkey.core.addresses import without_password
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

_HOST_PORT = re.compile(r"(?P<host>\[[^\]]+\]|[^:\[\]]+)(?::(?P<port>\d{1,5}))?")
_HIGHEST_PORT = 65535


@dataclass(frozen=True)
class HostPort:
    """A host and its port."""

    host: str
    port: int


@dataclass(frozen=True)
class ExportAddress:
    """A parsed address.

    Parameters
    ----------
    text
        The original text.
    kind
        The name before the colon, such as ``influxdb``.
    user
        The text before the ``@``; None if there is no ``@``.
    place
        Host and port, or several separated by commas.
    path
        The text after the place, without slashes at its ends; for ``parquet:DIR``, the directory.
    options
        The options after the question mark.
    """

    text: str
    kind: str
    user: str | None
    place: str
    path: str
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, written: Sequence[str] = ()) -> ExportAddress:
        """Parse an address.

        Parameters
        ----------
        text
            The address.
        written
            The form of each kind, such as ``kafka://SERVERS/TOPIC``. A kind without ``//``, such as
            ``parquet:DIRECTORY``, accepts any path.

        Raises
        ------
        ConfigurationError
            The text is not an address, or contains a password. The message does not repeat the
            password.

        Examples
        --------
        >>> address = ExportAddress.parse("influxdb://me@localhost:8086/evenkey?queue=100")
        >>> address.kind, address.user, address.place, address.path, address.options
        ('influxdb', 'me', 'localhost:8086', 'evenkey', {'queue': '100'})
        >>> ExportAddress.parse("parquet:a b?", ["parquet:DIRECTORY"]).path
        'a b?'
        """
        shown = without_password(text)
        if shown != text:
            message = (
                f"export = {shown!r}: an address must not contain a password, because addresses "
                "are printed and stored; leave it out and set EVENKEY_INFLUXDB_PASSWORD or "
                "EVENKEY_KAFKA_CLIENT_SASL_PASSWORD, or append _FILE to the name and set it to the "
                "path of a file with the password"
            )
            raise ConfigurationError(message)
        kind, colon, rest = text.partition(":")
        if any(each.startswith(f"{kind}:") and "//" not in each for each in written):
            return cls(text, kind, None, "", rest.removeprefix("//"))
        parts = urlsplit(text)
        if not colon or not parts.netloc:
            message = (
                f"export = {text!r}: it is not an address; write one of "
                f"{', '.join(written) or 'KIND://HOST'}"
            )
            raise ConfigurationError(message)
        user, _, place = parts.netloc.rpartition("@")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(text, parts.scheme, unquote(user) or None, place, parts.path.strip("/"), options)

    def host_port(self, usual_port: int) -> HostPort:
        """Return the host and port of the place; `usual_port` if the place has no port.

        Raises
        ------
        ConfigurationError
            The place is not a single host, or the port is invalid.
        """
        match = _HOST_PORT.fullmatch(self.place)
        port = usual_port if match is None or match["port"] is None else int(match["port"])
        if match is None or port > _HIGHEST_PORT:
            message = f"export = {self.text!r}: {self.place!r} is not a HOST or HOST:PORT"
            raise ConfigurationError(message)
        return HostPort(match["host"].strip("[]"), port)

    def only(self, *known: str) -> None:
        """Reject options that this kind of exporter does not have.

        Raises
        ------
        ConfigurationError
            The address has an option that its kind does not have; the message lists the options of
            the kind.
        """
        unknown = sorted(self.options.keys() - {*known})
        if unknown:
            has = f"it has {', '.join(known)}" if known else "it has none"
            message = f"export = {self.text!r}: {self.kind} has no option {unknown[0]!r}; {has}"
            raise ConfigurationError(message)

    def whole(self, option: str, default: int) -> int:
        """Return the value of an option that must be a whole number, at least 1.

        Raises
        ------
        ConfigurationError
            The value is not a whole number, or is below 1.
        """
        text = self.options.get(option, str(default))
        if not text.isdecimal() or int(text) < 1:
            message = (
                f"export = {self.text!r}: {option} = {text!r} must be a whole number, at least 1"
            )
            raise ConfigurationError(message)
        return int(text)
