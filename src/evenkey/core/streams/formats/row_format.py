"""Formats of files that hold rows with columns of types, in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.core.streams.formats.base import PIECE, ColumnFormat, Piece, check_columns
from evenkey.core.streams.row_index import RowIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkey.core.streams.row_groups import RowFiles
    from evenkey.core.streams.splits import Columns


class RowFormat(ColumnFormat):
    """A format of rows.

    Parameters
    ----------
    files
        How such files are read.
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
        """Index row groups."""
        return RowIndex.build(paths, columns, values, self.files)

    def schema(self, path: str) -> pa.Schema:
        """Read the types that the file has."""
        return self.files.schema(path)

    def pieces(self, path: str, columns: Sequence[str]) -> Iterator[Piece]:
        """Read row group by row group."""
        check_columns(path, columns, self.schema(path).names)
        names = tuple(columns)
        for number, _ in enumerate(self.files.extents(path, names)):
            rows = self.files.read(path, number, names)
            for start in range(0, rows.num_rows, PIECE):
                some = rows.slice(start, PIECE)
                yield Piece(some, pa.nulls(some.num_rows, pa.string()), None)
