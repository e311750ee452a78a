"""What a join compares: columns of the same names on both sides, or the values of conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import Column

from evenkey.core.errors import ConfigurationError
from evenkey.spark.joins.conditions import OnConditions
from evenkey.spark.joins.join_keys import Keyed
from evenkey.spark.keys.given_columns import check_own_names, column_names, find_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class JoinOn(Protocol):
    """What a join compares: `OnNames` or `OnConditions`."""

    def joined_by_spark(self, left: DataFrame, right: DataFrame, how: str) -> DataFrame:
        """Join with Spark's own join.

        Raises
        ------
        ConfigurationError
            A condition uses a column that does not exist, or that both sides have.
        """

    def keyed(self, left: DataFrame, right: DataFrame) -> Keyed:
        """Return the sides with the key columns.

        Raises
        ------
        ConfigurationError
            A condition is not an equality of a value of each side.
        """


def join_on(on: object, left: DataFrame, right: DataFrame) -> JoinOn:
    """Return what a join of two sides compares, from the argument `on` of `join`.

    Raises
    ------
    ConfigurationError
        `on` is neither names nor conditions, or mixes them. Or a side lacks a column, has several
        of its name, or has a column whose name evenkey uses.
    """
    conditions = conditions_of(on)
    for side in (left, right):
        check_own_names(side)
    if conditions is not None:
        return OnConditions(conditions)
    names = column_names(on, "on")
    for side in (left, right):
        find_columns(side, names, "on")
    return OnNames(names)


def conditions_of(on: object) -> list[Column] | None:
    """Return the conditions of a join as a list; None: `on` has names of columns instead.

    Raises
    ------
    ConfigurationError
        `on` mixes names and conditions.
    """
    listed = list(on) if isinstance(on, list | tuple) else [on]
    columns = [each for each in listed if isinstance(each, Column)]
    if not columns:
        return None
    if len(columns) < len(listed):
        message = (
            "on: names and conditions are mixed; write each name as a condition too: "
            "left['name'] == right['name']"
        )
        raise ConfigurationError(message)
    return columns


@dataclass(frozen=True)
class OnNames:
    """A join on columns that have the same names on both sides."""

    names: tuple[str, ...]

    def joined_by_spark(self, left: DataFrame, right: DataFrame, how: str) -> DataFrame:
        """Join with Spark's own join, see `JoinOn`."""
        return left.join(right, [*self.names], how)

    def keyed(self, left: DataFrame, right: DataFrame) -> Keyed:
        """Return the sides, which have the key columns already."""
        return Keyed(left, right, self.names, self.names)
