"""The times of both sides, as the user gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column
from pyspark.sql.types import DateType, NumericType, TimestampNTZType, TimestampType

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.asof.matched_keys import check_same
from evenkey.spark.windows.column_parts import unquoted_text
from evenkey.spark.windows.given_windows import column_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_NAMES = ("left_time", "right_time")
_TYPES = (DateType, NumericType, TimestampNTZType, TimestampType)


class GivenTimes(NamedTuple):
    """The times of the left and of the right side.

    Parameters
    ----------
    left, right
        The times.
    """

    left: Column
    right: Column

    @classmethod
    def of(cls, sides: Sequence[DataFrame], given: Sequence[object]) -> GivenTimes:
        """Return the arguments `left_time` and `right_time` as columns.

        Raises
        ------
        ConfigurationError
            There is no such column.
        """
        for name, time in zip(_NAMES, given, strict=True):
            if not isinstance(time, str | Column):
                message = (
                    f"{name} = {shown(time)}: must be a column's name or a Column; pass "
                    f"{name}='time', for instance"
                )
                raise ConfigurationError(message)
        return cls(*map(column_of, sides, given, _NAMES))  # type: ignore[arg-type]

    @property
    def shown(self) -> list[str]:
        """Both times as text."""
        return [unquoted_text(each) for each in self]

    def check(self, kinds: Sequence[DataType]) -> None:
        """Check the types of both times.

        Raises
        ------
        ConfigurationError
            A time is not a number, a date or a timestamp, or the types differ.
        """
        for name, text, kind in zip(_NAMES, self.shown, kinds, strict=True):
            if not isinstance(kind, _TYPES):
                message = (
                    f"{name} = {text}: it is of type {kind.simpleString()}; a time must be a "
                    "number, a date or a timestamp: cast it first"
                )
                raise ConfigurationError(message)
        check_same(", ".join(_NAMES), ", ".join(self.shown), *kinds)
