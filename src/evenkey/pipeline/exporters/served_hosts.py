"""Which hosts a web server of ours answers: those that it was given, and no others.

A page elsewhere can let its own host name lead to this machine (DNS rebinding) and would then
read what is served here with the browser of whoever looks at it. But the browser says in the
``Host`` header which name it asked for, and in ``Origin`` whose page asks.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not listened at
_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[^\[\]:,/@\s]+)(?::\d*)?")


class ServedHosts:
    """Answers requests for the hosts that are served, and refuses all others in one line.

    Served are 127.0.0.1, localhost and ::1, the address that is listened at, and what is
    allowed besides. Who listens at all addresses of the machine (``0.0.0.0``, ``::``) is asked
    by any of them: then every host that is an address and no name is served, as no name leads
    elsewhere from it. The port does not count, as it may be mapped. A request by a page of
    another origin is refused, unless that page's host is one of those `allowed`.

    Parameters
    ----------
    application
        The WSGI application that answers.
    listening
        The host that is listened at.
    allowed
        Names or addresses besides, without port.
    how
        What a user passes to allow one more, for messages.

    Raises
    ------
    ConfigurationError
        What is allowed is no host.

    Examples
    --------
    >>> hosts = ServedHosts(lambda environment, start: [b"page"], "127.0.0.1", ["Board.example"])
    >>> [hosts.serves(host) for host in ("localhost:8050", "[::1]", "board.example", "a.example")]
    [True, True, True, False]
    """

    def __init__(
        self,
        application: WSGIApplication,
        listening: str,
        allowed: Sequence[str] = (),
        *,
        how: str = "--allow-host NAME",
    ) -> None:
        self._application = application
        self._how = how
        self._allowed = {_host(name) for name in allowed}
        self._served = {*_LOOPBACK, _plain(listening), *self._allowed}
        self._every_address = listening in _EVERYWHERE

    def serves(self, authority: str) -> bool:
        """Whether a host, perhaps with a port, is one of those that are served."""
        match = _AUTHORITY.fullmatch(authority.lower())
        if match is None:
            return False
        host = _plain(match["host"])
        return host in self._served or (self._every_address and _is_address(host))

    def __call__(self, environment: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        asked = environment.get("HTTP_HOST", "")
        if not self.serves(asked):
            return _refuse(
                start,
                f"host = {asked!r}: it is not served here; if it should be, pass {self._how}",
            )
        origin = environment.get("HTTP_ORIGIN")
        if origin is not None and not self._same(origin, asked):
            return _refuse(
                start,
                f"origin = {origin!r}: pages of other hosts get no answer here; if this one "
                f"should, pass {self._how}",
            )
        return self._application(environment, start)

    def _same(self, origin: str, asked: str) -> bool:
        # Behind its scheme; that of a page without an origin of its own is "null".
        authority = origin.lower().partition("://")[2]
        if authority == asked.lower():
            return True
        match = _AUTHORITY.fullmatch(authority)
        return match is not None and _plain(match["host"]) in self._allowed


def _refuse(start: StartResponse, reason: str) -> Iterable[bytes]:
    body = f"{reason}\n".encode()
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start("403 Forbidden", headers)
    return [body]


def _host(name: str) -> str:
    """A host as it is compared.

    Raises
    ------
    ConfigurationError
        It is none.
    """
    plain = _plain(name)
    if not (_is_address(plain) or _NAME.fullmatch(plain)):
        message = f"allowed host = {name!r}: it is no host; write a name or an address without port"
        raise ConfigurationError(message)
    return plain


def _plain(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
