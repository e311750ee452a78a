"""Keys as texts, and back: so that a key passes through a user's function unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    IntegralType,
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
_SAME_IN_PANDAS = (IntegralType, StringType)


class KeyTexts:
    """Columns of text that spell a key, one for each value in it.

    Fractions, times and structs change on their way through pandas: a NaN becomes null, a time
    loses its zone. Texts do not. Whole numbers and strings do not either: workers spell them, so
    that rows need no column more.

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
        self._spelled_by_workers: dict[str, int] = {}
        self.keys: dict[str, Column] = {}
        """Columns of the key made of the texts, by names of ours."""
        for number, (column, kind) in enumerate(zip(keys.columns, keys.types, strict=True)):
            if isinstance(kind, _SAME_IN_PANDAS):
                name = self._name()
                self._spelled_by_workers[name] = number
                self.keys[f"{OWN}merged_{number}"] = quoted(name).cast(kind)
                continue
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
        """Names of the columns of text that results have."""
        return (*self._texts, *self._spelled_by_workers)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of those that rows have too."""
        return tuple(self._texts)

    @property
    def positions(self) -> dict[str, int]:
        """Those that workers spell: where in the key the value is."""
        return self._spelled_by_workers

    def added_to(self, df: DataFrame) -> DataFrame:
        """Add the texts that rows have to a frame that has the key."""
        return df.withColumns(self._texts) if self._texts else df

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
        name = self._name()
        self._texts[name] = spelled
        return quoted(name)

    def _name(self) -> str:
        return f"{OWN}text_{len(self.names)}"
