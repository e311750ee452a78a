"""The history of a run as files: written epoch by epoch, read while the run goes on.

::

    history/
      run.json               who runs
      epochs/00000003.parquet   one row, the record of epoch 3
      alive                  touched about once a second while the run lives
      ended.json             how and when the run ended; not there while it goes on
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from evenkey.exporters.history_files import VERSION, encoded, read_record
from evenkey.exporters.record import RunInfo
from evenkey.files import create_whole, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkey.exporters.base import Ending
    from evenkey.exporters.record import EpochRecord

RUN_FILE = "run.json"
"""What a history of a run has, and no other directory."""


class History:
    """The files of one run's history.

    Parameters
    ----------
    directory
        Where they lie, or are to lie.
    held
        Says whether this process may still write them; one that may not leaves them alone.
    """

    def __init__(self, directory: Path, held: Callable[[], bool] = lambda: True) -> None:
        self.directory = directory
        self._held = held
        self.epochs = directory / "epochs"
        self._run = directory / RUN_FILE
        self._alive = directory / "alive"
        self._ended = directory / "ended.json"

    def begin(self, run: RunInfo) -> None:
        """Write down who runs; epochs of before stay.

        Raises
        ------
        OSError
            The directory cannot be written.
        """
        self.epochs.mkdir(parents=True, exist_ok=True)
        content = {**vars(run), "version": VERSION}
        write_whole(self._run, json.dumps(content, indent=2, sort_keys=True).encode())
        self._ended.unlink(missing_ok=True)
        self._alive.touch()

    def add(self, record: EpochRecord) -> None:
        """Write an epoch's record, unless it has one."""
        if not self._held():
            return
        if not self.has(record.epoch):
            create_whole(self._epoch(record.epoch), encoded(record))
        self._alive.touch()

    def beat(self) -> None:
        """Show that the run lives."""
        if self._held():
            os.utime(self._alive)

    def end(self, ending: Ending) -> None:
        """Write down how the run ended."""
        if not self._held():
            return
        write_whole(self._ended, json.dumps({"ending": ending, "at": time.time()}).encode())

    def run(self) -> RunInfo:
        """Who runs.

        Raises
        ------
        OSError, ValueError, TypeError
            There is no history here, or it cannot be read: a later version wrote it, perhaps.
        """
        content = _read_json(self._run)
        version = content.pop("version", 1)
        if version > VERSION:
            message = (
                f"{self._run} is of version {version}: this evenkey reads up to {VERSION}; "
                "install a newer one"
            )
            raise ValueError(message)
        return RunInfo(**content)

    def numbers(self) -> list[int]:
        """Epochs that have a record, ascending."""
        return sorted(int(file.stem) for file in self.epochs.glob("*.parquet"))

    def has(self, epoch: int) -> bool:
        """Say whether an epoch has a record."""
        return self._epoch(epoch).exists()

    def record(self, epoch: int) -> EpochRecord:
        """Read an epoch's record.

        Raises
        ------
        OSError, ValueError
            There is none, or it cannot be read.
        """
        return read_record(self._epoch(epoch))

    def _epoch(self, epoch: int) -> Path:
        return self.epochs / f"{epoch:08d}.parquet"

    def ended(self) -> tuple[Ending, float] | None:
        """How and when (seconds since 1970) the run ended; None while it goes on."""
        try:
            ended = _read_json(self._ended)
        except FileNotFoundError:
            return None
        return ended["ending"], ended["at"]

    def last_sign_of_life(self) -> float:
        """When the run last showed that it lives, in seconds since 1970."""
        return self._alive.stat().st_mtime


def _read_json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_bytes())
    return content
