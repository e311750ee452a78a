"""Read the function of a column and its arguments, in classic sessions and over Spark Connect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evenkey.spark.joins.conditions import text_of
from evenkey.spark.sessions.access import is_remote
from evenkey.spark.windows import classic_columns, connect_columns

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark.sql import Column, SparkSession

Direction: TypeAlias = tuple[bool, bool]
"""Whether an order is ascending, and whether nulls come first."""


@dataclass(frozen=True)
class Argument:
    """An argument of a function.

    Parameters
    ----------
    column
        The argument.
    literal
        Its value in a tuple if it is a literal; else None.
    star
        ``*``, or ``s.*`` for the fields of a struct; None: it is neither.
    """

    column: Column
    literal: tuple[Any] | None
    star: str | None


@dataclass(frozen=True)
class Call:
    """A call of a function of Spark, such as ``F.lag("amount", 1)``.

    Parameters
    ----------
    function
        Name of the function in lower case, as Spark registers it.
    arguments
        Its arguments.
    """

    function: str
    arguments: tuple[Argument, ...]

    def value(self, number: int, default: Any) -> Any:
        """Return the literal value of an argument, or `default` if there is no such argument.

        Raises
        ------
        LookupError
            The argument is not a literal.
        """
        if number >= len(self.arguments):
            return default
        literal = self.arguments[number].literal
        if literal is None:
            raise LookupError(number)
        return literal[0]


def call_of(session: SparkSession, column: Column) -> Call | None:
    """Return the call of a function of Spark; None: the column is SQL text, Python code or other.

    A function with ``DISTINCT`` and a function that users registered are such other columns.
    """
    reader = _reader(session)
    found = reader.function_of(session, column)
    if found is None:
        return None
    name, parts = found
    arguments = (Argument(each, reader.literal_of(each), reader.star_of(each)) for each in parts)
    return Call(name.lower(), tuple(arguments))


def name_of(session: SparkSession, column: Column) -> str | None:
    """Return the name of a column such as ``F.col("user")``; None: it is another expression."""
    name: str | None = _reader(session).name_of(column)
    return name


def direction_of(session: SparkSession, column: Column) -> tuple[Column, Direction]:
    """Return the column of an order such as ``F.desc("time")``, and the direction.

    As in Spark, a column without a direction is ascending, with nulls first.
    """
    found: tuple[Column, Direction] | None = _reader(session).direction_of(session, column)
    return (column, (True, True)) if found is None else found


def unquoted_text(column: Column) -> str:
    """Return a column as text, the same in all sessions: only over Connect are names quoted."""
    return text_of(column).replace("`", "")


def _reader(session: SparkSession) -> ModuleType:
    return connect_columns if is_remote(session) else classic_columns
