"""Answer only requests for known hosts, as a defence against DNS rebinding.

A foreign web page can point its own host name to this machine and then read the served data
through the browser of anyone who opens the page. Such requests can be recognised: the browser sends
the requested name in the ``Host`` header, and the origin of the page in ``Origin``.
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
    """Answers requests for served hosts, and rejects all other requests with one line of text.

    The served hosts are 127.0.0.1, localhost, ::1, the address that the server listens on, and the
    `allowed` hosts. If the server listens on all addresses of the machine (``0.0.0.0``, ``::``),
    every IP address is served, too, because DNS rebinding needs a name. The port in the request is
    ignored, because ports may be mapped. A request from a page of another origin is rejected,
    unless the page's host is `allowed`.

    Parameters
    ----------
    application
        The WSGI application that answers requests for served hosts.
    listening
        The host that the server listens on.
    allowed
        More names or addresses, without port.
    how
        How users allow another host, for error messages; by default an option.

    Raises
    ------
    ConfigurationError
        An allowed host is invalid.

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
        """Return whether a host, with or without a port, is served."""
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
                f"host = {asked!r}: this host is not served; to allow it, pass {self._how}",
            )
        origin = environment.get("HTTP_ORIGIN")
        if origin is not None and not self._same(origin, asked):
            return _refuse(
                start,
                f"origin = {origin!r}: pages of other hosts get no answer; to allow this host, "
                f"pass {self._how}",
            )
        return self._application(environment, start)

    def _same(self, origin: str, asked: str) -> bool:
        # A page without an origin sends "null", which has no scheme and so no authority.
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
    """Return a host in the form used for comparisons.

    Raises
    ------
    ConfigurationError
        The name is neither a host name nor an IP address.
    """
    plain = _plain(name)
    if not (_is_address(plain) or _NAME.fullmatch(plain)):
        message = f"allowed host = {name!r}: it is not a host; write a name or address without port"
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
