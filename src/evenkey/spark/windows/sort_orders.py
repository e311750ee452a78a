"""The order of a window, and one column of it that sorts ascending whatever the directions are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from evenkey.spark.keys.given_columns import has_collation, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_DIGITS = "0123456789ABCDEF"
_AFTER_DIGITS = "~"
"""A character behind all digits in the order of characters."""


@dataclass(frozen=True)
class SortOrder:
    """One column of an order.

    Parameters
    ----------
    name
        Name of the column.
    kind
        Its type.
    ascending, nulls_first
        Its direction.
    text
        The column as the user wrote it; empty: its name.
    """

    name: str
    kind: DataType
    ascending: bool
    nulls_first: bool
    text: str = ""

    @property
    def shown(self) -> str:
        """The order as text, as in SQL."""
        direction = "" if self.ascending else " desc"
        usual = self.nulls_first == self.ascending
        nulls = "" if usual else f" nulls {'first' if self.nulls_first else 'last'}"
        return f"{self.text or self.name}{direction}{nulls}"

    @property
    def value(self) -> Column:
        """The column."""
        return quoted(self.name)

    def sorts(self, *, backward: bool = False) -> Column:
        """Return the order as ``Window.orderBy`` takes it, or the opposite order."""
        ascending, first = self.ascending ^ backward, self.nulls_first ^ backward
        column = self.value
        if ascending:
            return column.asc_nulls_first() if first else column.asc_nulls_last()
        return column.desc_nulls_first() if first else column.desc_nulls_last()

    def fields(self) -> list[Column]:
        """Return columns that, compared in turn in ascending order, have this order."""
        value = self.value
        nulls = value.isNotNull() if self.nulls_first else value.isNull()
        return [nulls, *([value] if self.ascending else _turned(value, self.kind))]


def uncuttable(order: SortOrder) -> str | None:
    """Return why keys cannot be cut at values of a column; None: they can."""
    kind = order.kind
    if not any(isinstance(kind, each) for each in _TURNED) or has_collation(kind):
        shown = order.text or order.name
        return f"keys cannot be cut at {shown}, which is of type {kind.simpleString()}"
    return None


def fields_of(orders: Sequence[SortOrder]) -> list[Column]:
    """Return the fields of an order value: compared in turn, ascending, they have this order.

    The first one is never null.
    """
    return [field for order in orders for field in order.fields()]


def as_one(orders: Sequence[SortOrder]) -> Column:
    """Return an order value as a struct of its fields; ascending structs have this order."""
    return F.struct(*(field.alias(f"f{n}") for n, field in enumerate(fields_of(orders))))


def is_less(left: Sequence[Column], right: Sequence[Column]) -> Column:
    """Compare the fields of two order values, as Spark compares structs: nulls are the least.

    Spark compares plain columns faster than structs, which it makes for each row first.
    """
    result: Column = F.lit(False)  # noqa: FBT003
    for one, other in reversed([*zip(left, right, strict=True)]):
        less = F.coalesce(one < other, one.isNull() & other.isNotNull())
        result = less | (one.eqNullSafe(other) & result)
    return result


def _turned(value: Column, kind: DataType) -> list[Column]:
    return next(turn for type_, turn in _TURNED.items() if isinstance(kind, type_))(value)


def _turned_float(value: Column) -> list[Column]:
    # For Spark, NaN is above all other numbers, and so is -NaN.
    return [~F.isnan(value), F.when(~F.isnan(value), -value)]


def _turned_text(value: Column) -> list[Column]:
    """Replace each digit of the bytes by its complement.

    A text sorts before its beginnings, so a mark that is above all digits ends each text.
    """
    digits = F.translate(F.hex(value), _DIGITS, _DIGITS[::-1])
    return [F.concat(digits, F.lit(_AFTER_DIGITS))]


def _turned_local_time(value: Column) -> list[Column]:
    # A conversion to a number would go through the time zone of the session, which has gaps.
    minutes = F.hour(value) * 60 + F.minute(value)
    seconds = F.date_part(F.lit("SECOND"), value)
    return [-F.unix_date(value.cast("date")), -minutes, -seconds]


_TURNED: dict[type[DataType], Callable[[Column], list[Column]]] = {
    IntegralType: lambda value: [F.bitwise_not(value)],
    FloatType: _turned_float,
    DoubleType: _turned_float,
    DecimalType: lambda value: [-value],
    BooleanType: lambda value: [~value],
    DateType: lambda value: [-F.unix_date(value)],
    TimestampType: lambda value: [-F.unix_micros(value)],
    TimestampNTZType: _turned_local_time,
    StringType: _turned_text,
    BinaryType: _turned_text,
}
"""Types at whose values keys can be cut, and columns with the opposite order."""
