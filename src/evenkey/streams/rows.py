"""Rows of Parquet files by number: a key and perhaps a count of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["RowIndex"]


@dataclass(frozen=True)
class RowIndex:
    """Where the row groups of some Parquet files begin.

    Parameters
    ----------
    files
        Absolute paths.
    key, count
        Columns; without a count column each row counts once.
    groups
        File number and row-group number of each row group.
    ends
        Number of the first row behind each row group, ascending.
    """

    files: tuple[str, ...]
    key: str
    count: str | None
    groups: tuple[tuple[int, int], ...]
    ends: tuple[int, ...]

    @classmethod
    def build(cls, paths: Sequence[Path], key: str, count: str | None = None) -> RowIndex:
        """Index Parquet files by their footers.

        Raises
        ------
        ConfigurationError
            A file is not Parquet, lacks a column (the message lists those it has), its count
            is not of integers, or there is no row at all.
        """
        groups, ends, rows = [], [], 0
        for number, path in enumerate(paths):
            try:
                file = pq.ParquetFile(path)
            except (OSError, pa.ArrowInvalid) as error:
                message = f"input {path} cannot be read as Parquet: {error}"
                raise ConfigurationError(message) from error
            schema = file.schema_arrow
            for column in filter(None, (key, count)):
                if column not in schema.names:
                    has = ", ".join(schema.names)
                    message = f"input {path} has no column {column!r}; it has: {has}"
                    raise ConfigurationError(message)
            if count is not None and not pa.types.is_integer(schema.field(count).type):
                message = f"input {path}: count column {count!r} does not hold whole numbers"
                raise ConfigurationError(message)
            for group in range(file.metadata.num_row_groups):
                rows += file.metadata.row_group(group).num_rows
                groups.append((number, group))
                ends.append(rows)
        if not rows:
            message = f"input {', '.join(map(str, paths))} holds no row: name a file with messages"
            raise ConfigurationError(message)
        return cls(tuple(map(str, paths)), key, count, tuple(groups), tuple(ends))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.ends[-1]

    def read(self, start: int, stop: int) -> tuple[pa.StringArray, pa.Int64Array]:
        """Read keys, as text, and counts of rows `start` to `stop` - 1.

        Raises
        ------
        RunError
            A file cannot be read any more.
        """
        parts = []
        first = int(np.searchsorted(self.ends, start, side="right"))
        for number in range(first, len(self.groups)):
            begin = self.ends[number - 1] if number else 0
            if begin >= stop:
                break
            table = self._group(*self.groups[number])
            parts.append(table.slice(max(0, start - begin), stop - max(start, begin)))
        table = pa.concat_tables(parts).combine_chunks()
        keys = table[self.key].combine_chunks().cast(pa.string())
        if self.count is None:
            return keys, pa.array(np.ones(len(keys), dtype=np.int64))
        return keys, pc.cast(table[self.count].combine_chunks(), pa.int64())

    def _group(self, file: int, group: int) -> pa.Table:
        columns = [each for each in (self.key, self.count) if each is not None]
        try:
            return pq.ParquetFile(self.files[file]).read_row_group(group, columns=columns)
        except (OSError, pa.ArrowInvalid) as error:
            message = (
                f"input {self.files[file]} cannot be read any more ({error}): put it back as it "
                "was, or start again with a new output"
            )
            raise RunError(message) from error
