"""Turn the conditions of a join, such as ``left.a == right.b``, into key columns of both sides.

Spark's own analysis decides which side a column belongs to, and which joins are impossible. The
parts of a condition are read from the expression tree of the Column, in classic sessions and over
Connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.joins.join_keys import Keyed, numbers_in_one_type
from evenkey.spark.keys.given_columns import OWN, unlogged_errors
from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

_AND = ("and", "&&")
_EQUAL = ("=", "==")
_EQUAL_OR_BOTH_NULL = "<=>"


@dataclass(frozen=True)
class OnConditions:
    """A join on equalities of a value of the left side and a value of the right side."""

    conditions: list[Column]

    def joined_by_spark(self, left: DataFrame, right: DataFrame, how: str) -> DataFrame:
        """Join with Spark's own join.

        Raises
        ------
        ConfigurationError
            A condition uses a column that does not exist, or that both sides have.
        """
        with unlogged_errors():
            try:
                joined = left.join(right, self.conditions, how)
                joined.columns  # noqa: B018 - over Connect the join is analysed only now
            except AnalysisException as error:
                reason = str(error).strip().split("\n", 1)[0]
                given = shown(", ".join(map(text_of, self.conditions)))
                message = (
                    f"on = {given}: Spark cannot join on this ({reason}); name each column by its "
                    "side: left['key'] == right['key']"
                )
                raise ConfigurationError(message) from error
        return joined

    def keyed(self, left: DataFrame, right: DataFrame) -> Keyed:
        """Add one column per equality to each side: the value of that side which is compared.

        Raises
        ------
        ConfigurationError
            A condition is not an equality of a value of each side.
        """
        session = left.sparkSession
        columns: tuple[dict[str, Column], dict[str, Column]] = ({}, {})
        texts: list[str] = []
        for condition in self.conditions:
            for each in _equalities(session, condition):
                name = f"{OWN}on_{len(texts)}"
                texts.append(each.text)
                values = _by_side(left, right, each)
                if each.nulls_are_equal:
                    # Two structs that hold null are equal, as the operator <=> requires.
                    first, second = numbers_in_one_type(left, right, values)
                    values = F.struct(first.alias("value")), F.struct(second.alias("value"))
                for side, column in zip(columns, values, strict=True):
                    side[name] = column
        # Over Connect, `withColumns` would drop the metadata that say if a column is CHAR.
        keyed_left, keyed_right = (
            side.select("*", *(column.alias(name) for name, column in new.items()))
            for side, new in zip((left, right), columns, strict=True)
        )
        return Keyed(keyed_left, keyed_right, tuple(columns[0]), tuple(texts))


class _Equality(NamedTuple):
    values: list[Column]
    nulls_are_equal: bool
    text: str


def _equalities(session: SparkSession, condition: Column) -> Iterator[_Equality]:
    name, parts = _call(session, condition)
    if name in _AND:
        for part in parts:
            yield from _equalities(session, part)
        return
    if name not in (*_EQUAL, _EQUAL_OR_BOTH_NULL):
        message = (
            f"on = {shown(text_of(condition))}: it is not an equality of two columns; pass "
            "left.a == right.b, or several equalities in a list or joined by &, and filter the "
            "result by other conditions"
        )
        raise ConfigurationError(message)
    yield _Equality(parts, name == _EQUAL_OR_BOTH_NULL, " = ".join(map(text_of, parts)))


def text_of(column: Column) -> str:
    """Return a column as Spark prints it."""
    return str(column).removeprefix("Column<'").removesuffix("'>")


def _call(session: SparkSession, column: Column) -> tuple[str, list[Column]]:
    """Return the name and arguments of the function that a column calls; empty if it calls none."""
    kind: Any = type(column)
    given: Any = column
    if is_remote(session):
        expression = given._expr  # noqa: SLF001 - the only way
        if type(expression).__name__ != "UnresolvedFunction":
            return "", []
        return expression._name, [kind(each) for each in expression._args]  # noqa: SLF001
    node = given._jc.node()  # noqa: SLF001 - the only way
    if node.getClass().getSimpleName() != "UnresolvedFunction":
        return "", []
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
    parts = node.arguments()
    nodes = [parts.apply(number) for number in range(parts.size())]
    return node.functionName(), [kind(java.org.apache.spark.sql.Column(each)) for each in nodes]


def _by_side(left: DataFrame, right: DataFrame, each: _Equality) -> tuple[Column, Column]:
    first, second = each.values
    if _is_of(left, first) and _is_of(right, second):
        return first, second
    if _is_of(left, second) and _is_of(right, first):
        return second, first
    message = (
        f"on = {shown(each.text)}: it must compare a column of the left side with a column of the "
        "right side; apply a condition on one side alone as a filter of that side, before the join"
    )
    raise ConfigurationError(message)


def _is_of(side: DataFrame, column: Column) -> bool:
    """Return whether a column can be computed from one side alone."""
    with unlogged_errors():
        try:
            return bool(side.select(column).columns)
        except AnalysisException:
            return False
