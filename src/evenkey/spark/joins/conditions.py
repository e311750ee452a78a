"""Conditions of a join: equalities of columns of both sides, as columns that both sides have.

Spark's own analysis says what belongs to which side, and what cannot be joined so. The parts of a
condition are read from the tree that a Column is, of a classic session or over Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as F

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import OWN, unlogged_errors
from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_AND = ("and", "&&")
_EQUAL = ("=", "==")
_EQUAL_OR_BOTH_NULL = "<=>"


class Keyed(NamedTuple):
    """Two sides that have the values of which a condition says that they are equal.

    Parameters
    ----------
    left, right
        With a column of ours for each equality, of the same names on both sides.
    names
        Of these columns.
    shown
        The equalities as messages name them.
    """

    left: DataFrame
    right: DataFrame
    names: tuple[str, ...]
    shown: tuple[str, ...]


def conditions_of(on: object) -> list[Column] | None:
    """Give the conditions of a join one by one; None if it goes by names of columns.

    Raises
    ------
    ConfigurationError
        Names and conditions stand together.
    """
    listed = list(on) if isinstance(on, list | tuple) else [on]
    columns = [each for each in listed if isinstance(each, Column)]
    if not columns:
        return None
    if len(columns) < len(listed):
        message = (
            "on: names and conditions stand together; write each name as a condition too: "
            "left['name'] == right['name']"
        )
        raise ConfigurationError(message)
    return columns


def joined_by_spark(
    left: DataFrame, right: DataFrame, conditions: list[Column], how: str
) -> DataFrame:
    """Join as Spark does.

    Raises
    ------
    ConfigurationError
        A condition names what is not there, or on both sides.
    """
    with unlogged_errors():
        try:
            joined = left.join(right, conditions, how)
            joined.columns  # noqa: B018 - over Connect nothing is analysed before that
        except AnalysisException as error:
            reason = str(error).strip().split("\n", 1)[0]
            message = f"on: Spark has no such join: {reason}"
            raise ConfigurationError(message) from error
    return joined


def keyed_by_conditions(left: DataFrame, right: DataFrame, conditions: list[Column]) -> Keyed:
    """Add to each side a column for what each condition says of it.

    Raises
    ------
    ConfigurationError
        A condition is no equality of a value of the left side and one of the right side.
    """
    session = left.sparkSession
    columns: tuple[dict[str, Column], dict[str, Column]] = ({}, {})
    texts: list[str] = []
    for condition in conditions:
        for each in _equalities(session, condition):
            name = f"{OWN}on_{len(texts)}"
            texts.append(each.text)
            for side, column in zip(columns, _by_side(left, right, each), strict=True):
                # Structs are equal where both hold null.
                both_null = F.struct(column.alias("value"))
                side[name] = both_null if each.nulls_are_equal else column
    return Keyed(
        left.withColumns(columns[0]), right.withColumns(columns[1]), tuple(columns[0]), tuple(texts)
    )


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
            f"on = {shown(_text(condition))}: it is no equality of two columns; pass "
            "left.a == right.b, or several in a list or joined by &, and filter the result by the "
            "rest"
        )
        raise ConfigurationError(message)
    yield _Equality(parts, name == _EQUAL_OR_BOTH_NULL, " = ".join(map(_text, parts)))


def _text(column: Column) -> str:
    return str(column).removeprefix("Column<'").removesuffix("'>")


def _call(session: SparkSession, column: Column) -> tuple[str, list[Column]]:
    """Give the function that a column calls, and with what; no name if it calls none."""
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
        f"on = {shown(each.text)}: it must compare a column of the left side with one of the right "
        "side; filter a side by what concerns that side alone before the join"
    )
    raise ConfigurationError(message)


def _is_of(side: DataFrame, column: Column) -> bool:
    """Whether a side has what a column is made of."""
    with unlogged_errors():
        try:
            return bool(side.select(column).columns)
        except AnalysisException:
            return False
