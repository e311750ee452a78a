"""Files that tasks write, one per task and epoch; they are read only if the epoch is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.stores import at_once
from evenkey.pipeline.runs.output.commits import BEFORE, Commit, Commits, epoch_name, number_of
from evenkey.pipeline.runs.output.parts import encoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkey.core.stores import Store
    from evenkey.pipeline.runs.output.parts import Part


class EpochFiles:
    """Parquet files of several kinds, one per task and epoch; tasks get a pickled `EpochFiles`.

    A task's file is staged under the claim of its process, and is read only after its epoch is
    committed. So a task that runs twice, or for a process that has lost its claim, changes nothing.

    Parameters
    ----------
    commits
        The commits of the run, or the directory or store of the run.
    within
        Folder, in the run's directory, that contains a folder per kind, such as ``state/``.
    name
        Name of the commit that all files belong to; None: each file belongs to the commit of its
        epoch.
    """

    DEAD_LETTERS: ClassVar = "dead-letters"
    """Kind of the files with rejected lines: position, line, reason."""
    SPLITS: ClassVar = "splits"
    """Kind of the files with counts: lines read and lines rejected."""

    def __init__(
        self, commits: Commits | str | Path | Store, within: str = "", name: str | None = None
    ) -> None:
        self.commits = commits if isinstance(commits, Commits) else Commits(commits)
        self._within = within
        self._name = name

    def write(
        self,
        kind: str,
        epoch: int,
        part: int,
        table: pa.Table,
        *,
        took: int = 0,
        gave: int = 0,
    ) -> None:
        """Write a task's file; an empty table leaves no file.

        Parameters
        ----------
        kind, epoch, part
            Kind of the file, number of its epoch and number of its task.
        table
            Rows of the file.
        took, gave
            The task's counts; see `Part`.

        Raises
        ------
        RunError
            The file cannot be written, or this process does not see the driver's files.
        """
        if table.num_rows:
            name, place = self._name or epoch_name(epoch), self.place(kind)
            content = encoded(table)
            self.commits.stage(name, place, part, table.num_rows, content, took=took, gave=gave)

    def epochs(self, kind: str) -> list[int]:
        """Return the numbers of the committed epochs that have files of a kind, ascending."""
        place = self.place(kind)
        commits = self.commits.of([epoch_name(each) for each in self.commits.epochs()])
        return [number_of(each.name) for each in commits if each.of(place)]

    def read(self, kind: str, epochs: Sequence[int] | None = None) -> pa.Table | None:
        """Read the files of a kind in order of epoch and part; None if there are none.

        Parameters
        ----------
        kind
            The kind.
        epochs
            The epochs to read, if they are committed; None: all epochs. Files that were written
            before the first epoch belong to epoch 0.

        Raises
        ------
        RunError
            A file cannot be read, or has changed since it was written.
        """
        contents = at_once(lambda each: self.commits.content(*each), self._parts(kind, epochs))
        return pa.concat_tables(map(_decoded, contents)) if contents else None

    def figures(self, epoch: int) -> Mapping[str, float]:
        """Return the figures in the commit of an epoch; empty if it is not committed."""
        commit = self.commits.of_epoch(epoch)
        return {} if commit is None else commit.figures

    def rows(self, kind: str) -> int:
        """Return the number of rows of a kind over all committed epochs.

        Raises
        ------
        RunError
            A commit cannot be read.
        """
        return sum(part.rows for _, part in self._parts(kind, None))

    def place(self, kind: str) -> str:
        """Return the folder of a kind, relative to the run's directory."""
        return f"{self._within}{kind}"

    def _parts(self, kind: str, epochs: Sequence[int] | None) -> list[tuple[Commit, Part]]:
        if epochs is None:
            commits = self.commits.all()
        else:
            names = [BEFORE] if 0 in epochs else []
            commits = self.commits.of([*names, *map(epoch_name, epochs)])
        place = self.place(kind)
        return [(commit, part) for commit in commits for part in commit.of(place)]


def _decoded(content: bytes) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(content)).read()
