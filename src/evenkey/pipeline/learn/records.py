"""Records of CSV, JSON-lines and Parquet files, piece by piece; what is broken says why."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import CsvRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_PIECE = 8192
_SEEN = 1000
"""Records by which it is judged which columns hold numbers."""
_MOST_LINES = 1000
"""Lines that a quoted field may run over; a quote that is open for longer was never closed."""


class Piece(NamedTuple):
    """Some records in order.

    Parameters
    ----------
    table
        Their columns; of text formats all are strings, null where a record has none.
    fault
        string[n], why a record cannot be read; null where it can.
    text
        The records as they stand in the file, for dead letters; None where they are no text.
    """

    table: pa.Table
    fault: pa.StringArray
    text: pa.StringArray | None


class _Record(NamedTuple):
    values: Mapping[str, str | None]
    fault: str | None
    text: str


def pieces_of(path: str, form: str, columns: Sequence[str] | None = None) -> Iterator[Piece]:
    """Read a file.

    Parameters
    ----------
    path
        The file.
    form
        ``csv``, ``json`` or ``parquet``.
    columns
        What to read of each record; None: all columns that there are.

    Raises
    ------
    ConfigurationError
        A column is missing, or there are two of its name; what is no Parquet file raises as
        Arrow does.
    """
    if form == "parquet":
        dataset = ds.dataset([path], format=form)
        check_columns(path, columns or (), dataset.schema.names)
        names = dataset.schema.names if columns is None else list(columns)
        for batch in dataset.to_batches(columns=names, use_threads=False):
            table = pa.Table.from_batches([batch])
            yield Piece(table, pa.nulls(table.num_rows, pa.string()), None)
        return
    with open(path, "rb") as file:  # noqa: PTH123 - paths of unpacked files are texts
        read: Callable[..., Iterator[_Record]] = _csv_records if form == "csv" else _json_records
        records = read(path, file, columns)
        while some := list(itertools.islice(records, _PIECE)):
            yield _piece(some, columns)


def schema_of(path: str, form: str) -> pa.Schema:
    """Columns of a file: of text formats those with mostly numbers are float64, others string."""
    if form == "parquet":
        return ds.dataset([path], format=form).schema
    header: Sequence[str] | None = None
    if form == "csv":
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            header = CsvRecords.read_header(file.readline().rstrip(b"\r\n"))
        if len(set(header)) < len(header):
            return pa.schema([(name, pa.string()) for name in header])
    piece = next(pieces_of(path, form, header), None)
    if piece is None:
        return pa.schema([(name, pa.string()) for name in header or ()])
    good = np.flatnonzero(piece.fault.is_null())[:_SEEN]
    return pa.schema(
        [
            (name, pa.float64() if _is_mostly_numbers(values.take(good)) else pa.string())
            for name, values in zip(piece.table.column_names, piece.table.columns, strict=True)
        ]
    )


def _is_mostly_numbers(values: pa.ChunkedArray) -> bool:
    given = [each for each in values.to_pylist() if each]
    return sum(map(_is_number, given)) * 2 > len(given)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _piece(records: Sequence[_Record], columns: Sequence[str] | None) -> Piece:
    names = columns
    if names is None:
        names = list(dict.fromkeys(name for each in records for name in each.values))
    table = {
        name: pa.array([each.values.get(name) for each in records], pa.string()) for name in names
    }
    fault = pa.array([each.fault for each in records], pa.string())
    return Piece(pa.table(table), fault, pa.array([each.text for each in records], pa.string()))


def check_columns(path: str, columns: Iterable[str], there: Sequence[str]) -> None:
    """Raise `ConfigurationError` unless each column is there, once."""
    for column in columns:
        if there.count(column) != 1:
            many = "two columns" if column in there else "no column"
            message = f"input {path} has {many} {column!r}; it has: {', '.join(there)}"
            raise ConfigurationError(message)


def _csv_records(
    path: str, file: Iterable[bytes], columns: Sequence[str] | None
) -> Iterator[_Record]:
    lines = iter(file)
    header = CsvRecords.read_header(next(lines, b"").rstrip(b"\r\n"))
    check_columns(path, columns or (), header)
    places = [(name, header.index(name)) for name in (columns or header)]
    for raw, fields, fault in _parsed(lines, len(header)):
        values = {} if fields is None else {name: fields[place] for name, place in places}
        yield _Record(values, fault, raw.decode("utf-8", errors="replace"))


def _parsed(
    lines: Iterator[bytes], width: int
) -> Iterator[tuple[bytes, list[str] | None, str | None]]:
    """Take lines apart; a quoted field may run over several, but one broken line costs no other."""
    waiting: deque[bytes] = deque()
    while True:
        line = waiting.popleft() if waiting else next(lines, None)
        if line is None:
            return
        if not line.strip():
            continue
        fields, fault = _fields(line, width)
        taken = [line]
        # A quoted field may go on in the next line; a quote inside of a field opens none.
        while fault == _OPEN and len(taken) < _MOST_LINES:
            more = waiting.popleft() if waiting else next(lines, None)
            if more is None:
                break
            taken.append(more)
            if b'"' in more:
                fields, fault = _fields(b"".join(taken), width)
        if fault is not None and len(taken) > 1:
            waiting.extendleft(reversed(taken[1:]))
            taken, fault = taken[:1], _OPEN
        yield b"".join(taken).rstrip(b"\r\n"), fields, fault


_OPEN = "not a CSV record: a quote is not closed"


def _fields(raw: bytes, width: int) -> tuple[list[str] | None, str | None]:
    """Fields of a record, or why it has none."""
    try:
        text = raw.rstrip(b"\r\n").decode("utf-8")
        fields = text.split(",")
        if '"' in text:
            fields = next(csv.reader(io.StringIO(text, newline=""), strict=True), [])
    except UnicodeDecodeError as error:
        return None, f"not UTF-8: {error.reason} at byte {error.start}"
    except csv.Error as error:
        is_open = str(error) == "unexpected end of data"
        return None, _OPEN if is_open else f"not a CSV record: {error}"
    if len(fields) != width:
        return None, f"the record's number of fields is {len(fields)}, the header's is {width}"
    return fields, None


def _json_records(
    path: str, file: Iterable[bytes], columns: Sequence[str] | None
) -> Iterator[_Record]:
    del path
    for line in file:
        if not line.strip():
            continue
        values: dict[str, str | None] = {}
        fault = None
        try:
            record = json.loads(line.decode("utf-8-sig"))
            if isinstance(record, dict):
                names = record if columns is None else columns
                values = {name: _text(name, record.get(name)) for name in names}
            else:
                fault = "not a JSON object"
        except UnicodeDecodeError as error:
            fault = f"not UTF-8: {error.reason} at byte {error.start}"
        except _NoValueError as error:
            fault = str(error)
        except (ValueError, RecursionError) as error:
            fault = f"not JSON: {error}"
        text = line.rstrip(b"\r\n").decode("utf-8", errors="replace")
        yield _Record({} if fault else values, fault, text)


class _NoValueError(Exception):
    """A field holds what is no text and no number; says so."""


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, dict | list):
        message = f"field {name!r} is not a single value"
        raise _NoValueError(message)
    text = value if isinstance(value, str) else json.dumps(value)
    if any("\ud800" <= each <= "\udfff" for each in text):
        message = f"field {name!r} holds half of a surrogate pair"
        raise _NoValueError(message)
    return text
