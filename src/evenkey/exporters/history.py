"""The history of a run as files: written epoch by epoch, read while the run goes on.

::

    history/
      run.json               who runs
      epochs/00000003.parquet   one row, the record of epoch 3
      alive                  touched about once a second while the run lives
      ended.json             how and when the run ended; not there while it goes on
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.exporters.record import EpochRecord, HotKey, RunInfo
from evenkey.files import create_whole, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkey.exporters.base import Ending

__all__ = ["RUN_FILE", "History"]

RUN_FILE = "run.json"
"""What tells the history of a run from other directories."""

_SCALARS = {"int": pa.int64(), "float": pa.float64()}
_LOADS = pa.list_(pa.int64())
_HOT_KEYS = pa.list_(
    pa.struct({"key": pa.string(), "messages": pa.int64(), "pool": _LOADS, "held": _LOADS})
)
_LISTS = {"loads": _LOADS, "epoch_loads": _LOADS, "hottest": _HOT_KEYS}
_SCHEMA = pa.schema(
    [
        (each.name, _LISTS.get(each.name) or _SCALARS[str(each.type)])
        for each in dataclasses.fields(EpochRecord)
    ]
)


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
        write_whole(self._run, json.dumps(vars(run), indent=2, sort_keys=True).encode())
        self._ended.unlink(missing_ok=True)
        self._alive.touch()

    def add(self, record: EpochRecord) -> None:
        """Write an epoch's record, unless it has one."""
        if not self._held():
            return
        table = pa.Table.from_pylist([dataclasses.asdict(record)], schema=_SCHEMA)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        create_whole(self.epochs / f"{record.epoch:08d}.parquet", sink.getvalue().to_pybytes())
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
        OSError, ValueError
            There is no history here, or it cannot be read.
        """
        return RunInfo(**_read_json(self._run))

    def numbers(self) -> list[int]:
        """Epochs that have a record, ascending."""
        return sorted(int(file.stem) for file in self.epochs.glob("*.parquet"))

    def record(self, epoch: int) -> EpochRecord:
        """Read an epoch's record.

        Raises
        ------
        OSError
            There is none, or it cannot be read.
        """
        (row,) = pq.ParquetFile(self.epochs / f"{epoch:08d}.parquet").read().to_pylist()
        hottest = tuple(
            HotKey(each["key"], each["messages"], tuple(each["pool"]), tuple(each["held"]))
            for each in row.pop("hottest")
        )
        row |= {name: tuple(row[name]) for name in ("loads", "epoch_loads")}
        return EpochRecord(**row, hottest=hottest)

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
