"""Event logs: which files make one, and the events that it holds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkey.diagnosis.packing import CutError, unpacked
from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from pathlib import Path

_ROLLED = re.compile(r"^events_(\d+)_(.+)$")
_ROLLED_FOLDER = "eventlog_v2_"
_STATUS = "appstatus_"
_COMPACT = ".compact"
_IN_PROGRESS = ".inprogress"
_NAMED = re.compile(rb'\s*{"Event":\s*"([^"]+)"')
_FIRST_BYTES = 1 << 16


@dataclass
class EventLog:
    """The log of one application: a file, or the files of a rolled one in their order.

    Parameters
    ----------
    name
        Where it is, as messages say it.
    files
        What it is made of.
    running
        Whether it says that its application has not ended.
    unread
        Lines that could not be read, once `events` has come to its end.
    cut
        Whether a file ended in the middle of a line or of what is packed.
    """

    name: str
    files: tuple[Path, ...]
    running: bool = False
    unread: int = field(default=0, init=False)
    cut: bool = field(default=False, init=False)

    def events(self, wanted: Container[str]) -> Iterator[dict[str, Any]]:
        """Give the events of the wanted names in the order in which they were written.

        A line that is no event is counted, and let pass; a file that ends early gives all that
        comes before.

        Raises
        ------
        ConfigurationError
            A file cannot be read.
        """
        for file in self.files:
            last: bytes | None = None
            for line in self._lines(file):
                if last is not None:
                    yield from self._event(last, wanted)
                last = line
            if last is not None:
                before = self.unread
                yield from self._event(last, wanted)
                if self.unread > before:  # half a line, as a killed process leaves it
                    self.unread, self.cut = before, True

    def _lines(self, file: Path) -> Iterator[bytes]:
        rest: list[bytes] = []  # a line of megabytes comes in many chunks
        try:
            for chunk in unpacked(file):
                head, *lines = chunk.split(b"\n")
                rest.append(head)
                for line in lines:
                    yield b"".join(rest)
                    rest = [line]
        except CutError:
            self.cut = True
        except OSError as error:
            message = f"event log {file} cannot be read ({error.strerror}): check its permissions"
            raise ConfigurationError(message) from error
        if any(rest):
            yield b"".join(rest)

    def _event(self, line: bytes, wanted: Container[str]) -> Iterator[dict[str, Any]]:
        named = _NAMED.match(line)
        if not line.strip() or (
            named and line.endswith(b"}") and named[1].decode("utf-8", "replace") not in wanted
        ):  # most of a log is no concern of ours, and need not be parsed
            return
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if isinstance(event, dict) and isinstance(event.get("Event"), str):
            if event["Event"] in wanted:
                yield event
        else:
            self.unread += 1


def find_logs(path: Path) -> list[EventLog]:
    """Find the logs at a path, by name.

    Parameters
    ----------
    path
        A log, the directory of a rolled one (``eventlog_v2_...``), or a directory of both, as
        ``spark.eventLog.dir`` names it.

    Raises
    ------
    ConfigurationError
        There is nothing, or no log.
    """
    try:
        logs = _rolled(path) or _inside(path) if path.is_dir() else _single(path)
    except OSError as error:
        message = f"event log {path} cannot be read ({error.strerror}): name a log or a directory"
        raise ConfigurationError(message) from error
    if not logs:
        what = "no event log is in it" if path.is_dir() else "it is no event log of Spark's"
        message = (
            f"{path}: {what}; name what an application with spark.eventLog.enabled=true wrote "
            "into spark.eventLog.dir"
        )
        raise ConfigurationError(message)
    return logs


def _single(file: Path) -> list[EventLog]:
    with file.open("rb"):  # raises what a file that is not there raises
        pass
    return [EventLog(str(file), (file,), _runs(file))] if _is_log(file) else []


def _inside(directory: Path) -> list[EventLog]:
    logs = []
    for each in sorted(directory.iterdir()):
        if each.name.startswith((".", _STATUS)):
            continue
        logs += _rolled(each) if each.is_dir() else _single(each)
    return logs


def _rolled(directory: Path) -> list[EventLog]:
    """Give the log that a directory is, if it is one.

    A compacted file stands for all files up to its own number.
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
    return any(map(_is_log, files))


def _is_log(file: Path) -> bool:
    """Say whether a file begins as a log does: with an object that names its event."""
    start = b""
    try:
        for chunk in unpacked(file):
            start += chunk
            if b"\n" in start or len(start) > _FIRST_BYTES:
                break
    except CutError:
        pass
    return start.lstrip().startswith(b'{"Event":')
