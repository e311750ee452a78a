"""Export to files: a history that `evenkey dashboard`, Spark and pandas read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters.base import Exporter
from evenkey.pipeline.exporters.history import History

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters.base import Ending
    from evenkey.pipeline.exporters.epoch_record import EpochRecord, RunInfo


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
