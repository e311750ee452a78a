"""The history of a run as objects of a store, which can be read while the run writes them.

::

    history/
      run.json               the properties of the run
      epochs/00000003.parquet   one row, the record of epoch 3
      alive                  the last heartbeat of the run, written about once per second
      ended.json             how and when the run ended; missing while it runs
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from evenkey.core.stores import store_at
from evenkey.pipeline.exporters.epoch_record import RunInfo
from evenkey.pipeline.exporters.history_files import VERSION, check_version, encoded, read_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters.base import Ending
    from evenkey.pipeline.exporters.epoch_record import EpochRecord

RUN_FILE = "run.json"
"""Name of an object in every history; a directory that contains this object is a history."""
_ALIVE, _ENDED, _EPOCHS = "alive", "ended.json", "epochs"


class History:
    """The objects of one run's history.

    Parameters
    ----------
    place
        Location of the history: a path, a URI, or a store.
    held
        Function that returns whether this process may still write the history; if it returns
        False, nothing is written.
    """

    def __init__(self, place: str | Path | Store, held: Callable[[], bool] = lambda: True) -> None:
        self.store = store_at(place)
        self._held = held

    def begin(self, run: RunInfo) -> None:
        """Write the properties of the run; records of earlier epochs stay.

        Raises
        ------
        OSError
            The store cannot be written.
        """
        content = {**vars(run), "version": VERSION}
        self.store.put(RUN_FILE, json.dumps(content, indent=2, sort_keys=True).encode())
        self.store.delete(_ENDED)
        self._live()

    def add(self, record: EpochRecord) -> None:
        """Write the record of an epoch, unless the epoch already has a record."""
        if not self._held():
            return
        self.store.create(_epoch(record.epoch), encoded(record))
        self._live()

    def beat(self) -> None:
        """Write a heartbeat."""
        if self._held():
            self._live()

    def _live(self) -> None:
        self.store.put(_ALIVE, json.dumps({"at": time.time()}).encode())

    def end(self, ending: Ending) -> None:
        """Record how the run ended."""
        if not self._held():
            return
        self.store.put(_ENDED, json.dumps({"ending": ending, "at": time.time()}).encode())

    def run(self) -> RunInfo:
        """Read the run's properties.

        Raises
        ------
        OSError, ValueError, TypeError
            There is no history, or it cannot be read, perhaps because another version of evenkey
            wrote it.
        """
        content: dict[str, Any] = json.loads(self.store.read(RUN_FILE))
        check_version(content.pop("version", 0), self.store.path(RUN_FILE))
        return RunInfo(**content)

    def numbers(self) -> list[int]:
        """Return the epochs that have a record, ascending."""
        names = (name.rpartition("/")[2] for name in self.store.names(_EPOCHS))
        files = (name.rpartition(".") for name in names)
        return sorted(int(stem) for stem, _, suffix in files if suffix == "parquet")

    def has(self, epoch: int) -> bool:
        """Return whether an epoch has a record."""
        return self.store.find(_epoch(epoch)) is not None

    def record(self, epoch: int) -> EpochRecord:
        """Read an epoch's record.

        Raises
        ------
        OSError, ValueError
            There is no record, or the record cannot be read.
        """
        name = _epoch(epoch)
        return read_record(self.store.read(name), self.store.path(name))

    def ended(self) -> tuple[Ending, float] | None:
        """Return how and when (seconds since 1970) the run ended; None while it runs."""
        content = self.store.find(_ENDED)
        if content is None:
            return None
        ended = json.loads(content)
        return ended["ending"], ended["at"]

    def last_sign_of_life(self) -> float:
        """Return the time of the last heartbeat in seconds since 1970; 0 if there is none."""
        content = self.store.read(_ALIVE)
        return float(json.loads(content)["at"]) if content else 0.0


def _epoch(epoch: int) -> str:
    return f"{_EPOCHS}/{epoch:08d}.parquet"
