"""Keys as texts, and back: so that a key passes through a user's function unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from evenkey.errors import ConfigurationError
from evenkey.spark.columns import OWN, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from evenkey.spark.grouped.keys import Keys

_PLAIN = (BooleanType, NumericType, StringType, TimestampNTZType)


class KeyTexts:
    """Columns of text that spell a key, one for each value in it.

    Numbers, times and structs change on their way through pandas: a NaN becomes null, a time loses
    its zone. Texts do not.

    Parameters
    ----------
    keys
        The key.

    Raises
    ------
    ConfigurationError
        A column of it is of a type that has no text to be read back from.
    """

    def __init__(self, keys: Keys) -> None:
        self._texts: dict[str, Column] = {}
        self.keys: dict[str, Column] = {}
        """Columns of the key made of the texts, by names of ours."""
        for number, (column, kind) in enumerate(zip(keys.columns, keys.types, strict=True)):
            try:
                read = self._added(column, kind)
            except TypeError:
                message = (
                    f"key {keys.shown[number]} is of type {kind.simpleString()}, which merge= "
                    "cannot carry; make text of it first, by to_json for instance"
                )
                raise ConfigurationError(message) from None
            self.keys[f"{OWN}merged_{number}"] = read

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of text."""
        return tuple(self._texts)

    def added_to(self, df: DataFrame) -> DataFrame:
        """Add the texts to a frame that has the key."""
        return df.withColumns(self._texts)

    def _added(self, column: Column, kind: DataType) -> Column:
        """Spell a column, and give what reads it back."""
        if isinstance(kind, StructType):
            fields = [
                self._added(column.getField(field.name), field.dataType).alias(field.name)
                for field in kind
            ]
            there = self._text(F.when(column.isNotNull(), F.lit("there")))
            return F.when(there.isNotNull(), F.struct(*fields)).cast(kind)
        if isinstance(kind, BinaryType):
            return F.unhex(self._text(F.hex(column)))
        if isinstance(kind, DateType):
            days = self._text(F.unix_date(column).cast("string"))
            return F.date_from_unix_date(days.cast("int"))
        if isinstance(kind, TimestampType):
            micros = self._text(F.unix_micros(column).cast("string"))
            return F.timestamp_micros(micros.cast("bigint"))
        if not isinstance(kind, _PLAIN):
            raise TypeError
        return self._text(column.cast("string")).cast(kind)

    def _text(self, spelled: Column) -> Column:
        name = f"{OWN}text_{len(self._texts)}"
        self._texts[name] = spelled
        return quoted(name)
