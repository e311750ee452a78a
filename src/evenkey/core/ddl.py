"""Read column names and types from the text of a Spark schema, without Spark."""

from __future__ import annotations

import re

import pyarrow as pa

from evenkey.core.checking import check_text
from evenkey.core.errors import ConfigurationError

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([<>(),:])|([^\s`<>(),:]+))")
_BARE = re.compile(r"\s*()()([^\s,`]+)")
"""A column name without quotes, which may contain brackets and colons."""
_COLUMNS = "amount decimal(12,2), clicks bigint, `unit price` double"
_MOST_DIGITS = 38
_USUAL_DIGITS = 10
"""Number of digits of a ``decimal`` that does not state its digits, as in Spark."""
_DECIMALS = ("decimal", "dec", "numeric")
_NAMES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_THERE_ARE = (
    "boolean, tinyint, smallint, int, bigint, float, double, decimal(DIGITS,PLACES) of up to "
    f"{_MOST_DIGITS} digits, string, binary, date, timestamp, timestamp_ntz, array<TYPE>, "
    "map<TYPE,TYPE>, struct<NAME:TYPE>"
)


def read_columns(what: str, text: str) -> pa.Schema:
    """Read the names of columns and their types.

    Parameters
    ----------
    what
        Name of the argument that holds the text, for messages.
    text
        The schema, such as ``amount decimal(12,2), `unit price` double, tags array<string>``. Types
        have their Spark SQL names. A ``timestamp`` has the time zone UTC; a ``timestamp_ntz`` has
        no time zone. Both types have a resolution of microseconds.

    Raises
    ------
    ConfigurationError
        The text cannot be read, names a column twice, or names an unknown type.

    Examples
    --------
    >>> read_columns("result", "sessions long, revenue decimal(22,2), pages array<string>")
    sessions: int64
    revenue: decimal128(22, 2)
    pages: list<item: string>
      child 0, item: string
    """
    check_text(what, text, "amount decimal(12,2)")
    reader = _Reader(what, text)
    fields = reader.fields(colon=False)
    if not reader.at_end:
        raise reader.unreadable()
    return pa.schema(fields)


def read_type(what: str, text: object) -> pa.DataType:
    """Read one type.

    Parameters
    ----------
    what
        Name of the argument that holds the text, for messages.
    text
        The type, written as in `read_columns`, such as ``bigint`` or ``struct<rows: bigint, last:
        timestamp>``.

    Raises
    ------
    ConfigurationError
        The text cannot be read, or names an unknown type.

    Examples
    --------
    >>> read_type("state_type", "map<string,array<long>>")
    MapType(map<string, list<item: int64>>)
    """
    check_text(what, text, "bigint")
    reader = _Reader(what, str(text), "struct<rows: bigint, last: timestamp>")
    found = reader.type()
    if not reader.at_end:
        raise reader.unreadable()
    return found


class _Reader:
    """Reads a text token by token."""

    def __init__(self, what: str, text: str, example: str = _COLUMNS) -> None:
        self._what = what
        self._text = text
        self._example = example
        self._place = 0

    @property
    def at_end(self) -> bool:
        return not self._text[self._place :].strip()

    def unreadable(self) -> ConfigurationError:
        rest = self._text[self._place :].strip()
        return ConfigurationError(
            f"{self._what} = {self._text!r}: cannot be read from {rest!r} on; write it as Spark "
            f"does: {self._example}"
        )

    def fields(self, *, colon: bool) -> list[pa.Field]:
        """Read columns, or the fields of a struct. With `colon`, a type may follow a colon."""
        found: dict[str, pa.Field] = {}
        while not found or self._taken(","):
            name = self._name(_TOKEN if colon else _BARE)
            if colon:
                self._taken(":")
            if name in found:
                message = f"{self._what} = {self._text!r}: {name!r} is named twice; name it once"
                raise ConfigurationError(message)
            found[name] = pa.field(name, self.type())
        return list(found.values())

    def type(self) -> pa.DataType:
        """Read a type."""
        begin = self._place
        match = self._next()
        name = match[3].lower() if match and match[3] else ""
        if name == "array":
            return pa.list_(self._inside(1)[0])
        if name == "map":
            return pa.map_(*self._inside(2))
        if name == "struct":
            self._take("<")
            fields = self.fields(colon=True)
            self._take(">")
            return pa.struct(fields)
        found = self._decimal() if name in _DECIMALS else _NAMES.get(name)
        if found is None:
            spelled = self._text[begin : self._place].strip()
            if not name:
                self._place = begin
                raise self.unreadable()
            message = (
                f"{self._what} = {self._text!r}: there is no type {spelled!r}; there are: "
                f"{_THERE_ARE}"
            )
            raise ConfigurationError(message)
        return found

    def _inside(self, count: int) -> list[pa.DataType]:
        """Read `count` types between angle brackets."""
        self._take("<")
        found = [self.type()]
        while len(found) < count:
            self._take(",")
            found.append(self.type())
        self._take(">")
        return found

    def _decimal(self) -> pa.DataType | None:
        """Read the precision and scale of a decimal type; None if they are invalid."""
        numbers = [_USUAL_DIGITS, 0]
        if self._taken("("):
            numbers = [self._number(), 0]
            if self._taken(","):
                numbers[1] = self._number()
            self._take(")")
        digits, places = numbers
        if not 1 <= digits <= _MOST_DIGITS or places > digits:
            return None
        return pa.decimal128(digits, places)

    def _number(self) -> int:
        begin, match = self._place, self._next()
        if not match or not match[3] or not match[3].isdecimal():
            self._place = begin
            raise self.unreadable()
        return int(match[3])

    def _name(self, bare: re.Pattern[str]) -> str:
        begin, match = self._place, self._next(bare) or self._next()
        if match and match[1]:
            return match[1].replace("``", "`")
        if match and match[3]:
            return match[3]
        self._place = begin
        raise self.unreadable()

    def _next(self, pattern: re.Pattern[str] = _TOKEN) -> re.Match[str] | None:
        match = pattern.match(self._text, self._place)
        if match:
            self._place = match.end()
        return match

    def _taken(self, sign: str) -> bool:
        """Skip a sign if it is the next token; return whether it was."""
        match = _TOKEN.match(self._text, self._place)
        if match is None or match[2] != sign:
            return False
        self._place = match.end()
        return True

    def _take(self, sign: str) -> None:
        if not self._taken(sign):
            raise self.unreadable()
