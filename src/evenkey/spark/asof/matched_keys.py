"""The keys of an as-of join: columns of both sides, by name or by equalities."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql.types import MapType, NumericType, VariantType

from evenkey.core.errors import ConfigurationError
from evenkey.spark.joins.conditions import OnConditions
from evenkey.spark.joins.join_on import conditions_of
from evenkey.spark.keys.char_lengths import char_lengths, differ_in_char
from evenkey.spark.keys.given_columns import column_names, find_columns, parts_of_type, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField


class MatchedKeys(NamedTuple):
    """The sides of an as-of join with their keys.

    Parameters
    ----------
    left, right
        The sides; if the keys are equalities, with a column for each.
    keys
        The key columns of the left and of the right side.
    shown
        Names of the keys in messages.
    first
        Positions of the left columns that are the first of the result, because both sides have
        these keys by name.
    hidden
        Positions of the right columns that are not in the result, for the same reason.
    """

    left: DataFrame
    right: DataFrame
    keys: tuple[Sequence[Column], Sequence[Column]]
    shown: tuple[str, ...]
    first: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()

    @classmethod
    def of(cls, left: DataFrame, right: DataFrame, on: object, how: str) -> MatchedKeys:
        """Find the keys.

        Raises
        ------
        ConfigurationError
            A column is missing, a condition is not an equality, or the types of a key differ.
        """
        conditions = conditions_of(on)
        if conditions is not None:
            compared = OnConditions(conditions)
            compared.joined_by_spark(left, right, how)
            left, right, names, shown = compared.keyed(left, right)
            columns = [quoted(name) for name in names]
            found = cls(left, right, (columns, columns), shown)
        elif isinstance(on, list | tuple) and not on:
            one = [F.lit(0)]
            found = cls(left, right, (one, one), ("all rows",))
        else:
            given = column_names(on, "on")
            sides = [(side, find_columns(side, given, "on")) for side in (left, right)]
            keys = tuple([quoted(name) for name in names] for _, names in sides)
            places = [tuple(map(side.columns.index, names)) for side, names in sides]
            found = cls(left, right, (keys[0], keys[1]), given, *places)
        for key, *pair in zip(found.shown, *map(_fields, found[:2], found.keys), strict=True):
            check_same("on", key, *(field.dataType for field in pair))
            _check_comparable(key, pair[0].dataType)
            if differ_in_char(*pair):
                lengths = " and ".join(str(char_lengths(field)[0]) for field in pair)
                message = (
                    f"on = {key}: the sides are padded to {lengths} characters (type CHAR); apply "
                    "rtrim to the key of both sides"
                )
                raise ConfigurationError(message)
        return found


def check_same(what: str, name: str, left: DataType, right: DataType) -> None:
    """Check that values of both sides are compared as they are, or as numbers.

    Raises
    ------
    ConfigurationError
        The types differ, and are not both types of numbers.
    """
    kinds = [each.simpleString() for each in (left, right)]
    if kinds[0] == kinds[1] or all(isinstance(each, NumericType) for each in (left, right)):
        return
    message = (
        f"{what} = {name}: the sides have types {kinds[0]} and {kinds[1]}; cast one side to the "
        "other type"
    )
    raise ConfigurationError(message)


def _fields(side: DataFrame, keys: Sequence[Column]) -> list[StructField]:
    return side.select(*keys).schema.fields


def _check_comparable(name: str, kind: DataType) -> None:
    if any(isinstance(part, MapType | VariantType) for part in parts_of_type(kind)):
        message = (
            f"on = {name}: it is of type {kind.simpleString()}, whose values Spark does not "
            "compare; convert it to a string first, for example with to_json"
        )
        raise ConfigurationError(message)
