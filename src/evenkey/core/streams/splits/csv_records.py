"""The splitter of comma-separated records."""

from __future__ import annotations

import contextlib
import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.splits.base import RawMessages
from evenkey.core.streams.splits.column_splitter import ColumnSplitter
from evenkey.core.streams.splits.composite import compose
from evenkey.core.streams.splits.fields import Fields, read_counts
from evenkey.core.streams.splits.written_values import read_extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.streams.splits.columns import Columns


@dataclass(frozen=True)
class CsvRecords(ColumnSplitter):
    """Comma-separated records; a quoted field may contain commas and line ends.

    An empty or blank field is a missing value or a missing time. In a composite key, an empty field
    is null, as in Spark's reader. If the key is one column, a record with an empty key is rejected.

    Parameters
    ----------
    header
        Names of the columns.
    columns
        Columns that make a message.

    Raises
    ------
    ConfigurationError
        A column is missing, or two columns have the same name. The message lists all columns.

    Examples
    --------
    >>> from evenkey.core.streams.splits import Columns
    >>> csv_records = CsvRecords(("user", "n"), Columns("user", "n"))
    >>> split = csv_records.split(pa.array([b'"a, b",2', b"c,-1"]))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'a, b', 'count': 2}]
    >>> split.rejected["reason"].to_pylist()
    ["the count '-1' is not a whole number of at least 1"]
    """

    name: ClassVar[str] = "csv"

    header: tuple[str, ...]
    columns: Columns

    def __post_init__(self) -> None:
        for column in self.columns.names:
            if self.header.count(column) != 1:
                many = "two columns" if column in self.header else "no column"
                has = ", ".join(self.header)
                message = f"the input has {many} {column!r}; its header has: {has}"
                raise ConfigurationError(message)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in the header."""
        return self.header

    @staticmethod
    def read_header(header: bytes) -> tuple[str, ...]:
        """Read the names of the columns from a header."""
        text = header.decode("utf-8-sig", errors="replace")
        return tuple(next(csv.reader([text]), []))

    def texts(self, text: pa.StringArray) -> Mapping[str, pa.StringArray]:
        """Read the wanted columns as they are written; null if a line has no value."""
        values, _ = self._values(text)
        return {name: _filled(each) for name, each in values.items()}

    def _values(self, text: pa.StringArray) -> tuple[dict[str, pa.StringArray], pa.StringArray]:
        fields, fault = self._fields(text)
        columns = self.columns.names
        return {name: fields.column(self.header.index(name)) for name in columns}, fault

    def _fields(self, text: pa.StringArray) -> tuple[Fields, pa.StringArray]:
        """Split lines into fields; also return the reason for each line that is not a record."""
        quoted = pc.match_substring(text, '"').to_numpy(zero_copy_only=False)
        plain, slow = np.flatnonzero(~quoted), np.flatnonzero(quoted)
        fields = pc.split_pattern(text.take(pa.array(plain)), ",")
        parsed, reasons = _read_records(text.take(pa.array(slow)).to_pylist())
        faults = pa.array(reasons, pa.string())
        quoted_fields = pa.array(parsed, pa.list_(pa.string()))
        order = pa.array(np.argsort(np.concatenate([plain, slow])))
        width = len(self.header)
        said = f"the record's number of fields is {{}}, the header's is {width}"
        found = Fields(pa.concat_arrays([fields, quoted_fields]).take(order), width, said)
        fault = pa.concat_arrays([pa.nulls(len(plain), pa.string()), faults]).take(order)
        return found, pc.coalesce(fault, found.fault)

    def _find(self, text: pa.StringArray) -> RawMessages:
        columns, fault = self._values(text)
        count = pa.array(np.ones(len(text), dtype=np.int64))
        if self.columns.count is not None:
            count, bad = read_counts(columns[self.columns.count])
            fault = pc.coalesce(fault, bad)
        parts = [columns[name] for name in self.columns.key]
        key = compose(parts, empty_is_null=True)
        filled = {name: _filled(columns[name]) for name in self.columns.others}
        extra, wrong = read_extra(self.columns, filled, len(text))
        line = pa.array(np.arange(len(text)))
        return RawMessages(line, key, count, pc.coalesce(fault, wrong), extra=extra)


def _filled(texts: pa.StringArray) -> pa.StringArray:
    """Replace blank values by null."""
    blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
    return pc.if_else(blank, pa.scalar(None, pa.string()), texts)


def _read_records(lines: list[str]) -> tuple[list[list[str] | None], list[str | None]]:
    """Parse CSV records with quotes; return their fields, and why a line is not a record."""
    with contextlib.suppress(csv.Error):
        # There are as many records as lines only if each line is a whole record.
        records: list[list[str] | None] = list(csv.reader(lines, strict=True))
        if len(records) == len(lines):
            return records, [None] * len(lines)
    found = [_read_record(line) for line in lines]
    return [record for record, _ in found], [fault for _, fault in found]


def _read_record(line: str) -> tuple[list[str] | None, str | None]:
    try:
        return next(csv.reader([line], strict=True), []), None
    except csv.Error as error:
        is_open = str(error) == "unexpected end of data"
        return None, f"not a CSV record: {'a quote is not closed' if is_open else error}"
