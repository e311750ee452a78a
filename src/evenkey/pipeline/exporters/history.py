"""The history of a run as objects of a store: written epoch by epoch, read while the run goes on.

::

    history/
      run.json               who runs
      epochs/00000003.parquet   one row, the record of epoch 3
      alive                  when the run last showed that it lives, written about once a second
      ended.json             how and when the run ended; not there while it goes on
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
"""What a history of a run has, and no other directory."""
_ALIVE, _ENDED, _EPOCHS = "alive", "ended.json", "epochs"


class History:
    """The objects of one run's history.

    Parameters
    ----------
    place
        Where they lie, or are to lie: a path, a URI, or a store.
    held
        Says whether this process may still write them; one that may not leaves them alone.
    """

    def __init__(self, place: str | Path | Store, held: Callable[[], bool] = lambda: True) -> None:
        self.store = store_at(place)
        self._held = held

    def begin(self, run: RunInfo) -> None:
        """Write down who runs; epochs of before stay.

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
        """Write an epoch's record, unless it has one."""
        if not self._held():
            return
        self.store.create(_epoch(record.epoch), encoded(record))
        self._live()

    def beat(self) -> None:
        """Show that the run lives."""
        if self._held():
            self._live()

    def _live(self) -> None:
        self.store.put(_ALIVE, json.dumps({"at": time.time()}).encode())

    def end(self, ending: Ending) -> None:
        """Write down how the run ended."""
        if not self._held():
            return
        self.store.put(_ENDED, json.dumps({"ending": ending, "at": time.time()}).encode())

    def run(self) -> RunInfo:
        """Who runs.

        Raises
        ------
        OSError, ValueError, TypeError
            There is no history here, or it cannot be read: another version wrote it, perhaps.
        """
        content: dict[str, Any] = json.loads(self.store.read(RUN_FILE))
        check_version(content.pop("version", 0), self.store.path(RUN_FILE))
        return RunInfo(**content)

    def numbers(self) -> list[int]:
        """Epochs that have a record, ascending."""
        names = (name.rpartition("/")[2] for name in self.store.names(_EPOCHS))
        files = (name.rpartition(".") for name in names)
        return sorted(int(stem) for stem, _, suffix in files if suffix == "parquet")

    def has(self, epoch: int) -> bool:
        """Say whether an epoch has a record."""
        return self.store.find(_epoch(epoch)) is not None

    def record(self, epoch: int) -> EpochRecord:
        """Read an epoch's record.

        Raises
        ------
        OSError, ValueError
            There is none, or it cannot be read.
        """
        name = _epoch(epoch)
        return read_record(self.store.read(name), self.store.path(name))

    def ended(self) -> tuple[Ending, float] | None:
        """How and when (seconds since 1970) the run ended; None while it goes on."""
        content = self.store.find(_ENDED)
        if content is None:
            return None
        ended = json.loads(content)
        return ended["ending"], ended["at"]

    def last_sign_of_life(self) -> float:
        """When the run last showed that it lives, in seconds since 1970; 0 where it did not."""
        content = self.store.read(_ALIVE)
        return float(json.loads(content)["at"]) if content else 0.0


def _epoch(epoch: int) -> str:
    return f"{_EPOCHS}/{epoch:08d}.parquet"
