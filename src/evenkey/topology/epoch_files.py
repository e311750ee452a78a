"""Files that tasks leave behind, one a task and epoch, the same however often a task runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.errors import RunError
from evenkey.files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EpochFiles"]


class EpochFiles:
    """Parquet files ``<directory>/<kind>/epoch=N/part-P.parquet``.

    A task writes by atomic rename, so a task that runs twice replaces its file by an equal
    one. Reachable under the same path from driver and executors, as a checkpoint is.

    Parameters
    ----------
    directory
        Made when the first file is written.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write a task's file; an empty table leaves no file.

        Raises
        ------
        RunError
            The directory cannot be written.
        """
        target = self._epoch(kind, epoch) / f"part-{part:05d}.parquet"
        try:
            if not table.num_rows:
                target.unlink(missing_ok=True)
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                pq.write_table(table, temporary)
        except OSError as error:
            message = f"{target} cannot be written ({error}): free or choose a directory"
            raise RunError(message) from error

    def epochs(self, kind: str) -> list[int]:
        """Numbers of the epochs that have files of a kind, ascending."""
        names = (path.name for path in (self.directory / kind).glob("epoch=*"))
        return sorted(int(name.removeprefix("epoch=")) for name in names)

    def read(self, kind: str, epochs: Sequence[int] | None = None) -> pa.Table | None:
        """Read the files of a kind in order of epoch and part; None where there are none.

        Raises
        ------
        RunError
            A file cannot be read.
        """
        chosen = self.epochs(kind) if epochs is None else epochs
        files = [
            file for epoch in chosen for file in sorted(self._epoch(kind, epoch).glob("part-*"))
        ]
        return pa.concat_tables([_read(file) for file in files]) if files else None

    def rows(self, kind: str) -> int:
        """Number of rows of a kind over all epochs."""
        files = (self.directory / kind).glob("epoch=*/part-*.parquet")
        return sum(pq.read_metadata(file).num_rows for file in files)

    def _epoch(self, kind: str, epoch: int) -> Path:
        return self.directory / kind / f"epoch={epoch:08d}"


def _read(file: Path) -> pa.Table:
    try:
        return pq.ParquetFile(file).read()
    except (OSError, pa.ArrowInvalid) as error:
        message = f"{file} cannot be read ({error}): delete the run's output and run again"
        raise RunError(message) from error
