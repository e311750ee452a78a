"""Splitters of records with named parts: CSV and JSON lines."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.errors import ConfigurationError
from evenkey.streams.splits.base import RawMessages, Splitter
from evenkey.streams.splits.fields import BAD_COUNT, WHOLE, Fields, read_counts

__all__ = ["CsvRecords", "JsonLines"]


@dataclass(frozen=True)
class CsvRecords(Splitter):
    """Comma-separated records, one a line; a quoted field may not hold a line end.

    Parameters
    ----------
    header
        Names of the columns.
    key
        Column of the key.
    count
        Column of the count, or None.

    Raises
    ------
    ConfigurationError
        There is no such column, or there are two; the message lists those there are.

    Examples
    --------
    >>> split = CsvRecords(("user", "n"), "user", "n").split(pa.array([b'"a, b",2', b"c,-1"]))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'a, b', 'count': 2}]
    >>> split.rejected["reason"].to_pylist()
    ["the count '-1' is not a whole number of at least 1"]
    """

    name: ClassVar[str] = "csv"

    header: tuple[str, ...]
    key: str
    count: str | None = None

    def __post_init__(self) -> None:
        for column in filter(None, (self.key, self.count)):
            if self.header.count(column) != 1:
                many = "two columns" if column in self.header else "no column"
                has = ", ".join(self.header)
                message = f"the input has {many} {column!r}; its header has: {has}"
                raise ConfigurationError(message)

    @staticmethod
    def columns(header: bytes) -> tuple[str, ...]:
        """Read the names of the columns from a header line."""
        text = header.decode("utf-8-sig", errors="replace")
        return tuple(next(csv.reader([text]), []))

    def _find(self, text: pa.StringArray) -> RawMessages:
        quoted = pc.match_substring(text, '"').to_numpy(zero_copy_only=False)
        plain, slow = np.flatnonzero(~quoted), np.flatnonzero(quoted)
        fields = pc.split_pattern(text.take(pa.array(plain)), ",")
        parsed = [_read_record(line) for line in text.take(pa.array(slow)).to_pylist()]
        faults = [fault for _, fault in parsed]
        quoted_fields = pa.array([record for record, _ in parsed], pa.list_(pa.string()))
        order = pa.array(np.argsort(np.concatenate([plain, slow])))
        return self._found(
            pa.concat_arrays([fields, quoted_fields]).take(order),
            pa.concat_arrays(
                [pa.nulls(len(plain), pa.string()), pa.array(faults, pa.string())]
            ).take(order),
        )

    def _found(self, records: pa.ListArray, fault: pa.StringArray) -> RawMessages:
        """Pick key and count out of records, null where there is a fault."""
        width = len(self.header)
        said = f"the record's number of fields is {{}}, the header's is {width}"
        fields = Fields(records, width, said)
        fault = pc.coalesce(fault, fields.fault)
        line = pa.array(np.arange(len(records)))
        key = fields.column(self.header.index(self.key))
        if self.count is None:
            ones = pa.array(np.ones(len(records), dtype=np.int64))
            return RawMessages(line, key, ones, fault)
        count, bad = read_counts(fields.column(self.header.index(self.count)))
        return RawMessages(line, key, count, pc.coalesce(fault, bad))


@dataclass(frozen=True)
class JsonLines(Splitter):
    """JSON objects, one a line.

    A key that is a number, true or false is spelled as in JSON.

    Parameters
    ----------
    key
        Field of the key; ``user.name`` looks into the object ``user``.
    count
        Field of the count, or None.

    Examples
    --------
    >>> split = JsonLines("user.id").split(pa.array([b'{"user": {"id": 7}}', b"{}"]))
    >>> split.messages["key"].to_pylist(), split.rejected["reason"].to_pylist()
    (['7'], ["there is no field 'user.id'"])
    """

    name: ClassVar[str] = "json"

    key: str
    count: str | None = None

    def _find(self, text: pa.StringArray) -> RawMessages:
        keys: list[str | None] = []
        counts: list[int | None] = []
        faults: list[str | None] = []
        for line in text.to_pylist():
            key, count, fault = None, None, None
            try:
                key, count = self._read(line)
            except _FaultyError as error:
                fault = str(error)
            keys.append(key)
            counts.append(count)
            faults.append(fault)
        return RawMessages(
            pa.array(np.arange(len(keys))),
            pa.array(keys, pa.string()),
            pa.array(counts, pa.int64()),
            pa.array(faults, pa.string()),
        )

    def _read(self, line: str) -> tuple[str | None, int]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            message = f"not JSON: {error}"
            raise _FaultyError(message) from error
        key = _field(record, self.key)
        count = 1 if self.count is None else _field(record, self.count)
        if isinstance(key, dict | list):
            message = f"field {self.key!r} is not a single value"
            raise _FaultyError(message)
        if isinstance(count, str) and pc.match_substring_regex(count, WHOLE).as_py():
            count = int(count)
        if type(count) is not int or not 1 <= count < 1 << 63:
            message = f"the count {repr(count)[:80]} {BAD_COUNT}"
            raise _FaultyError(message)
        text = key if isinstance(key, str) or key is None else json.dumps(key)
        if text is not None and "\\u" in line and any("\ud800" <= c <= "\udfff" for c in text):
            message = "the key holds half of a surrogate pair"
            raise _FaultyError(message)
        return text, count


class _FaultyError(Exception):
    """A line cannot be read; says why."""


def _field(record: Any, path: str) -> Any:
    names = [path] if isinstance(record, dict) and path in record else path.split(".")
    for name in names:
        if not isinstance(record, dict) or name not in record:
            message = f"there is no field {path!r}"
            raise _FaultyError(message)
        record = record[name]
    return record


def _read_record(line: str) -> tuple[list[str] | None, str | None]:
    """Fields of a CSV record with quotes, or why it has none."""
    try:
        return next(csv.reader([line], strict=True), []), None
    except csv.Error as error:
        return None, f"not a CSV record: {error}"
