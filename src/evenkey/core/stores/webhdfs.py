"""HDFS over HTTP: find the namenodes, send requests, and classify errors."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from evenkey.core.extras import load_extra
from evenkey.core.stores.patience import ANSWER, CONNECT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ADDRESSES", "RemoteError", "ask", "is_of_requests", "namenodes_of", "passes"]

ADDRESSES = "EVENKEY_WEBHDFS"
"""Environment variable with the addresses of namenodes, such as ``http://namenode:9870``."""
TOKEN = "EVENKEY_WEBHDFS_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable with a delegation token, if the namenode requires one."""

_HTTP_PORT, _HTTPS_PORT = 9870, 9871
_REDIRECT, _REFUSED, _SERVER_ERRORS = 307, 400, 500
_PASSING = {
    "BlockMissingException",
    "RetriableException",
    "SafeModeException",
    "ServerTooBusyException",
    "StandbyException",
}
_NO_DATANODE = "Failed to find datanode"


class RemoteError(Exception):
    """A namenode or a datanode refuses a request; `kind` is the name of its Java exception."""

    def __init__(self, kind: str, status: int, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.passing = status >= _SERVER_ERRORS or kind in _PASSING or _NO_DATANODE in text


def namenodes_of(place: str, settings: Mapping[str, str]) -> list[str]:
    """Find the web addresses of the namenodes that serve a storage location.

    The addresses come from the first of these sources that is present: the environment variable
    ``EVENKEY_WEBHDFS``; a location ``webhdfs://host:port``, which is itself an address; the setting
    ``dfs.namenode.http-address``, or this setting of each namenode if the host is a name service.
    If no source is present, the address is the location's host at Hadoop's default port.

    Examples
    --------
    >>> namenodes_of("hdfs://namenode:8020/state", {})
    ['http://namenode:9870']
    >>> namenodes_of("hdfs://namenode/state", {"dfs.namenode.http-address": "0.0.0.0:50070"})
    ['http://namenode:50070']
    """
    given = os.environ.get(ADDRESSES, "").replace(",", " ").split()
    if given:
        return [each.rstrip("/") if "://" in each else f"http://{each}" for each in given]
    parts = urlsplit(place)
    host = parts.hostname or ""
    secure = settings.get("dfs.http.policy", "").upper() == "HTTPS_ONLY"
    scheme, port = ("https", _HTTPS_PORT) if secure else ("http", _HTTP_PORT)
    if parts.scheme == "webhdfs":
        return [f"{scheme}://{host}:{parts.port or port}"]
    name = f"dfs.namenode.{scheme}-address"
    members = settings.get(f"dfs.ha.namenodes.{host}", "").replace(",", " ").split()
    names = [f"{name}.{host}.{each}" for each in members] or [f"{name}.{host}", name]
    known = [settings[each] for each in names if settings.get(each)]
    if not members:
        known = known[:1]
    return [f"{scheme}://{_with_host(each, host)}" for each in known] or [
        f"{scheme}://{host}:{port}"
    ]


def _with_host(address: str, host: str) -> str:
    """Put `host` in the place of a wildcard such as ``0.0.0.0`` in an address."""
    listens, _, port = address.rpartition(":")
    return f"{host}:{port}" if listens in {"", "0.0.0.0"} else address  # noqa: S104 - not bound here


def ask(
    namenodes: list[str],
    method: str,
    path: str,
    operation: str,
    content: bytes | None = None,
    **parameters: str,
) -> bytes:
    """Send a request to the active namenode, and to the datanode that the namenode redirects to.

    The namenodes are tried one after the other. A namenode that is not active answers that it is on
    standby.

    Raises
    ------
    RemoteError
        The namenode or the datanode refuses the request.
    """
    standby: RemoteError | None = None
    unreached: Exception | None = None
    requests = load_extra("requests", "hdfs", "state in HDFS")
    for address in namenodes:
        url = f"{address}/webhdfs/v1{quote(path)}"
        try:
            return _ask(method, url, content, {"op": operation, **_login(), **parameters})
        except RemoteError as error:
            if error.kind != "StandbyException":
                raise
            standby = error
        except requests.RequestException as error:
            unreached = error
    raise unreached or standby or ValueError(namenodes)


def _login() -> dict[str, str]:
    token = os.environ.get(TOKEN)
    return {"delegation": token} if token else {}


def _ask(method: str, url: str, content: bytes | None, parameters: dict[str, str]) -> bytes:
    session = _session(os.getpid())
    if "delegation" in parameters:
        parameters.pop("user.name", None)
    limits = (CONNECT, ANSWER)
    # The namenode gets no content. It answers with the datanode that takes the content.
    answer = session.request(method, url, params=parameters, timeout=limits, allow_redirects=False)
    if answer.status_code == _REDIRECT:
        place = answer.headers["Location"]
        headers = {"Content-Type": "application/octet-stream"}
        answer = session.request(
            method, place, data=content, headers=headers, timeout=limits, allow_redirects=False
        )
    if answer.status_code >= _REFUSED:
        raise _error_of(answer)
    whole: bytes = answer.content
    return whole


def _error_of(answer: Any) -> RemoteError:
    try:
        remote = answer.json()["RemoteException"]
        line = remote["message"].split("\n")[0]
        return RemoteError(remote["exception"], answer.status_code, line)
    except (ValueError, KeyError, TypeError):
        return RemoteError("HTTP", answer.status_code, f"{answer.status_code} {answer.reason}")


def passes(error: Exception) -> bool:
    """Return whether the same request may succeed later."""
    requests = load_extra("requests", "hdfs", "state in HDFS")
    if isinstance(error, RemoteError):
        return error.passing
    return is_of_requests(error) and not isinstance(
        error, (requests.exceptions.SSLError, requests.exceptions.InvalidURL)
    )


def is_of_requests(error: Exception) -> bool:
    """Return whether a request failed before a namenode or a datanode answered it."""
    requests = load_extra("requests", "hdfs", "state in HDFS")
    return isinstance(error, requests.RequestException)


@lru_cache(maxsize=4)
def _session(process: int) -> Any:
    """Make the HTTP session of a process; its open connections cannot be used after a fork."""
    del process
    return load_extra("requests", "hdfs", "state in HDFS").Session()
