"""The history of a run as objects of a store, and the exporter that writes it.

The dashboard, Spark and pandas can read it while the run writes it.

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
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import store_at
from evenkey.pipeline.exporters.base import Ending, Exporter
from evenkey.pipeline.exporters.epoch_record import RunInfo
from evenkey.pipeline.exporters.history_files import VERSION, check_version, encoded, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters.epoch_record import EpochRecord

RUN_FILE = "run.json"
"""Name of an object in every history; a directory that contains this object is a history."""
_ALIVE, _ENDED, _EPOCHS = "alive", "ended.json", "epochs"
_LAST_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


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
            There is no history, or it cannot be read, perhaps because another program or another
            version of evenkey wrote it.
        """
        file = self.store.path(RUN_FILE)
        content = _fields(self.store.read(RUN_FILE), file)
        check_version(content.pop("version", 0), file)
        info = RunInfo(**content)
        numbers = [info.workers, info.sources]
        texts = [info.run, info.dataset, info.grouping, info.load_unit]
        if not (all(type(each) is int for each in numbers) and all(map(_is_text, texts))):
            message = f"{file} has fields of other types than a history"
            raise ValueError(message)
        return info

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
        """Return how and when (seconds since 1970) the run ended; None while it runs.

        Raises
        ------
        OSError, ValueError
            The object cannot be read, or has other content.
        """
        content = self.store.find(_ENDED)
        if content is None:
            return None
        file = self.store.path(_ENDED)
        ended = _fields(content, file)
        if ended.get("ending") not in get_args(Ending):
            message = f"{file} has no known ending"
            raise ValueError(message)
        return ended["ending"], _time(ended, file)

    def last_sign_of_life(self) -> float:
        """Return the time of the last heartbeat in seconds since 1970; 0 if there is none.

        Raises
        ------
        OSError, ValueError
            The object cannot be read, or has other content.
        """
        content, file = self.store.read(_ALIVE), self.store.path(_ALIVE)
        return _time(_fields(content, file), file) if content else 0.0


class Parquet(Exporter):
    """Writes one Parquet file per epoch, and heartbeats between epochs.

    Parameters
    ----------
    place
        Location of this run's history: a path, a URI, or a store.
    run
        The run whose records are exported.
    held
        See `History`.

    Raises
    ------
    ConfigurationError
        The history cannot be written.
    """

    def __init__(
        self, place: str | Path | Store, run: RunInfo, held: Callable[[], bool] = lambda: True
    ) -> None:
        self._history = History(place, held)
        try:
            self._history.begin(run)
        except OSError as error:
            message = (
                f"export = 'parquet:{place}': it cannot be written ({error.strerror or error}); "
                "choose another directory"
            )
            raise ConfigurationError(message) from error

    @property
    def to(self) -> str:
        """The directory, as an address."""
        return f"parquet:{self._history.store}"

    def points(self, record: EpochRecord) -> list[EpochRecord]:
        """Return the record itself."""
        return [record]

    def write(self, points: Sequence[EpochRecord]) -> None:
        """Write one file per record."""
        for record in points:
            self._history.add(record)

    def lacks(self, epoch: int) -> bool:
        """Return whether there is no file of this epoch."""
        return not self._history.has(epoch)

    def beat(self) -> None:
        """Write a heartbeat."""
        self._history.beat()

    def close(self, ending: Ending) -> None:
        """Record how the run ended."""
        self._history.end(ending)


def _fields(content: bytes, file: str) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except RecursionError:
        fields = None
    if isinstance(fields, dict):
        return fields
    message = f"{file} is no object of JSON"
    raise ValueError(message)


def _time(fields: dict[str, Any], file: str) -> float:
    at = fields.get("at")
    if not isinstance(at, int | float) or not 0 <= at < _LAST_TIME:
        message = f"{file} has no time"
        raise ValueError(message)
    return float(at)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _epoch(epoch: int) -> str:
    return f"{_EPOCHS}/{epoch:08d}.parquet"
