"""Event logs: find the files that make up a log, and read its events."""

from __future__ import annotations

import contextlib
import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.core.printed_text import printable
from evenkey.reports.diagnosis.reading import limits
from evenkey.reports.diagnosis.reading.packing import CutError, unpacked

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from pathlib import Path

_ROLLED = re.compile(r"^events_(\d+)_(.+)$")
_STATUS = "appstatus_"
_COMPACT = ".compact"
_IN_PROGRESS = ".inprogress"
_NAMED = re.compile(rb'\s*{"Event":\s*"([^"]+)"')
_FIRST_BYTES = 1 << 16
_MOST_NAMED = 5


@dataclass
class EventLog:
    """The log of one application: a file, or the files of a rolled log.

    Parameters
    ----------
    name
        Path of the log, for messages.
    files
        The files of the log, in order.
    running
        Whether a file name says that the application has not ended (``.inprogress``).
    unread
        Number of lines that could not be read; complete after all `events` were read.
    first_unread
        Line number and file name of the first line that could not be read.
    cut
        Whether a file ended in the middle of a line or of compressed data.
    stopped
        The reason why the rest of the log was not read; empty if the whole log was read.
    skipped
        Files of a rolled log that could not be read, each with the reason.
    on_bytes
        Called while `events` reads, with the number of compressed bytes read so far. None: never.
    """

    name: str
    files: tuple[Path, ...]
    running: bool = False
    unread: int = field(default=0, init=False)
    first_unread: str = field(default="", init=False)
    cut: bool = field(default=False, init=False)
    stopped: str = field(default="", init=False)
    skipped: list[str] = field(default_factory=list, init=False)
    on_bytes: Callable[[int], None] | None = field(default=None, init=False)

    @property
    def size(self) -> int:
        """Total number of bytes of the files, compressed; files that cannot be read count as 0."""
        return sum(each.st_size for each in self._states())

    @property
    def changed(self) -> float:
        """Time of the last change of a file, in seconds since 1970; 0.0 if none can be read."""
        return max((each.st_mtime for each in self._states()), default=0.0)

    def _states(self) -> Iterator[os.stat_result]:
        for file in self.files:
            with contextlib.suppress(OSError):
                yield file.stat()

    def events(self, wanted: Container[str]) -> Iterator[dict[str, Any]]:
        """Yield the events with the wanted names, in the order in which Spark wrote them.

        A line that is not an event, or that is longer than `limits.LINE_BYTES`, is counted and
        skipped. If a file ends early, its complete events are yielded. Reading stops at
        `limits.LOG_BYTES` and at `limits.LOG_SECONDS`.

        Raises
        ------
        ConfigurationError
            The log has only one file, and this file cannot be read.
        """
        self._bytes_left = limits.LOG_BYTES
        self._bytes_read = 0
        self._deadline = time.monotonic() + limits.LOG_SECONDS
        for file in self.files:
            last: tuple[int, bytes | None] | None = None
            for number, line in enumerate(self._lines(file), start=1):
                if last is not None:
                    yield from self._event(file, *last, wanted)
                last = number, line
                if time.monotonic() > self._deadline:
                    self.stopped = f"it takes longer than {limits.LOG_SECONDS:g} s"
                    return
            if last is not None:
                before = self.unread, self.first_unread
                yield from self._event(file, *last, wanted)
                if self.unread > before[0]:  # a process that was killed leaves half a line
                    (self.unread, self.first_unread), self.cut = before, True
            if self.stopped:
                return

    def _lines(self, file: Path) -> Iterator[bytes | None]:
        """Yield the lines of a file; yield None instead of a line that is too long."""
        rest: list[bytes] = []  # a list, because a line of megabytes has many chunks
        length = 0
        try:
            for chunk in self._limited(file):
                head, *lines = chunk.split(b"\n")
                for place, part in enumerate((head, *lines)):
                    if place:
                        yield b"".join(rest) if length <= limits.LINE_BYTES else None
                        rest, length = [], 0
                    length += len(part)
                    if length <= limits.LINE_BYTES:
                        rest.append(part)
                    else:
                        rest.clear()
        except CutError:
            self.cut = True
        except OSError as error:
            if len(self.files) == 1:
                reason = error.strerror or error
                message = f"event log {file} cannot be read ({reason}): check its permissions"
                raise ConfigurationError(message) from error
            self.skipped.append(f"{file.name}: {error.strerror or error}")
        if length:
            yield b"".join(rest) if length <= limits.LINE_BYTES else None

    def _limited(self, file: Path) -> Iterator[bytes]:
        before = self._bytes_read

        def read(position: int) -> None:
            # The position in a damaged file goes back to its start, where it is read once more.
            self._bytes_read = max(self._bytes_read, before + position)
            if self.on_bytes is not None:
                self.on_bytes(self._bytes_read)

        for chunk in unpacked(file, read):
            self._bytes_left -= len(chunk)
            if self._bytes_left < 0:
                self.stopped = f"it holds more than {limits.LOG_BYTES >> 20:,} MiB"
                return
            if time.monotonic() > self._deadline:
                self.stopped = f"it takes longer than {limits.LOG_SECONDS:g} s"
                return
            yield chunk

    def _event(
        self, file: Path, number: int, line: bytes | None, wanted: Container[str]
    ) -> Iterator[dict[str, Any]]:
        event = None
        if line is not None:
            named = _NAMED.match(line)
            if not line.strip() or (
                named and line.endswith(b"}") and named[1].decode("utf-8", "replace") not in wanted
            ):  # most events of a log are not wanted, and need not be parsed
                return
            with contextlib.suppress(ValueError, RecursionError):
                event = json.loads(line)
        if isinstance(event, dict) and isinstance(event.get("Event"), str):
            if event["Event"] in wanted:
                yield event
        else:
            self.unread += 1
            self.first_unread = self.first_unread or f"line {number:,} of {file.name}"


class Found(NamedTuple):
    """The logs at a path, and the other files at the path.

    Parameters
    ----------
    logs
        The logs.
    skipped
        Names of the other files, each with the reason why the file is not a readable log.
    """

    logs: list[EventLog]
    skipped: list[str]


def find_logs(path: Path) -> Found:
    """Find the logs at a path, in order of their names.

    Parameters
    ----------
    path
        A log file, the directory of a rolled log (``eventlog_v2_...``), or a directory with any
        number of logs of both kinds, such as ``spark.eventLog.dir``. Entries of a directory that
        are not logs, or that cannot be read, are skipped.

    Raises
    ------
    ConfigurationError
        The path cannot be read, or there is no log.
    """
    try:
        found = _inside(path) if path.is_dir() else Found(_single(path), [])
    except OSError as error:
        reason = error.strerror or error
        message = f"event log {path} cannot be read ({reason}): name a log or a directory"
        raise ConfigurationError(message) from error
    if not found.logs:
        what = "it contains no event log" if path.is_dir() else "it is not a Spark event log"
        what += f" ({listed(found.skipped)})" if found.skipped else ""
        message = (
            f"{path}: {what}; pass what a Spark application with spark.eventLog.enabled=true wrote "
            "into spark.eventLog.dir"
        )
        raise ConfigurationError(message)
    return found


def listed(names: Sequence[str]) -> str:
    """Join names with commas; if there are many, list the first names and count the others.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = len(names) - _MOST_NAMED
    text = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return printable(text)


def _single(file: Path) -> list[EventLog]:
    return [EventLog(str(file), (file,), _runs(file))] if _is_log(file) else []


def _inside(directory: Path) -> Found:
    rolled = _rolled(directory)
    if rolled:
        return Found(rolled, [])
    found = Found([], [])
    for each in sorted(directory.iterdir()):
        if each.name.startswith((".", _STATUS)):
            continue
        try:
            logs = _rolled(each) if each.is_dir() else _single(each)
            if not logs:
                found.skipped.append(f"{each.name}: not an event log")
            found.logs.extend(logs)
        except OSError as error:
            found.skipped.append(f"{each.name}: {error.strerror or error}")
    return found


def _rolled(directory: Path) -> list[EventLog]:
    """Return the rolled log in a directory, as a list; an empty list if there is no rolled log.

    A compacted file replaces all files up to its own number.
    """
    numbered: dict[int, list[Path]] = {}
    running = False
    for each in directory.iterdir():
        found = _ROLLED.match(each.name)
        if found:
            numbered.setdefault(int(found[1]), []).append(each)
        elif each.name.startswith(_STATUS):
            running = _runs(each)
    compacted = [n for n, files in numbered.items() if any(map(_is_compacted, files))]
    first = max(compacted, default=min(numbered, default=0))
    files = [
        max(numbered[n], key=lambda each: (_is_compacted(each), each.name))
        for n in sorted(numbered)
        if n >= first
    ]
    return [EventLog(str(directory), tuple(files), running)] if _any_log(files) else []


def _is_compacted(file: Path) -> bool:
    return file.name.endswith(_COMPACT)


def _runs(file: Path) -> bool:
    return file.name.endswith(_IN_PROGRESS)


def _any_log(files: Iterable[Path]) -> bool:
    error: OSError | None = None
    for file in files:
        try:
            if _is_log(file):
                return True
        except OSError as one:
            error = error or one
    if error is not None:
        raise error
    return False


def _is_log(file: Path) -> bool:
    """Return whether a file begins like a log: with a JSON object that has the name of an event."""
    start = b""
    try:
        for chunk in unpacked(file):
            start += chunk
            if b"\n" in start or len(start) > _FIRST_BYTES:
                break
    except CutError:
        pass
    return start.lstrip().startswith(b'{"Event":')
