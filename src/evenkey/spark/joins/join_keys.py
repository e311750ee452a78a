"""Find the key columns of a join on both sides, and the type in which Spark compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StructType,
)

from evenkey.spark.keys.char_lengths import char_lengths
from evenkey.spark.keys.given_columns import (
    OWN,
    find_columns,
    has_collation,
    parts_of_type,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame


class Keyed(NamedTuple):
    """Both sides of a join, which have the key columns.

    Parameters
    ----------
    left, right
        The sides.
    names
        Names of the key columns, the same on both sides.
    shown
        The keys in messages: their names, or the equalities of the join.
    """

    left: DataFrame
    right: DataFrame
    names: tuple[str, ...]
    shown: tuple[str, ...]

    @property
    def own(self) -> list[str]:
        """Key columns that evenkey added to the sides, which the result does not have."""
        return [name for name in self.names if name.startswith(OWN)]


@dataclass(frozen=True)
class JoinKeys:
    """Key columns of a join, cast to types in which equal keys of both sides have equal hashes.

    Parameters
    ----------
    names
        Names of the key columns, which both sides have.
    left, right
        Key columns of each side, in the types in which Spark compares them.
    """

    names: tuple[str, ...]
    left: tuple[Column, ...]
    right: tuple[Column, ...]


def join_keys(
    left: DataFrame, right: DataFrame, names: Sequence[str], shown: Sequence[str]
) -> JoinKeys | str:
    """Return the key columns, or a text that says why rows cannot be placed by them.

    The arguments are those of `Keyed`.

    Raises
    ------
    ConfigurationError
        `find_columns` raises this error for one of the sides.
    """
    found = [find_columns(side, names, "on") for side in (left, right)]
    sides: tuple[list[Column], list[Column]] = ([], [])
    for number, pair in enumerate(zip(*found, strict=True)):
        fields = [side.schema[name] for side, name in zip((left, right), pair, strict=True)]
        if all(map(char_lengths, fields)):
            return f"key {shown[number]} is CHAR on both sides, which Spark pads before it compares"
        types = [field.dataType for field in fields]
        common = types[0]
        if types[0] != types[1]:
            whole = all(isinstance(each, IntegralType | DecimalType) for each in types)
            if not whole and not _same_values(*types):
                kinds = " and ".join(each.simpleString() for each in types)
                return f"key {shown[number]} is of types {kinds}; cast one side to the other type"
            # A full join has one column for the keys of both sides, of the type in which Spark
            # compares the keys. Spark also casts a key in which nothing can be null.
            common = left.join(right, [*names], "full").schema[number].dataType
        reason = _unplaceable(common)
        if reason is not None:
            return f"key {shown[number]} {reason}"
        for columns, name, kind in zip(sides, pair, types, strict=True):
            columns.append(quoted(name) if kind == common else quoted(name).cast(common))
    return JoinKeys(tuple(names), *map(tuple, sides))


def numbers_in_one_type(
    left: DataFrame, right: DataFrame, values: tuple[Column, Column]
) -> tuple[Column, Column]:
    """Cast values of both sides to the type in which Spark compares them, if they are numbers.

    Other values, and numbers of the same type, are returned unchanged.
    """
    first, second = (
        side.select(value.alias("value")) for side, value in zip((left, right), values, strict=True)
    )
    types = [side.schema[0].dataType for side in (first, second)]
    if types[0] == types[1] or not all(isinstance(each, NumericType) for each in types):
        return values
    common = first.join(second, ["value"], "full").schema[0].dataType
    return values[0].cast(common), values[1].cast(common)


def _same_values(left: DataType, right: DataType) -> bool:
    """Return whether types are the same, apart from where they allow nulls."""
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return _same_values(left.elementType, right.elementType)
    if isinstance(left, StructType) and isinstance(right, StructType):
        return left.names == right.names and all(
            _same_values(first.dataType, second.dataType)
            for first, second in zip(left.fields, right.fields, strict=True)
        )
    return left == right


def _unplaceable(kind: DataType) -> str | None:
    """Return why Spark does not shuffle a join by unchanged values of a type; None: it does."""
    for part in parts_of_type(kind):
        if isinstance(part, FloatType | DoubleType):
            return "has floating-point numbers, which Spark normalizes before it compares them"
        if has_collation(part):
            return "has a collation, by which texts with different bytes can be equal"
    return None


def without_null(columns: Sequence[Column]) -> Column:
    """Return whether a row can have a match, that is, no column of its key is null."""
    conditions = [column.isNotNull() for column in columns]
    every = conditions[0]
    for condition in conditions[1:]:
        every = every & condition
    return every
