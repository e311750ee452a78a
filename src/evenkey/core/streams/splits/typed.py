"""Read values of a type from the texts in CSV and JSON."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.ddl import read_columns
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE = r"^[+-]?([0-9]{1,18}|[0-8][0-9]{18})$"  # these always fit into 64 bits
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$"
_FLOATING = r"(?i)^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?|nan|[+-]?inf(inity)?)$"
_DIGITS = r"^[+-]?[0-9]+$"
_SHOWN = 80
_MOST_DIGITS = 38
_LARGEST = (1 << 63) - 1

_NAMES: dict[pa.DataType, str] = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.string(): "string",
}


def read_types(text: str) -> dict[str, pa.DataType]:
    """Read the names and types of columns from a schema in Spark's notation.

    Raises
    ------
    ConfigurationError
        The text cannot be read, names a column twice, or names a type that cannot be read from
        text.

    Examples
    --------
    >>> read_types("amount decimal(12,2), `unit price` double")
    {'amount': Decimal128Type(decimal128(12, 2)), 'unit price': DataType(double)}
    """
    found = {field.name: field.type for field in read_columns("types", text)}
    for name, kind in found.items():
        if kind not in _NAMES and not pa.types.is_decimal(kind):
            message = (
                f"types = {text!r}: the type of {name!r} cannot be read from text; use bigint, "
                "int, double, float, decimal(DIGITS,PLACES) or string"
            )
            raise ConfigurationError(message)
    return found


def spell_type(kind: pa.DataType) -> str:
    """Return Spark's name of a type; the type is one that `read_types` can read."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES[kind]


def quoted(value: object) -> str:
    """Format a value for the reason of a dead letter; a long value is shortened."""
    return repr(value if isinstance(value, str) else str(value))[:_SHOWN]


def read_values(
    texts: pa.StringArray, kind: pa.DataType, column: str
) -> tuple[pa.Array, pa.StringArray]:
    """Parse texts as values of a type; a null stays null.

    Nothing is rounded: a number with more decimal places than its type allows is invalid, and so is
    a number with a decimal point if the type holds whole numbers.

    Returns
    -------
    tuple
        Two arrays as long as `texts`: the values, null where a text is invalid; and the reasons
        why texts are invalid, null where they are valid.

    Examples
    --------
    >>> values, faults = read_values(pa.array(["7", "n/a", None]), pa.int64(), "clicks")
    >>> values.to_pylist(), faults.to_pylist()
    ([7, None, None], [None, "'n/a' in column clicks is no bigint", None])
    """
    if pa.types.is_string(kind):
        return texts, pa.nulls(len(texts), pa.string())
    bare = pc.utf8_trim_whitespace(texts)
    values = _cast(bare, kind)
    bad = np.asarray(pc.and_(pc.is_null(values), pc.is_valid(texts)))
    if not bad.any():
        return values, pa.nulls(len(texts), pa.string())
    faults = np.full(len(texts), None, dtype=object)
    for place in np.flatnonzero(bad):
        shown = quoted(texts[int(place)].as_py())
        faults[place] = f"{shown} in column {column} is no {spell_type(kind)}"
    return values, pa.array(faults, pa.string())


def _cast(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    """Cast trimmed texts to a type; null if a text is not a value of the type."""
    pattern = _FLOATING if pa.types.is_floating(kind) else NUMBER
    if pa.types.is_integer(kind):
        pattern = _DIGITS
    like = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
    numbers = pc.if_else(like, texts, pa.scalar(None, pa.string()))
    try:
        return pc.utf8_ltrim(numbers, "+").cast(kind)
    except pa.ArrowInvalid:  # a number does not fit into the type
        return pa.array([_fitting(each, kind) for each in numbers.to_pylist()], kind)


def _fitting(text: str | None, kind: pa.DataType) -> object:
    """Read one number; None if it does not fit into the type."""
    if text is None:
        return None
    if pa.types.is_integer(kind):
        if len(text.lstrip("+-0")) > _MOST_DIGITS:
            return None
        whole, beyond = int(text), 1 << (kind.bit_width - 1)
        return whole if -beyond <= whole < beyond else None
    if pa.types.is_floating(kind):
        return float(text)
    try:
        return pa.scalar(Decimal(text), kind).as_py()
    except (pa.ArrowInvalid, InvalidOperation):
        return None


class Guess:
    """Finds the type of a column of texts from all of its values.

    The type is ``string`` if more than half of the values are not numbers. Otherwise it is
    ``bigint`` if all numbers are whole and fit into ``bigint``, a decimal of 38 digits if all
    numbers are whole and have at most 38 digits, and ``double`` in all other cases. In a column of
    numbers, a value that is not a number becomes a dead letter.

    Examples
    --------
    >>> guess = Guess()
    >>> guess.add(pa.array(["1", "2.5", "n/a", None]))
    >>> guess.type
    DataType(double)
    """

    def __init__(self) -> None:
        self._values = self._numbers = self._whole = self._longest = 0

    def add(self, texts: pa.StringArray) -> None:
        """Add some of the values of the column."""
        bare = pc.utf8_trim_whitespace(texts)
        self._values += len(texts) - texts.null_count
        self._numbers += _matching(bare, _FLOATING)
        self._whole += _matching(bare, _DIGITS)
        if _matching(bare, WHOLE) < _matching(bare, _DIGITS):
            whole = bare.filter(
                pc.fill_null(pc.match_substring_regex(bare, _DIGITS), fill_value=False)
            )
            self._longest = max(self._longest, *_lengths(whole.to_pylist()))

    @property
    def type(self) -> pa.DataType:
        """Type of the values so far."""
        if 2 * self._numbers < self._values:
            return pa.string()
        if self._whole < self._numbers or self._longest > _MOST_DIGITS:
            return pa.float64()
        return pa.decimal128(_MOST_DIGITS) if self._longest else pa.int64()


def _matching(texts: pa.StringArray, pattern: str) -> int:
    return pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0


def _lengths(whole: Iterable[str]) -> Iterable[int]:
    """Yield the number of digits of each whole number; 0 for a number that fits into 64 bits."""
    for text in whole:
        digits = text.lstrip("+-0")[: _MOST_DIGITS + 1]
        yield len(digits) if int(digits or 0) > _LARGEST else 0
