"""The splitter for JSON objects, one per line."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages
from evenkey.core.streams.splits.column_splitter import ColumnSplitter
from evenkey.core.streams.splits.composite import compose
from evenkey.core.streams.splits.fields import BAD_COUNT, WHOLE
from evenkey.core.streams.splits.written_values import read_extra

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from evenkey.core.streams.splits.columns import Columns

Row: TypeAlias = tuple[str | None, ...]
"""Texts of some fields of a record."""


@dataclass(frozen=True)
class JsonLines(ColumnSplitter):
    """JSON objects, one per line.

    A key that is a number, true or false is converted to its JSON text. A field that is null or
    missing is a missing value or a missing time. In a composite key, a missing field is null, as in
    Spark's reader. If the key is one field, a record without this field is rejected.

    Parameters
    ----------
    columns
        Fields that make a message; ``user.name`` is the field ``name`` of the object ``user``.

    Examples
    --------
    >>> from evenkey.core.streams.splits import Columns
    >>> json_lines = JsonLines(Columns("user.id"))
    >>> split = json_lines.split(pa.array([b'{"user": {"id": 7}}', b"{}"]))
    >>> split.messages["key"].to_pylist(), split.rejected["reason"].to_pylist()
    (['7'], ["there is no field 'user.id'"])
    """

    name: ClassVar[str] = "json"

    columns: Columns

    def texts(self, text: pa.StringArray) -> Mapping[str, pa.StringArray]:
        """Read the wanted fields as they are written; null if a line has no value."""
        return self._texts(text, as_written=True)[0]

    def fields(self, text: pa.StringArray) -> tuple[set[str], dict[str, None]]:
        """Return the wanted fields that occur (also as null), and the names of top-level fields."""
        there: set[str] = set()
        names: dict[str, None] = {}
        for line in text.to_pylist():
            with contextlib.suppress(_FaultyError):
                record = _parsed(line, exact=False)
                there.update(each for each in self.columns.names if not _missing(record, each))
                names |= dict.fromkeys(record if isinstance(record, dict) else ())
        return there, names

    def _values(self, text: pa.StringArray) -> tuple[dict[str, pa.StringArray], pa.StringArray]:
        return self._texts(text, as_written=False)

    def _texts(
        self, text: pa.StringArray, *, as_written: bool
    ) -> tuple[dict[str, pa.StringArray], pa.StringArray]:
        names = self.columns.names
        rows: list[Row] = []
        faults: list[str | None] = []
        for line in text.to_pylist():
            row: Row = (None,) * len(names)
            fault = None
            try:
                record = _parsed(line, exact=as_written)
                if isinstance(record, dict):
                    row = tuple(_text(line, record, name, as_written=as_written) for name in names)
                else:
                    fault = "not a JSON object"
            except _FaultyError as error:
                fault = str(error)
            rows.append(row)
            faults.append(fault)
        columns = zip(names, _transposed(rows, len(names)), strict=True)
        return dict(columns), pa.array(faults, pa.string())

    def _find(self, text: pa.StringArray) -> RawMessages:
        keys, others = self.columns.key, self.columns.others
        nothing: Row = (None,) * (len(keys) + len(others))
        rows, counts, faults = [], [], []
        for line in text.to_pylist():
            row, count, fault = nothing, None, None
            try:
                row, count = self._read(line, others)
            except _FaultyError as error:
                fault = str(error)
            rows.append(row)
            counts.append(count)
            faults.append(fault)
        columns = _transposed(rows, len(keys) + len(others))
        key = compose(columns[: len(keys)])
        texts = dict(zip(others, columns[len(keys) :], strict=True))
        extra, wrong = read_extra(self.columns, texts, len(rows))
        fault = pc.coalesce(pa.array(faults, pa.string()), wrong)
        line = pa.array(np.arange(len(rows)))
        return RawMessages(line, key, pa.array(counts, pa.int64()), fault, extra=extra)

    def _read(self, line: str, others: Sequence[str]) -> tuple[Row, int]:
        """Read the parts of the key and the other wanted fields, as texts, and the count."""
        columns = self.columns
        record = _parsed(line, exact=bool(others))
        # Values keep numbers as they are written. A key does not, because the text of a key must be
        # the same whether values are read or not.
        if len(columns.key) == 1:
            key = _field(record, columns.key[0])
            parts: Row = (_single(line, key, columns.key[0], "the key", as_written=False),)
        else:
            parts = tuple(
                _text(line, record, name, "the key", as_written=False) for name in columns.key
            )
        count = 1 if columns.count is None else _field(record, columns.count)
        if isinstance(count, str) and pc.match_substring_regex(count, WHOLE).as_py():
            count = int(count)
        if type(count) is not int or not 1 <= count < 1 << 63:
            message = f"the count {repr(count)[:80]} {BAD_COUNT}"
            raise _FaultyError(message)
        if others:
            parts = (*parts, *(_text(line, record, name) for name in others))
        return parts, count


class _FaultyError(Exception):
    """A line cannot be read; the message says why."""


class _Number(float):
    """A number with a point or an exponent, and the text in which it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


_EXACT = json.JSONDecoder(parse_float=_Number)


def _parsed(line: str, *, exact: bool) -> Any:
    """Parse a line; `exact` keeps the texts in which numbers were written."""
    try:
        return _EXACT.decode(line) if exact else json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"not JSON: {error}"
        raise _FaultyError(message) from error


def _field(record: Any, path: str) -> Any:
    names = [path] if isinstance(record, dict) and path in record else path.split(".")
    for name in names:
        if not isinstance(record, dict) or name not in record:
            message = f"there is no field {path!r}"
            raise _FaultyError(message)
        record = record[name]
    return record


def _missing(record: Any, path: str) -> bool:
    try:
        _field(record, path)
    except _FaultyError:
        return True
    return False


def _text(
    line: str, record: Any, path: str, what: str = "", *, as_written: bool = True
) -> str | None:
    """Return a field as text; None if the field is null or missing."""
    try:
        value = _field(record, path)
    except _FaultyError:
        return None
    return _single(line, value, path, what or f"field {path!r}", as_written=as_written)


def _single(line: str, value: Any, path: str, what: str, *, as_written: bool) -> str | None:
    """Convert a single value to text; None stays None."""
    if isinstance(value, dict | list):
        message = f"field {path!r} is not a single value"
        raise _FaultyError(message)
    if value is None or (as_written and isinstance(value, _Number)):
        return None if value is None else value.text
    text = value if isinstance(value, str) else json.dumps(value)
    if "\\u" in line and any("\ud800" <= char <= "\udfff" for char in text):
        message = f"{what} has half a character (a lone surrogate)"
        raise _FaultyError(message)
    return text


def _transposed(rows: list[Row], width: int) -> list[pa.StringArray]:
    """Convert rows to columns."""
    return [pa.array([row[place] for row in rows], pa.string()) for place in range(width)]
