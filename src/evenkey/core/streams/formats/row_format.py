"""Formats of files with row groups, whose columns have types."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.core.streams.formats.base import PIECE, ColumnFormat, Piece, RecordFile
from evenkey.core.streams.row_index import RowIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkey.core.streams.row_groups import RowFiles
    from evenkey.core.streams.splits import Columns


class RowFormat(ColumnFormat):
    """A format of files with row groups.

    Parameters
    ----------
    files
        Object that reads files of this format.
    suffixes, reader
        As in `InputFormat`.
    """

    has_types = True

    def __init__(self, files: RowFiles, suffixes: tuple[str, ...], reader: str) -> None:
        self.name = files.name
        self.files = files
        self.suffixes = suffixes
        self.reader = reader

    def index(self, paths: Sequence[Path], columns: Columns, values: Sequence[str]) -> RowIndex:
        """Index the row groups of files."""
        return RowIndex.build(paths, columns, values, self.files)

    def records(self, path: str) -> RecordFile:
        """Return the records of a file; its row groups are read when they are needed."""
        return _RecordRows(self.files, path)


class _RecordRows(RecordFile):
    """The records of a file with row groups."""

    def __init__(self, files: RowFiles, path: str) -> None:
        self.path = path
        self._files = files

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, with their types in the file."""
        return self._files.schema(self.path)

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Read the records, row group by row group."""
        self.check(columns)
        names = tuple(columns)
        for number, _ in enumerate(self._files.extents(self.path, names)):
            rows = self._files.read(self.path, number, names)
            for start in range(0, rows.num_rows, PIECE):
                some = rows.slice(start, PIECE)
                yield Piece(some, pa.nulls(some.num_rows, pa.string()), None)
