"""Splitters: what messages a raw line holds, or why it holds none."""

from __future__ import annotations

import csv
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyarrow as pa

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CsvRecords", "JsonLines", "Lines", "Rejected", "Split", "Splitter", "Words"]


class Rejected(Exception):  # noqa: N818 - a verdict on one line, not an error of the program
    """A line holds no message; says why."""


class Split(NamedTuple):
    """What a batch of lines holds.

    Parameters
    ----------
    messages
        Columns ``line`` (int64, its place in the batch), ``key`` (string), ``count`` (int64).
    rejected
        Columns ``line`` (int64), ``reason`` (string).
    """

    messages: pa.Table
    rejected: pa.Table


@dataclass(frozen=True)
class Splitter(ABC):
    """Takes raw lines apart; a line may hold several messages, one, or none."""

    name: ClassVar[str]

    @abstractmethod
    def keys(self, line: str) -> Iterable[tuple[str | None, object]]:
        """Give key and count of each message of a line.

        Raises
        ------
        Rejected
            The line cannot be parsed.
        """

    def split(self, lines: pa.BinaryArray) -> Split:
        """Split a batch of raw lines.

        A line is rejected as a whole: not UTF-8, not parsed, a key that is missing, null or
        empty, a count that is not a whole number of at least 1.
        """
        places: list[int] = []
        keys: list[str] = []
        counts: list[int] = []
        rejected: list[int] = []
        reasons: list[str] = []
        for place, line in enumerate(lines.to_pylist()):
            try:
                found = [(_key(key), _count(count)) for key, count in self.keys(_text(line))]
            except Rejected as verdict:
                rejected.append(place)
                reasons.append(str(verdict))
                continue
            for key, count in found:
                places.append(place)
                keys.append(key)
                counts.append(count)
        return Split(
            pa.table(
                {
                    "line": pa.array(places, pa.int64()),
                    "key": pa.array(keys, pa.string()),
                    "count": pa.array(counts, pa.int64()),
                }
            ),
            pa.table(
                {
                    "line": pa.array(rejected, pa.int64()),
                    "reason": pa.array(reasons, pa.string()),
                }
            ),
        )


@dataclass(frozen=True)
class Lines(Splitter):
    """The whole line is the key.

    Examples
    --------
    >>> Lines().split(pa.array([b"Turkey", b""])).rejected.to_pylist()
    [{'line': 1, 'reason': 'the key is empty'}]
    """

    name: ClassVar[str] = "lines"

    def keys(self, line: str) -> Iterable[tuple[str | None, object]]:
        return [(line, 1)]


@dataclass(frozen=True)
class Words(Splitter):
    """Every word is a message: runs of letters, digits and underscores, in lower case.

    A line without words holds no message; it is not rejected.

    Examples
    --------
    >>> Words().split(pa.array([b"To be, or not to be"])).messages["key"].to_pylist()
    ['to', 'be', 'or', 'not', 'to', 'be']
    """

    name: ClassVar[str] = "words"
    _WORD: ClassVar[re.Pattern[str]] = re.compile(r"\w+")

    def keys(self, line: str) -> Iterable[tuple[str | None, object]]:
        return [(word, 1) for word in self._WORD.findall(line.lower())]


@dataclass(frozen=True)
class CsvRecords(Splitter):
    """Comma-separated records, one a line.

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
        There is no such column; the message lists those there are.

    Examples
    --------
    >>> CsvRecords(("user", "n"), key="user").split(pa.array([b'"a, b",2'])).messages["key"][0]
    <pyarrow.StringScalar: 'a, b'>
    """

    name: ClassVar[str] = "csv"

    header: tuple[str, ...]
    key: str
    count: str | None = None

    def __post_init__(self) -> None:
        for column in filter(None, (self.key, self.count)):
            if column not in self.header:
                has = ", ".join(self.header)
                message = f"the input has no column {column!r}; its header has: {has}"
                raise ConfigurationError(message)

    @staticmethod
    def columns(header: bytes) -> tuple[str, ...]:
        """Read the names of the columns from a header line."""
        text = header.decode("utf-8-sig", errors="replace")
        return tuple(next(csv.reader([text]), []))

    def keys(self, line: str) -> Iterable[tuple[str | None, object]]:
        try:
            record = next(csv.reader([line], strict=True), [])
        except csv.Error as error:
            message = f"not a CSV record: {error}"
            raise Rejected(message) from error
        if len(record) != len(self.header):
            message = f"{len(record)} fields where the header has {len(self.header)}"
            raise Rejected(message)
        count: object = 1 if self.count is None else record[self.header.index(self.count)]
        return [(record[self.header.index(self.key)], count)]


@dataclass(frozen=True)
class JsonLines(Splitter):
    """JSON objects, one a line.

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

    def keys(self, line: str) -> Iterable[tuple[str | None, object]]:
        try:
            record = json.loads(line)
        except ValueError as error:
            message = f"not JSON: {error}"
            raise Rejected(message) from error
        key = _field(record, self.key)
        if isinstance(key, dict | list):
            message = f"field {self.key!r} is not a single value"
            raise Rejected(message)
        text = key if isinstance(key, str) or key is None else json.dumps(key)
        return [(text, 1 if self.count is None else _field(record, self.count))]


def _field(record: Any, path: str) -> Any:
    names: Sequence[str] = (path,) if isinstance(record, dict) and path in record else ()
    for name in names or path.split("."):
        if not isinstance(record, dict) or name not in record:
            message = f"there is no field {path!r}"
            raise Rejected(message)
        record = record[name]
    return record


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: {error.reason} at byte {error.start}"
        raise Rejected(message) from error


def _key(key: str | None) -> str:
    if key is None:
        message = "the key is null"
        raise Rejected(message)
    if not key:
        message = "the key is empty"
        raise Rejected(message)
    return key


def _count(count: object) -> int:
    whole = None
    if isinstance(count, str):
        whole = int(count) if re.fullmatch(r"\s*\+?\d{1,18}\s*", count) else None
    elif isinstance(count, int) and not isinstance(count, bool):
        whole = count
    if whole is None or whole < 1 or whole >= 1 << 63:
        message = f"the count {count!r} is not a whole number of at least 1"
        raise Rejected(message)
    return whole
