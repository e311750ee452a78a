"""Rows of Parquet files by number: a key and perhaps a count of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey.errors import ConfigurationError, RunError
from evenkey.streams.row_groups import RowGroup, read_group, row_groups
from evenkey.streams.splits import RawMessages, vet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.streams.splits import Split

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
        File number and row group of each, with a digest: what changed since is refused when it
        is read.
    ends
        Number of the first row behind each row group, ascending.
    """

    files: tuple[str, ...]
    key: str
    count: str | None
    groups: tuple[tuple[int, RowGroup], ...]
    ends: tuple[int, ...]

    @classmethod
    def build(cls, paths: Sequence[str | Path], key: str, count: str | None = None) -> RowIndex:
        """Index Parquet files by their footers, and digest what will be read of them.

        Raises
        ------
        ConfigurationError
            A file is not Parquet, lacks a column (the message lists those it has), its key
            cannot be spelled as text or its count is not of integers, or there is no row.
        """
        columns = tuple(each for each in (key, count) if each is not None)
        groups: list[tuple[int, RowGroup]] = []
        ends, rows = [], 0
        for number, path in enumerate(paths):
            try:
                file = pq.ParquetFile(path)
                found = row_groups(path, columns)
            except (OSError, pa.ArrowInvalid) as error:
                message = f"input {path} is no Parquet file ({error}): name another, or pass split"
                raise ConfigurationError(message) from error
            _check_columns(path, file.schema_arrow, key, count)
            for group in found:
                rows += file.metadata.row_group(group.number).num_rows
                groups.append((number, group))
                ends.append(rows)
        if not rows:
            message = f"input {', '.join(map(str, paths))} holds no row: name a file with messages"
            raise ConfigurationError(message)
        files = tuple(map(str, paths))
        return cls(files, key, count, tuple(groups), tuple(ends))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.ends[-1]

    def __len__(self) -> int:
        return self.rows

    def split(self, start: int, stop: int) -> Split:
        """Read rows `start` to `stop` - 1; those of an empty key or no count are set apart."""
        keys, counts = self.read(start, stop)
        places = pa.array(np.arange(len(keys)))
        return vet(RawMessages(places, keys, counts, pa.nulls(len(keys), pa.string())))

    def read(self, start: int, stop: int) -> tuple[pa.StringArray, pa.Int64Array]:
        """Read keys, as text, and counts of rows `start` to `stop` - 1.

        Raises
        ------
        RunError
            A file cannot be read any more, or is not as it was indexed.
        """
        keys, counts = [pa.array([], pa.string())], [pa.array([], pa.int64())]
        first = int(np.searchsorted(self.ends, start, side="right"))
        for number in range(first, len(self.groups)):
            begin = self.ends[number - 1] if number else 0
            if begin >= stop:
                break
            table = self._group(number)
            part = table.slice(max(0, start - begin), stop - max(start, begin))
            keys.append(part[self.key].combine_chunks().cast(pa.string()))
            counts.append(self._counts(part))
        return pa.concat_arrays(keys), pa.concat_arrays(counts)

    def _counts(self, part: pa.Table) -> pa.Int64Array:
        if self.count is None:
            return pa.array(np.ones(len(part), dtype=np.int64))
        # What exceeds 63 bits turns negative, and is rejected as such.
        return pc.cast(part[self.count].combine_chunks(), pa.int64(), safe=False)

    def _group(self, number: int) -> pa.Table:
        file, group = self.groups[number]
        path = Path(self.files[file])
        try:
            return read_group(path, group)
        except OSError as error:
            why = f"cannot be read any more ({error})"
        except ValueError:
            why = "has changed since the run began"
        message = f"input {path} {why}: put it back as it was, or start again with a new output"
        raise RunError(message)


def _check_columns(path: str | Path, schema: pa.Schema, key: str, count: str | None) -> None:
    for column in filter(None, (key, count)):
        if column not in schema.names:
            has = ", ".join(schema.names)
            message = f"input {path} has no column {column!r}; it has: {has}"
            raise ConfigurationError(message)
    kind = schema.field(key).type
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    if binary or not _spelled_as_text(kind):
        message = f"input {path}: key column {key!r} holds {kind}: choose a column of single values"
        raise ConfigurationError(message)
    if count is not None and not pa.types.is_integer(schema.field(count).type):
        message = f"input {path}: count column {count!r} does not hold whole numbers"
        raise ConfigurationError(message)


def _spelled_as_text(kind: pa.DataType) -> bool:
    try:
        pa.array([], kind).cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True
