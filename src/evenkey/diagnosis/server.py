"""A history server, or the page of an application that runs: what Spark answers over REST.

A history server hands out whole logs, which are read as such. An application that runs hands out
stages, tasks and plans: see `live.py` for what these lack.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evenkey.diagnosis.live import read_live
from evenkey.diagnosis.logs import find_logs
from evenkey.diagnosis.reading import read_log
from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkey.diagnosis.application import Application

NEWEST = 20
"""Applications of a history server that are read where none is named."""

_API = "/api/v1"
# What an address as it stands in a browser has behind the server's own.
_PAGES = re.compile(
    r"/(?:api/v1|history/|(?:jobs|stages|SQL|executors|environment|storage|StreamingQuery)\b)"
)
_HISTORY = re.compile(r"/history/([^/]+)")
_PATIENCE_SECONDS = 60


def is_address(source: str) -> bool:
    """Say whether a source is an address of the web, and no path."""
    return source.startswith(("http://", "https://"))


def read_server(address: str, application: str | None = None) -> Sequence[Application]:
    """Read what a server has of its applications.

    Parameters
    ----------
    address
        Of any of its pages, or of its REST interface.
    application
        The only one to read; None: the one whose page it is, or all, and of a history server the
        newest 20.

    Raises
    ------
    ConfigurationError
        No Spark answers there, or it knows no such application.
    """
    parts = urlsplit(address)
    front = _PAGES.split(parts.path, maxsplit=1)[0].rstrip("/")
    base = f"{parts.scheme}://{parts.netloc}{front}{_API}"
    shown = _HISTORY.search(parts.path)
    listed = _applications(address, base, shown[1] if shown and not application else application)
    return [_read(base, each) for each in listed[:NEWEST]]


def _applications(address: str, base: str, application: str | None) -> list[dict[str, Any]]:
    try:
        if application is not None:
            return [_object(f"{base}/applications/{application}")]
        listed = _json(f"{base}/applications?limit={NEWEST}")
    except urllib.error.HTTPError as error:
        if application is not None and error.code == 404:  # noqa: PLR2004 - not found
            message = f"application = {application!r}: {base} has none of this id; leave it out"
            raise ConfigurationError(message) from error
        raise _no_spark(address, f"HTTP {error.code}") from error
    except OSError as error:
        raise _no_spark(address, str(getattr(error, "reason", error))) from error
    except ValueError as error:
        raise _no_spark(address, "it answers no JSON") from error
    if not isinstance(listed, list):
        raise _no_spark(address, "it lists no applications")
    if not listed:
        message = f"{base}: it has no application; wait for one, or name its log"
        raise ConfigurationError(message)
    return listed


def _read(base: str, listed: Mapping[str, Any]) -> Application:
    attempt = listed["attempts"][0] if listed.get("attempts") else {}
    known = f"{base}/applications/{listed['id']}"
    with_attempt = f"{known}/{attempt['attemptId']}" if attempt.get("attemptId") else known
    try:
        packed = _bytes(f"{with_attempt}/logs")
    except OSError:  # only a history server has logs
        packed = b""
    if _has_files(packed):
        return _from_logs(packed, str(listed["id"]))
    try:
        return read_live(listed, lambda path: _json(f"{with_attempt}/{path}"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = (
            f"{known}: what Spark answers there cannot be read ({type(error).__name__}: {error}); "
            "name the application's event log"
        )
        raise ConfigurationError(message) from error


def _has_files(packed: bytes) -> bool:
    """Say whether an archive has something in it: that of an application that runs has nothing."""
    if not zipfile.is_zipfile(io.BytesIO(packed)):
        return False
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        return bool(files.namelist())


def _from_logs(packed: bytes, name: str) -> Application:
    with tempfile.TemporaryDirectory() as directory:
        with zipfile.ZipFile(io.BytesIO(packed)) as files:
            files.extractall(directory)
        (log, *_) = find_logs(Path(directory))
        return read_log(replace(log, name=name))


def _no_spark(address: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{address}: no Spark answers there ({reason}); give the address of a history server or of "
        "an application that runs, such as http://host:18080 or http://host:4040"
    )


def _bytes(url: str) -> bytes:
    # The user's own address, http or https: read_server sees to that.
    with urllib.request.urlopen(url, timeout=_PATIENCE_SECONDS) as answer:  # noqa: S310
        content: bytes = answer.read()
        return content


def _json(url: str) -> Any:
    return json.loads(_bytes(url))


def _object(url: str) -> dict[str, Any]:
    found: dict[str, Any] = _json(url)
    return found
