"""Read rows by number, as messages, from files whose columns have types."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.streams.row_columns import check_columns, key_text, key_type, value_type
from evenkey.core.streams.row_groups import PARQUET, RowFiles, RowGroup
from evenkey.core.streams.splits import Columns, RawMessages, vet
from evenkey.core.streams.splits.columns import EVENT_TIME, value_name
from evenkey.core.streams.splits.composite import compose
from evenkey.core.streams.splits.times import times_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkey.core.streams.splits import Split

FAULT = "fault"
"""Name of the column with the reason why a row is not a message."""


@dataclass(frozen=True)
class RowIndex:
    """An index of the row groups of files, for instance Parquet files.

    Parameters
    ----------
    files
        Absolute paths.
    columns
        Columns to read.
    key_types
        Types of the key's columns in results.
    groups
        For each row group, the index of its file in `files`, and the row group with its digest.
        Reading a row group that has changed since it was indexed raises an error.
    ends
        For each row group, the number of the first row after the row group; ascending.
    form
        Format of the files.
    """

    files: tuple[str, ...]
    columns: Columns
    key_types: tuple[pa.DataType, ...]
    groups: tuple[tuple[int, RowGroup], ...]
    ends: tuple[int, ...]
    form: RowFiles = PARQUET

    @classmethod
    def build(
        cls,
        paths: Sequence[str | Path],
        columns: Columns,
        values: Iterable[str] = (),
        form: RowFiles = PARQUET,
    ) -> RowIndex:
        """Index the row groups of files, and compute digests of the data that will be read.

        Parameters
        ----------
        paths
            The files.
        columns
            Columns of the key, the count and the time.
        values
            Names of other columns to read. Each column is read with its type in the files, or with
            a common type if the files differ.
        form
            Format of the files.

        Raises
        ------
        ConfigurationError
            A file has another format, or lacks a column (the message lists the columns of the
            file). A key column cannot be written as text, a count column does not hold integers, or
            a time column does not hold times. A column of `values` does not hold single values, or
            the files have no common type for the column. The files have no row.
        """
        values = tuple(values)
        names = tuple(dict.fromkeys((*columns.names, *values)))
        groups: list[tuple[int, RowGroup]] = []
        schemas: list[pa.Schema] = []
        ends, rows = [], 0
        for number, path in enumerate(paths):
            try:
                schema = form.schema(path)
                found = RowGroup.find(path, names, form)
            except (OSError, pa.ArrowInvalid) as error:
                message = (
                    f"input {path} is not a {form.title} file ({error}): name another file, "
                    "or pass split"
                )
                raise ConfigurationError(message) from error
            check_columns(path, schema, columns, values)
            schemas.append(schema)
            for group in found:
                rows += group.rows
                groups.append((number, group))
                ends.append(rows)
        if not rows:
            message = f"input {', '.join(map(str, paths))} holds no row: name a file with messages"
            raise ConfigurationError(message)
        typed = tuple((name, value_type(paths, schemas, name)) for name in values)
        whole = Columns(columns.key, columns.count, columns.time, typed)
        key_types = tuple(key_type(schemas, name) for name in columns.key)
        return cls(tuple(map(str, paths)), whole, key_types, tuple(groups), tuple(ends), form)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.ends[-1]

    def __len__(self) -> int:
        return self.rows

    @property
    def extra(self) -> pa.Schema:
        """Columns of messages besides key and count; if there is a time, the last is `FAULT`."""
        columns = self.columns
        if columns.time is None:
            return columns.extra
        return columns.extra.append(pa.field(FAULT, pa.string()))

    def split(self, start: int, stop: int) -> Split:
        """Read rows `start` to `stop` - 1; return messages, and rows that are not messages."""
        rows = self.read(start, stop)
        places = pa.array(np.arange(rows.num_rows))
        return vet(found_in(rows, places, self.columns.extra))

    def read(self, start: int, stop: int) -> pa.Table:
        """Read ``key`` as text, ``count`` and the columns of `extra` of rows `start` to `stop` - 1.

        Raises
        ------
        RunError
            A file cannot be read any more, or has changed since it was indexed.
        """
        base = pa.schema([("key", pa.string()), ("count", pa.int64()), *self.extra])
        parts = [base.empty_table()]
        first = int(np.searchsorted(self.ends, start, side="right"))
        for number in range(first, len(self.groups)):
            begin = self.ends[number - 1] if number else 0
            if begin >= stop:
                break
            table = self._group(number)
            parts.append(
                self._messages(table.slice(max(0, start - begin), stop - max(start, begin)))
            )
        return pa.concat_tables(parts).combine_chunks()

    def _messages(self, rows: pa.Table) -> pa.Table:
        columns = self.columns
        key = compose([key_text(rows[name].combine_chunks()) for name in columns.key])
        found = {"key": key, "count": self._counts(rows)}
        fault = pa.nulls(rows.num_rows, pa.string())
        if columns.time is not None:
            times = rows[columns.time].combine_chunks()
            found[EVENT_TIME], fault = times_of(times, columns.time)
        for number, (name, kind) in enumerate(columns.values):
            found[value_name(number)] = rows[name].combine_chunks().cast(kind, safe=False)
        if FAULT in self.extra.names:
            found[FAULT] = fault
        return pa.table(found)

    def _counts(self, part: pa.Table) -> pa.Int64Array:
        if self.columns.count is None:
            return pa.array(np.ones(len(part), dtype=np.int64))
        # A count of more than 63 bits becomes negative, and so it is rejected.
        return pc.cast(part[self.columns.count].combine_chunks(), pa.int64(), safe=False)

    def _group(self, number: int) -> pa.Table:
        file, group = self.groups[number]
        path = Path(self.files[file])
        try:
            return group.read(path, self.form)
        except OSError as error:
            here = f"cannot be read any more on host {gethostname()} ({error.strerror or error})"
            why = f"{here}, and all executors read it under this path"
        except ValueError:
            why = "has changed since the run began"
        message = f"input {path} {why}: restore it, or start again with a new output"
        raise RunError(message)


def found_in(rows: pa.Table | pa.RecordBatch, line: pa.Int64Array, extra: pa.Schema) -> RawMessages:
    """Convert rows from `RowIndex.read` to the argument of `vet`, which checks messages.

    Parameters
    ----------
    rows
        Rows with at least the columns that `RowIndex.read` returns.
    line
        Index of each row.
    extra
        Columns of messages besides key and count.
    """
    fault = rows[FAULT] if FAULT in rows.schema.names else pa.nulls(rows.num_rows, pa.string())
    own = {name: rows[name] for name in extra.names}
    return RawMessages(line, rows["key"], rows["count"], fault, extra=own)
