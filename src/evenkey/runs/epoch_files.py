"""Files that tasks leave behind, one a task and epoch; they count once their epoch is committed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey.runs.commits import BEFORE, Commit, Commits, epoch_name
from evenkey.runs.parts import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkey.runs.parts import Part

DEAD_LETTERS = "dead-letters"
"""Kind of the epoch files that hold rejected lines: where they are, line, reason."""
SPLITS = "splits"
"""Kind of the epoch files that count: lines read and lines rejected."""


class EpochFiles:
    """Parquet files ``<directory>/<kind>/epoch=N/part-P.parquet``. Travels to tasks.

    What a task writes waits under the claim of its process, and is read only when its epoch is
    committed: so a task that runs twice, or in a process that is no longer wanted, changes nothing.

    Parameters
    ----------
    directory
        Of the run, or in it; nothing is made before the first file is written.
    commits
        Of the run; None: those in this directory.
    name
        Of the commit for which all that is written waits; None: that of the epoch.
    """

    def __init__(
        self, directory: str | Path, commits: Commits | None = None, name: str | None = None
    ) -> None:
        self.directory = Path(directory)
        self.commits = commits or Commits(self.directory)
        self._name = name
        self._places: dict[int, frozenset[str]] = {}

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write a task's file; an empty table leaves no file.

        Raises
        ------
        RunError
            The directory cannot be written.
        """
        if table.num_rows:
            name = self._name or epoch_name(epoch)
            self.commits.stage(name, self.place(kind), part, table.num_rows, encoded(table))

    def epochs(self, kind: str) -> list[int]:
        """Numbers of the committed epochs that have files of a kind, ascending."""
        place = self.place(kind)
        return [each for each in self.commits.epochs() if place in self._places_of(each)]

    def read(self, kind: str, epochs: Sequence[int] | None = None) -> pa.Table | None:
        """Read the files of a kind in order of epoch and part; None where there are none.

        Parameters
        ----------
        kind
            Which.
        epochs
            Those that are wanted, if they are committed; None: all. What was found before the
            first epoch belongs to epoch 0.

        Raises
        ------
        RunError
            A file cannot be read, or has changed since it was written.
        """
        tables = [
            _decoded(self.commits.content(commit, part))
            for commit, part in self._parts(kind, epochs)
        ]
        return pa.concat_tables(tables) if tables else None

    def rows(self, kind: str) -> int:
        """Number of rows of a kind over all committed epochs.

        Raises
        ------
        RunError
            A commit cannot be read.
        """
        return sum(part.rows for _, part in self._parts(kind, None))

    def place(self, kind: str) -> str:
        """Where a kind lies, relative to the run's directory."""
        return (self.directory / kind).relative_to(self.commits.root).as_posix()

    def _parts(self, kind: str, epochs: Sequence[int] | None) -> Iterator[tuple[Commit, Part]]:
        if epochs is None:
            commits = self.commits.all()
        else:
            names = [BEFORE] if 0 in epochs else []
            names += map(epoch_name, epochs)
            commits = (each for each in map(self.commits.read, names) if each is not None)
        place = self.place(kind)
        return ((commit, part) for commit in commits for part in commit.of(place))

    def lines_and_rejected(self) -> tuple[int, int] | None:
        """Lines read and rejected so far; None where every position is a message."""
        counts = self.read(SPLITS)
        if counts is None:
            return None
        return pc.sum(counts["lines"]).as_py(), pc.sum(counts["rejected"]).as_py()

    def _places_of(self, epoch: int) -> frozenset[str]:
        """Places in which an epoch has parts; a commit never changes."""
        if epoch not in self._places:
            commit = self.commits.read(epoch_name(epoch))
            parts = () if commit is None else commit.parts
            self._places[epoch] = frozenset(part.place for part in parts)
        return self._places[epoch]


def _decoded(content: bytes) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(content)).read()
