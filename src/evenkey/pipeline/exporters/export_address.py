"""Addresses of exporters: ``kind://place?option=value``, never with a password in them."""

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
    """An address, taken apart.

    Parameters
    ----------
    text
        As it was written.
    kind
        Such as ``influxdb``.
    user
        Before an ``@``; None where there is none.
    place
        Host and port, or several with commas between.
    path
        What follows the place, without its slash; for ``parquet:DIR`` the directory.
    options
        What follows the question mark.
    """

    text: str
    kind: str
    user: str | None
    place: str
    path: str
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, written: Sequence[str] = ()) -> ExportAddress:
        """Take an address apart.

        Parameters
        ----------
        text
            The address.
        written
            How addresses of each kind are written, such as ``kafka://SERVERS/TOPIC``. A kind that
            is written without ``//``, such as ``parquet:DIRECTORY``, takes any path.

        Raises
        ------
        ConfigurationError
            It is none, or it holds a password; the password is not repeated.

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
                f"export = {shown!r}: it holds a password, and addresses are shown and kept; "
                "leave it out and set EVENKEY_INFLUXDB_PASSWORD or "
                "EVENKEY_KAFKA_CLIENT_SASL_PASSWORD, or the same name with _FILE at its end to a "
                "file that holds it"
            )
            raise ConfigurationError(message)
        kind, colon, rest = text.partition(":")
        if any(each.startswith(f"{kind}:") and "//" not in each for each in written):
            return cls(text, kind, None, "", rest.removeprefix("//"))
        parts = urlsplit(text)
        if not colon or not parts.netloc:
            message = (
                f"export = {text!r}: it is no address; write one of "
                f"{', '.join(written) or 'KIND://HOST'}"
            )
            raise ConfigurationError(message)
        user, _, place = parts.netloc.rpartition("@")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(text, parts.scheme, unquote(user) or None, place, parts.path.strip("/"), options)

    def host_port(self, usual_port: int) -> HostPort:
        """Give the one host of the place, and its port.

        Raises
        ------
        ConfigurationError
            There is none, or the port cannot be.
        """
        match = _HOST_PORT.fullmatch(self.place)
        port = usual_port if match is None or match["port"] is None else int(match["port"])
        if match is None or port > _HIGHEST_PORT:
            message = f"export = {self.text!r}: {self.place!r} is not a HOST or HOST:PORT"
            raise ConfigurationError(message)
        return HostPort(match["host"].strip("[]"), port)

    def only(self, *known: str) -> None:
        """Refuse options that the kind does not have.

        Raises
        ------
        ConfigurationError
            There is one; the message lists those that exist.
        """
        unknown = sorted(self.options.keys() - {*known})
        if unknown:
            has = f"it has {', '.join(known)}" if known else "it has none"
            message = f"export = {self.text!r}: {self.kind} has no option {unknown[0]!r}; {has}"
            raise ConfigurationError(message)

    def whole(self, option: str, default: int) -> int:
        """Read an option that is a number, at least 1.

        Raises
        ------
        ConfigurationError
            It is none.
        """
        text = self.options.get(option, str(default))
        if not text.isdecimal() or int(text) < 1:
            message = (
                f"export = {self.text!r}: {option} = {text!r} must be a whole number, at least 1"
            )
            raise ConfigurationError(message)
        return int(text)
