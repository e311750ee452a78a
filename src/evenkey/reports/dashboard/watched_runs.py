"""Find the runs that the page shows, and read their new epochs."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.stores import local_path, scheme_of, store_at
from evenkey.pipeline.exporters import RUN_FILE, EpochRecord, History

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters import RunInfo

_SILENCE_SECONDS = 20.0
"""A run writes a sign of life every second. A run counts as stopped if its last sign of life is
older than this."""
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
_LISTING_SECONDS = 15.0
"""Seconds between two searches of a store for new runs. New records of known runs appear
immediately."""


@dataclass(frozen=True)
class State:
    """Whether a run continues, or how it ended.

    Parameters
    ----------
    name
        ``running``, ``finished``, ``paused``, ``failed`` or ``silent``. A silent run has not
        recorded an end but gives no sign of life; for example, its process was killed.
    since
        Time of the run's end or of its last sign of life, in seconds since 1970.
    """

    name: str
    since: float

    @property
    def running(self) -> bool:
        """Whether the run continues."""
        return self.name == "running"


@dataclass(frozen=True)
class Run:
    """A run as the page shows it.

    Parameters
    ----------
    info
        Description of the run, such as its grouping and its workers.
    state
        Whether the run continues, or how it ended.
    records
        Records of the run's epochs, in ascending order.
    """

    info: RunInfo
    state: State
    records: Sequence[EpochRecord]

    @property
    def latest(self) -> EpochRecord | None:
        """The record of the last epoch; None before the first epoch has ended."""
        return self.records[-1] if self.records else None

    def last_with(self, figure: str) -> EpochRecord | None:
        """Return the last record that has a figure; None if no record has it.

        An epoch that only closes windows has no loads of its own.
        """
        found = (each for each in reversed(self.records) if each.get(figure) is not None)
        return next(found, None)


def thinned(records: Sequence[EpochRecord], most: int) -> Sequence[EpochRecord]:
    """Return every n-th record including the last one, at most `most` records."""
    step = max(1, -(-len(records) // most))
    return records[(len(records) - 1) % step :: step]


class Runs:
    """Reads the histories of runs below some directories; each record is read only once.

    Parameters
    ----------
    places
        Paths or URIs. A path names the output of a run or of a comparison, a history, or a
        directory that contains such outputs or histories up to three directories deep.
    """

    def __init__(self, places: Sequence[str | Path]) -> None:
        self.places = places
        self._stores: list[tuple[Path, Store | None]] = []
        for place in places:
            if scheme_of(place) == "file":
                self._stores.append((local_path(place), None))
            else:
                self._stores.append((Path(), store_at(place)))
        self._listed: dict[str, Store] = {}
        self._next_listing = 0.0
        self._records: dict[str, dict[int, EpochRecord]] = {}
        self._lock = threading.Lock()  # one reader serves all browsers

    def read(self) -> list[Run]:
        """Return the current runs, in the order in which their first epochs ended."""
        with self._lock:
            runs = [run for store in self._histories() if (run := self._read(store)) is not None]
        return sorted(runs, key=lambda run: run.records[0].ended if run.records else time.time())

    def _histories(self) -> list[Store]:
        found: dict[str, Store] = {}
        for directory, store in self._stores:
            if store is None:
                files = (file for depth in _DEPTHS for file in directory.glob(depth + RUN_FILE))
                found |= {str(file.parent): store_at(file.parent) for file in files}
        if time.monotonic() >= self._next_listing:
            self._listed = self._list()
            self._next_listing = time.monotonic() + _LISTING_SECONDS
        found |= self._listed
        return [found[path] for path in sorted(found)]

    def _list(self) -> dict[str, Store]:
        """Find the histories in stores by listing the names of all objects."""
        found = {}
        for _, store in self._stores:
            # A store that cannot be reached is tried again at the next search.
            with contextlib.suppress(OSError):
                for name in [] if store is None else store.names():
                    *above, last = name.split("/")
                    if store is not None and last == RUN_FILE and len(above) < len(_DEPTHS):
                        history = store.under("/".join(above)) if above else store
                        found[history.url] = history
        return found

    def _read(self, store: Store) -> Run | None:
        path, history = store.url, History(store)
        known = self._records.setdefault(path, {})
        try:
            info = history.run()
            for epoch in history.numbers():
                if epoch not in known:
                    known[epoch] = history.record(epoch)
            state = _state(history, max((each.ended for each in known.values()), default=0.0))
        except (OSError, ValueError, TypeError, KeyError):
            # The file belongs to another program, or is being deleted.
            del self._records[path]
            return None
        return Run(info, state, [known[epoch] for epoch in sorted(known)])


def _state(history: History, last_epoch: float) -> State:
    ended = history.ended()
    if ended is not None:
        return State(*ended)
    heard = history.last_sign_of_life() or last_epoch
    return State("silent" if time.time() - heard > _SILENCE_SECONDS else "running", heard)
