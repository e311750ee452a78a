"""The runs that the page shows: found in directories, read on as they grow."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.exporters import RUN_FILE, EpochRecord, History

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkey.exporters import RunInfo

_SILENCE_SECONDS = 20.0
"""A run touches its sign of life every second: after so long it does not run any more."""
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")


@dataclass(frozen=True)
class State:
    """Whether a run goes on, or how it ended.

    Parameters
    ----------
    name
        ``running``, ``finished``, ``paused``, ``failed`` or ``silent`` (neither alive nor
        ended: its process was killed).
    since
        When it ended or was last heard of, in seconds since 1970.
    """

    name: str
    since: float

    @property
    def running(self) -> bool:
        """Whether more is to come."""
        return self.name == "running"


@dataclass(frozen=True)
class Run:
    """A run as the page shows it.

    Parameters
    ----------
    info
        Who runs.
    state
        Whether it goes on.
    records
        Its epochs, ascending.
    """

    info: RunInfo
    state: State
    records: Sequence[EpochRecord]

    @property
    def latest(self) -> EpochRecord | None:
        """The record of the last epoch; None before the first has ended."""
        return self.records[-1] if self.records else None


class Runs:
    """Reads the histories below some directories; each record once.

    Parameters
    ----------
    directories
        Outputs of runs or comparisons, histories, or directories that hold several of them,
        up to three levels down.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = directories
        self._records: dict[Path, dict[int, EpochRecord]] = {}
        self._lock = threading.Lock()  # one reader serves all browsers

    def read(self) -> list[Run]:
        """Give the runs as they are now, those that began first in front."""
        with self._lock:
            runs = [run for path in self._histories() if (run := self._read(path)) is not None]
        return sorted(runs, key=lambda run: run.records[0].ended if run.records else time.time())

    def _histories(self) -> Iterator[Path]:
        found: set[Path] = set()
        for directory in self.directories:
            for depth in _DEPTHS:
                found.update(file.parent for file in directory.glob(depth + RUN_FILE))
        yield from sorted(found)

    def _read(self, path: Path) -> Run | None:
        history = History(path)
        known = self._records.setdefault(path, {})
        try:
            info = history.run()
            for epoch in history.numbers():
                if epoch not in known:
                    known[epoch] = history.record(epoch)
            state = _state(history)
        except (OSError, ValueError, TypeError, KeyError):
            # Another program's file of that name, or one that is just being deleted.
            del self._records[path]
            return None
        return Run(info, state, [known[epoch] for epoch in sorted(known)])


def _state(history: History) -> State:
    ended = history.ended()
    if ended is not None:
        return State(*ended)
    heard = history.last_sign_of_life()
    return State("silent" if time.time() - heard > _SILENCE_SECONDS else "running", heard)
