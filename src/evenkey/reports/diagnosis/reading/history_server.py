"""Read a history server, or the web UI of a running application, over Spark's REST API.

A history server returns whole event logs, which are read like files. A running application returns
stages, tasks and plans; `live_application.py` explains what these do not contain.
"""

from __future__ import annotations

import datetime as dt
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
from evenkey.core.printed_text import printable
from evenkey.reports.diagnosis.reading import limits
from evenkey.reports.diagnosis.reading.live_application import read_live
from evenkey.reports.diagnosis.reading.log_reader import STRANGE, read_log
from evenkey.reports.diagnosis.reading.logs import find_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from urllib.parse import SplitResult

    from evenkey.reports.diagnosis.reading.logs import EventLog
    from evenkey.reports.diagnosis.reading.spark_application import Application

NEWEST = 20
"""Number of applications that are read from a history server if none and no time is given."""
MOST = 1000
"""Number of applications that are read from a history server if a time is given."""

_API = "/api/v1"
# Matches the start of a page's path; everything before it belongs to the address of the server.
_PAGES = re.compile(
    r"/(?:api/v1|history/|(?:jobs|stages|SQL|executors|environment|storage|StreamingQuery)\b)"
)
_HISTORY = re.compile(r"/history/(?P<id>[^/]+)(?:/(?P<attempt>\d+)(?=/|$))?")
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f]")
_PATIENCE_SECONDS = 60
_CHUNK_BYTES = 1 << 18
_LONGEST_REASON = 200
_UNREADABLE = (
    OSError,
    HTTPException,
    EOFError,
    NotImplementedError,  # raised by zipfile for an unknown codec
    zipfile.BadZipFile,
    zlib.error,
    *STRANGE,
)
_TOO_MANY = "its archive of logs lists too many files"
_DIRECTORY_SIZE = 5
"""Index of the size of the list of files, in the end of an archive as `zipfile` reads it."""
_ENCRYPTED = 1
"""Bit in the flags of a file in a ZIP archive which says that the file is encrypted."""


def is_address(source: str) -> bool:
    """Return whether a source is a web address, not a path."""
    return source.startswith(("http://", "https://"))


def read_server(
    take: Callable[[Application], None],
    address: str,
    application: str | None = None,
    last_hours: float | None = None,
) -> list[str]:
    """Read the applications of a server.

    Parameters
    ----------
    take
        Called with each application, before the next one is read.
    address
        Address of any page of the server, or of its REST API.
    application
        Id of the only application to read. None: if `address` is a page of one application, that
        application; otherwise all applications of the last hours, or the newest 20. Of several
        attempts of an application, that of the page is read, or the newest.
    last_hours
        Number of hours before now in which an application must have ended, or still run. None:
        any time.

    Returns
    -------
    list of str
        Sentences about applications that could not be, or were not, read.

    Raises
    ------
    ConfigurationError
        The address is invalid, no Spark answers there, or it has no such application.
    """
    parts = _checked(address)
    front = _PAGES.split(parts.path, maxsplit=1)[0].rstrip("/")
    base = f"{parts.scheme}://{parts.netloc}{front}{_API}"
    shown = _HISTORY.search(parts.path)
    attempt = shown["attempt"] if shown and application in (None, shown["id"]) else None
    application = application or (shown["id"] if shown else None)
    most = NEWEST if last_hours is None else MOST
    first = None if last_hours is None else _hours_ago(last_hours)
    listed = _applications(address, base, application, _query(most, first))
    if application is not None:
        listed[0]["attempts"] = [_attempt(base, listed[0], attempt, first)]
    cautions = []
    for each in listed[:most]:
        try:
            take(_read(address, base, each))
        except ConfigurationError as error:
            if len(listed) == 1:
                raise
            cautions.append(str(error))
    if len(cautions) == len(listed[:most]):
        raise ConfigurationError(cautions[0])
    if len(listed) > most:
        more = "" if last_hours is not None else "; with last_hours, all of that time are read"
        cautions.append(f"The server lists more: only its newest {most:,} were read{more}.")
    return cautions


def _hours_ago(hours: float) -> dt.datetime:
    """Return the time so many hours before now, at the earliest 1970."""
    return dt.datetime.fromtimestamp(max(0.0, time.time() - 3600 * hours), dt.UTC)


def _query(most: int, first: dt.datetime | None) -> str:
    """Return a query for one application more than will be read, so that others are noticed."""
    if first is None:
        return f"limit={most + 1}"
    return f"limit={most + 1}&minEndDate={first:%Y-%m-%dT%H:%M:%S}.000GMT"


def _attempt(
    base: str, listed: Mapping[str, Any], wanted: str | None, first: dt.datetime | None
) -> Mapping[str, Any]:
    """Return the attempt of an application with an id, or the newest; check when it ended."""
    what = f"application = {listed['id']!r}: {base} has"
    try:
        attempts = [
            each
            for each in listed.get("attempts") or [{}]
            if wanted in (None, str(each.get("attemptId")))
        ]
        if not attempts:
            message = f"{what} no attempt {wanted} of it; leave it out of the address"
            raise ConfigurationError(message)
        newest: Mapping[str, Any] = attempts[0]
        # An attempt that still runs has the end -1.
        ended = limits.figure(newest.get("endTimeEpoch", -1)) / 1000
    except STRANGE as error:
        if isinstance(error, ConfigurationError):
            raise
        message = f"{what} an answer about it that is not Spark's; pass the path of its event log"
        raise ConfigurationError(message) from error
    if first is not None and 0 <= ended < first.timestamp():
        message = f"{what} it, but it ended before the last hours; name more of them"
        raise ConfigurationError(message)
    return newest


def _checked(address: str) -> SplitResult:
    """Parse an address; reject an address that holds a password or cannot be requested."""
    shown = without_password(address)
    if shown != address:
        message = (
            f"{shown}: the address holds a password, and addresses are printed and stored; leave "
            "it out, or download the event log and pass the path of the log"
        )
        raise ConfigurationError(message)
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and parts.port != 0 and not _NOT_IN_URLS.search(address)
    except ValueError:
        usable = False
    if not usable:
        message = (
            f"{address!r}: it is not an address; write http://HOST:PORT, such as http://host:4040"
        )
        raise ConfigurationError(message)
    return parts


def _applications(address: str, base: str, application: str | None, query: str) -> list[Any]:
    asked = _Server(base)
    listed: Any
    try:
        if application is not None:
            listed = [asked.json(f"applications/{quote(application, safe='')}")]
        else:
            listed = asked.json(f"applications?{query}")
    except urllib.error.HTTPError as error:
        if application is not None and error.code == 404:  # noqa: PLR2004 - not found
            message = (
                f"application = {application!r}: {base} has no Spark application with this "
                "id; leave out application to read all"
            )
            raise ConfigurationError(message) from error
        raise _no_spark(address, f"HTTP {error.code}") from error
    except (OSError, HTTPException, OverflowError) as error:
        raise _no_spark(address, _reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise _no_spark(address, "its answer is not JSON") from error
    if not isinstance(listed, list) or not all(
        isinstance(each, dict) and isinstance(each.get("id"), str) for each in listed
    ):
        raise _no_spark(address, "its answer is not a list of Spark applications")
    if not listed:
        that = (
            " of the last hours; name more of them" if "minEndDate" in query else "; wait for one"
        )
        message = f"{base}: it lists no Spark application{that}, or pass the path of its event log"
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
            f"{without_password(address)}: Spark application {name[:_LONGEST_REASON]!r} cannot be "
            f"read ({reason}); pass the path of its event log"
        )
        raise ConfigurationError(message) from error


def _downloaded(asked: _Server, path: str, directory: Path) -> EventLog | None:
    """Download the logs of an application; None if the server has none."""
    archive = directory / "logs.zip"
    try:
        with archive.open("wb") as file:
            asked.load(path, file, limits.ARCHIVE_BYTES)
    except urllib.error.HTTPError:  # only a history server has logs
        return None
    if not zipfile.is_zipfile(archive):
        return None
    _check_directory(archive)
    unpacked = directory / "logs"
    unpacked.mkdir()
    with zipfile.ZipFile(archive) as files:
        if not files.namelist():  # a running application answers with an empty archive
            return None
        _unpack(files, unpacked)
    archive.unlink()
    return find_logs(unpacked).logs[0]


def _check_directory(archive: Path) -> None:
    """Check the size of an archive's list of files, before `zipfile` reads the list into memory."""
    with archive.open("rb") as file:
        end: Any = zipfile._EndRecData(file)  # type: ignore[attr-defined] # noqa: SLF001 - no other name
    if end is None or end[_DIRECTORY_SIZE] > limits.DIRECTORY_BYTES:
        raise ValueError(_TOO_MANY)


def _unpack(files: zipfile.ZipFile, directory: Path) -> None:
    left = limits.ARCHIVE_BYTES
    if len(files.infolist()) > limits.ARCHIVE_FILES:
        raise ValueError(_TOO_MANY)
    for each in files.infolist():
        # "..", "/" and "//" are dropped, so that no file is written outside of the directory.
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
        "a Spark application that runs, such as http://host:18080 or http://host:4040"
    )


def _reason(error: BaseException) -> str:
    """Return the reason why a server could not be read, as a short text on one line."""
    words = " ".join(str(getattr(error, "reason", error)).split()) or type(error).__name__
    return printable(words)[:_LONGEST_REASON]


def _too_large(most: int) -> str:
    return f"its answer is larger than {most >> 20:,} MiB"


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections only to web addresses, not to files."""

    def redirect_request(self, *given: Any) -> urllib.request.Request | None:
        if not is_address(given[-1]):
            return None
        return super().redirect_request(*given)


class _Server:
    """Sends requests about one application to a server, for at most `limits.SERVER_SECONDS`."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._deadline = time.monotonic() + limits.SERVER_SECONDS
        self._opener = urllib.request.build_opener(_Redirects)
        self._left = limits.PAGES_BYTES

    def json(self, path: str) -> Any:
        """Request a path, and return its parsed JSON answer."""
        content = io.BytesIO()
        self.load(path, content, limits.ANSWER_BYTES)
        self._left -= content.tell()
        if self._left < 0:
            raise ValueError(_too_large(limits.PAGES_BYTES))
        return json.loads(content.getvalue())

    def load(self, path: str, into: BinaryIO, most: int) -> None:
        """Request a path, and write the answer into a file.

        Raises
        ------
        OSError
            No answer comes in time.
        ValueError
            The answer is larger than `most` bytes.
        HTTPException
            The answer is not valid HTTP.
        """
        failed: list[BaseException] = []
        ended = threading.Event()

        def work() -> None:
            try:
                self._load(path, into, most, ended)
            except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
                failed.append(error)
            ended.set()

        # The request is sent in a thread, so that the wait can end: a server that sends its headers
        # byte by byte never exceeds the timeout of a socket.
        threading.Thread(target=work, daemon=True).start()
        answered = ended.wait(max(0.0, self._deadline - time.monotonic()))
        if not answered or time.monotonic() > self._deadline:
            ended.set()
            message = f"it takes longer than {limits.SERVER_SECONDS:g} s"
            raise TimeoutError(message)
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
