"""A history server, or a running application's web UI, read over Spark's REST API.

A history server hands out whole logs, which are read as such. An application that runs hands out
stages, tasks and plans: see `live_application.py` for what these lack.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import replace
from http.client import HTTPException, IncompleteRead
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, urlsplit

from evenkey.core.addresses import without_password
from evenkey.core.errors import ConfigurationError
from evenkey.reports.diagnosis import limits
from evenkey.reports.diagnosis.live_application import read_live
from evenkey.reports.diagnosis.log_reader import STRANGE, read_log
from evenkey.reports.diagnosis.logs import find_logs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from urllib.parse import SplitResult

    from evenkey.reports.diagnosis.logs import EventLog
    from evenkey.reports.diagnosis.spark_application import Application

NEWEST = 20
"""Number of applications of a history server that are read if none is named."""

_API = "/api/v1"
# What an address as it stands in a browser has behind the server's own.
_PAGES = re.compile(
    r"/(?:api/v1|history/|(?:jobs|stages|SQL|executors|environment|storage|StreamingQuery)\b)"
)
_HISTORY = re.compile(r"/history/([^/]+)")
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f]")
_PATIENCE_SECONDS = 60
_CHUNK_BYTES = 1 << 18
_LONGEST_REASON = 200
_UNREADABLE = (
    OSError,
    HTTPException,
    EOFError,
    NotImplementedError,  # a codec of archives
    zipfile.BadZipFile,
    zlib.error,
    *STRANGE,
)
_ENCRYPTED = 1
"""Bit of the flags of a file in an archive."""


def is_address(source: str) -> bool:
    """Say whether a source is a web address, and not a path."""
    return source.startswith(("http://", "https://"))


def read_server(
    address: str, application: str | None = None
) -> tuple[Sequence[Application], list[str]]:
    """Read the applications of a server.

    Parameters
    ----------
    address
        Of any of its pages, or of its REST interface.
    application
        The only one to read; None: the one whose page it is, or all, and of a history server the
        newest 20.

    Returns
    -------
    applications, cautions
        What was read; which of several applications could not be read, a sentence each.

    Raises
    ------
    ConfigurationError
        It is no address, no Spark answers there, or it knows no such application.
    """
    parts = _checked(address)
    front = _PAGES.split(parts.path, maxsplit=1)[0].rstrip("/")
    base = f"{parts.scheme}://{parts.netloc}{front}{_API}"
    shown = _HISTORY.search(parts.path)
    listed = _applications(address, base, shown[1] if shown and not application else application)
    read, cautions = [], []
    for each in listed[:NEWEST]:
        try:
            read.append(_read(address, base, each))
        except ConfigurationError as error:
            if len(listed) == 1:
                raise
            cautions.append(str(error))
    if not read:
        raise ConfigurationError(cautions[0])
    return read, cautions


def _checked(address: str) -> SplitResult:
    """Parse an address, if it can be requested and shown."""
    shown = without_password(address)
    if shown != address:
        message = (
            f"{shown}: it holds a password, and addresses are shown and kept; leave it out, or "
            "download the event log and name its file"
        )
        raise ConfigurationError(message)
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and parts.port != 0 and not _NOT_IN_URLS.search(address)
    except ValueError:
        usable = False
    if not usable:
        message = f"{address!r}: it is no address; write http://HOST:PORT, such as http://host:4040"
        raise ConfigurationError(message)
    return parts


def _applications(address: str, base: str, application: str | None) -> list[Any]:
    asked = _Server(base)
    listed: Any
    try:
        if application is not None:
            listed = [asked.json(f"applications/{quote(application, safe='')}")]
        else:
            listed = asked.json(f"applications?limit={NEWEST}")
    except urllib.error.HTTPError as error:
        if application is not None and error.code == 404:  # noqa: PLR2004 - not found
            message = f"application = {application!r}: {base} has none of this id; leave it out"
            raise ConfigurationError(message) from error
        raise _no_spark(address, f"HTTP {error.code}") from error
    except (OSError, HTTPException, OverflowError) as error:
        raise _no_spark(address, _reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise _no_spark(address, "it answers no JSON") from error
    if not isinstance(listed, list) or not all(
        isinstance(each, dict) and isinstance(each.get("id"), str) for each in listed
    ):
        raise _no_spark(address, "it lists no applications")
    if not listed:
        message = f"{base}: it has no application; wait for one, or name its log"
        raise ConfigurationError(message)
    return listed


def _read(address: str, base: str, listed: Mapping[str, Any]) -> Application:
    asked, name = _Server(base), listed["id"]
    try:
        attempt = listed["attempts"][0] if listed.get("attempts") else {}
        path = f"applications/{quote(name, safe='')}"
        if attempt.get("attemptId"):
            path += f"/{quote(str(attempt['attemptId']), safe='')}"
        with tempfile.TemporaryDirectory() as directory:
            log = _downloaded(asked, f"{path}/logs", Path(directory))
            if log is not None:
                return read_log(replace(log, name=name))
        return read_live(listed, lambda below: asked.json(f"{path}/{below}"))
    except _UNREADABLE as error:
        if isinstance(error, ConfigurationError):
            reason = str(error)
        else:
            reason = f"{type(error).__name__}: {_reason(error)}"
        message = (
            f"{without_password(address)}: application {name[:_LONGEST_REASON]!r} cannot be read "
            f"({reason}); name the application's event log"
        )
        raise ConfigurationError(message) from error


def _downloaded(asked: _Server, path: str, directory: Path) -> EventLog | None:
    """Download the logs of an application; None from a server that has none."""
    archive = directory / "logs.zip"
    try:
        with archive.open("wb") as file:
            asked.load(path, file, limits.ARCHIVE_BYTES)
    except urllib.error.HTTPError:  # only a history server has logs
        return None
    if not zipfile.is_zipfile(archive):
        return None
    unpacked = directory / "logs"
    unpacked.mkdir()
    with zipfile.ZipFile(archive) as files:
        if not files.namelist():  # that of an application that runs
            return None
        _unpack(files, unpacked)
    archive.unlink()
    return find_logs(unpacked).logs[0]


def _unpack(files: zipfile.ZipFile, directory: Path) -> None:
    left = limits.ARCHIVE_BYTES
    for each in files.infolist():
        # No name leads out of the directory: its first part may be "/", or "//".
        parts = [
            part for part in PurePosixPath(each.filename).parts if part.strip("/") not in ("", "..")
        ]
        if each.is_dir() or not parts:
            continue
        if each.flag_bits & _ENCRYPTED:
            message = "its logs are encrypted"
            raise ValueError(message)
        target = directory.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with files.open(each) as source, target.open("xb") as copy:
            while chunk := source.read(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise ValueError(_too_large(limits.ARCHIVE_BYTES))
                copy.write(chunk)


def _no_spark(address: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{address}: no Spark answers there ({reason}); give the address of a history server or of "
        "an application that runs, such as http://host:18080 or http://host:4040"
    )


def _reason(error: BaseException) -> str:
    """Give the reason why a server could not be read, in part of a line."""
    words = " ".join(str(getattr(error, "reason", error)).split()) or type(error).__name__
    return "".join(each if each.isprintable() else "?" for each in words)[:_LONGEST_REASON]


def _too_large(most: int) -> str:
    return f"it answers more than {most >> 20:,} MiB"


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server's redirections to other web addresses, and nowhere else."""

    def redirect_request(self, *given: Any) -> urllib.request.Request | None:
        if not is_address(given[-1]):
            return None
        return super().redirect_request(*given)


class _Server:
    """Requests to a server for one application, within `limits.SERVER_SECONDS`."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._deadline = time.monotonic() + limits.SERVER_SECONDS
        self._opener = urllib.request.build_opener(_Redirects)

    def json(self, path: str) -> Any:
        """Give the answer to a path."""
        content = io.BytesIO()
        self.load(path, content, limits.ANSWER_BYTES)
        return json.loads(content.getvalue())

    def load(self, path: str, into: BinaryIO, most: int) -> None:
        """Write the answer to a path into a file.

        Raises
        ------
        OSError
            None comes, or not in time.
        ValueError
            It is too large.
        HTTPException
            It is none of HTTP's.
        """
        failed: list[BaseException] = []
        ended = threading.Event()

        def work() -> None:
            try:
                self._load(path, into, most, ended)
            except BaseException as error:  # noqa: BLE001 - raised by who waits
                failed.append(error)
            ended.set()

        # In a thread, since a server that sends its headers byte by byte outlasts every timeout.
        threading.Thread(target=work, daemon=True).start()
        if not ended.wait(max(0.0, self._deadline - time.monotonic())):
            ended.set()
            raise TimeoutError(_too_slow())
        if failed:
            raise failed[0]

    def _load(self, path: str, into: BinaryIO, most: int, ended: threading.Event) -> None:
        left = most
        try:
            answer = self._opener.open(f"{self._base}/{path}", timeout=_PATIENCE_SECONDS)
        except urllib.error.HTTPError as error:
            error.close()  # it holds the connection
            raise
        with answer:
            while not ended.is_set() and (chunk := answer.read1(_CHUNK_BYTES)):
                left -= len(chunk)
                if left < 0:
                    raise ValueError(_too_large(most))
                into.write(chunk)
            if answer.length:  # less came than was announced
                raise IncompleteRead(bytes(), answer.length)  # noqa: UP018 - no text


def _too_slow() -> str:
    return f"it takes longer than {limits.SERVER_SECONDS:g} s"
