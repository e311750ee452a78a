"""Convert keys to texts and back, so that a key passes through a user's function unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import OWN, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from evenkey.spark.groups.group_keys import Keys

_PLAIN = (BooleanType, NumericType, StringType, TimestampNTZType)
_PLAIN_BY_NAME = frozenset(
    {"CalendarIntervalType", "DayTimeIntervalType", "TimeType", "YearMonthIntervalType"}
)
"""Names of further types that a cast to text and back does not change. They are given by name,
because some versions of Spark do not have them."""
_NESTED = (ArrayType, MapType, StructType)
_SAME_IN_PYTHON = (IntegralType, StringType)
_STRICT = {"mode": "FAILFAST"}


class KeyTexts:
    """A column of text for each key column, from which the value of the key can be read back.

    Fractions, times and nested values change on their way through pandas: a NaN becomes null, a
    time loses its zone. Texts do not change. Whole numbers and strings do not change either. So
    rows need no additional column for whole numbers and strings: the workers convert them to text.

    Parameters
    ----------
    keys
        Key columns.

    Raises
    ------
    ConfigurationError
        A key column is of a type that cannot be converted to text and back.
    """

    def __init__(self, keys: Keys) -> None:
        self._texts: dict[str, Column] = {}
        self._spelled_by_workers: dict[str, int] = {}
        self.keys: dict[str, Column] = {}
        """Key columns, read back from the texts, by the names that evenkey gives them."""
        for number, (column, kind) in enumerate(zip(keys.columns, keys.types, strict=True)):
            name = f"{OWN}text_{number}"
            if isinstance(kind, _SAME_IN_PYTHON):
                self._spelled_by_workers[name] = number
                read = quoted(name).cast(kind)
            else:
                try:
                    self._texts[name] = _spelled(column, kind)
                    read = _read(quoted(name), kind)
                except TypeError:
                    message = (
                        f"key {keys.shown[number]} is of type {kind.simpleString()}, which merge= "
                        "does not support; convert it to a string first, for example with to_json"
                    )
                    raise ConfigurationError(message) from None
            self.keys[f"{OWN}merged_{number}"] = read

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns of text; results on parts have all these columns."""
        return (*self._texts, *self._spelled_by_workers)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of text that are added to rows; workers make the other columns."""
        return tuple(self._texts)

    @property
    def positions(self) -> dict[str, int]:
        """Columns of text that workers make, each with the position of its value in the key."""
        return self._spelled_by_workers

    def added_to(self, df: DataFrame) -> DataFrame:
        """Add the columns of text in `columns` to a DataFrame that has the key columns."""
        return df.withColumns(self._texts) if self._texts else df


def _spelled(column: Column, kind: DataType) -> Column:
    """Convert a value to text; null stays null, and null in a nested value is left out."""
    if isinstance(kind, _NESTED):
        return F.to_json(F.struct(_form(column, kind).alias("value")))
    return _form(column, kind)


def _read(text: Column, kind: DataType) -> Column:
    """Read a value back from its text."""
    if isinstance(kind, _NESTED):
        schema = f"value {_form_type(kind)}"
        return _value(F.from_json(text, schema, _STRICT).getField("value"), kind)
    return _value(text, kind)


def _form(column: Column, kind: DataType) -> Column:
    """Replace the scalars in a value by texts, which a conversion to JSON does not change."""
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda each: _form(each, kind.elementType))
    if isinstance(kind, MapType):
        return F.transform(
            F.map_entries(column),
            lambda entry: F.struct(
                _form(entry.getField("key"), kind.keyType).alias("key"),
                _form(entry.getField("value"), kind.valueType).alias("value"),
            ),
        )
    if isinstance(kind, StructType):
        # Number the fields, because names may differ only in case. The field `there` keeps a struct
        # that has no other fields.
        fields = [
            _form(column.getField(field.name), field.dataType).alias(f"f{number}")
            for number, field in enumerate(kind)
        ]
        return F.when(column.isNotNull(), F.struct(F.lit("").alias("there"), *fields))
    return _scalar_form(column, kind)


def _scalar_form(column: Column, kind: DataType) -> Column:
    if isinstance(kind, BinaryType):
        return F.hex(column)
    if isinstance(kind, DateType):
        return F.unix_date(column).cast("string")
    if isinstance(kind, TimestampType):
        return F.unix_micros(column).cast("string")
    if isinstance(kind, NullType):
        return F.lit(None).cast("string")
    if isinstance(kind, _PLAIN) or type(kind).__name__ in _PLAIN_BY_NAME:
        return column.cast("string")
    raise TypeError


def _form_type(kind: DataType) -> str:
    """Return the type of the result of `_form`, as Spark writes it."""
    if isinstance(kind, ArrayType):
        return f"array<{_form_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        key, value = _form_type(kind.keyType), _form_type(kind.valueType)
        return f"array<struct<key: {key}, value: {value}>>"
    if isinstance(kind, StructType):
        fields = [f"f{number}: {_form_type(field.dataType)}" for number, field in enumerate(kind)]
        return f"struct<{', '.join(['there: string', *fields])}>"
    return "string"


def _value(form: Column, kind: DataType) -> Column:
    """Convert the result of `_form` back to the value."""
    if isinstance(kind, ArrayType):
        return F.transform(form, lambda each: _value(each, kind.elementType))
    if isinstance(kind, MapType):
        entries = F.transform(
            form,
            lambda entry: F.struct(
                _value(entry.getField("key"), kind.keyType).alias("key"),
                _value(entry.getField("value"), kind.valueType).alias("value"),
            ),
        )
        return F.map_from_entries(entries)
    if isinstance(kind, StructType):
        fields = [
            _value(form.getField(f"f{number}"), field.dataType).alias(field.name)
            for number, field in enumerate(kind)
        ]
        return F.when(form.isNotNull(), F.struct(*fields))
    return _scalar(form, kind)


def _scalar(form: Column, kind: DataType) -> Column:
    if isinstance(kind, BinaryType):
        return F.unhex(form)
    if isinstance(kind, DateType):
        return F.date_from_unix_date(form.cast("int"))
    if isinstance(kind, TimestampType):
        return F.timestamp_micros(form.cast("bigint"))
    if isinstance(kind, NullType):
        return F.lit(None)
    return form.cast(kind)
