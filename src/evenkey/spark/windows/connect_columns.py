"""Read what a Column over Spark Connect calls or names, from its unresolved expression.

`evenkey.spark.windows.classic_columns` has the same functions for classic sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_CALLS = ("UnresolvedFunction", "CallFunction")


def function_of(session: SparkSession, column: Column) -> tuple[str, list[Column]] | None:
    """Return the name and the arguments of the function that a column calls; None: another kind."""
    del session
    found = _expression(column)
    if _kind(found) not in _CALLS or getattr(found, "_is_distinct", False):
        return None
    kind: Any = type(column)
    return found._name, [kind(each) for each in found._args]  # noqa: SLF001


def literal_of(column: Column) -> tuple[Any] | None:
    """Return the value of a literal in a tuple; None: the column is not a literal."""
    found = _expression(column)
    return (found._value,) if _kind(found) == "LiteralExpression" else None  # noqa: SLF001


def name_of(column: Column) -> str | None:
    """Return the name of a column that is only named, such as ``F.col("user")``; else None."""
    found = _expression(column)
    if _kind(found) != "ColumnReference" or found._plan_id is not None:  # noqa: SLF001
        return None
    name = str(found._unparsed_identifier)  # noqa: SLF001
    return None if "." in name or "`" in name else name


def star_of(column: Column) -> str | None:
    """Return a star as text, such as ``*`` in ``F.count("*")`` or ``s.*``; None: it is none."""
    found = _expression(column)
    return (found._unparsed_target or "*") if _kind(found) == "UnresolvedStar" else None  # noqa: SLF001


def direction_of(session: SparkSession, column: Column) -> tuple[Column, tuple[bool, bool]] | None:
    """Return the column of an order such as ``F.desc("time")``: if ascending, if nulls first."""
    del session
    found = _expression(column)
    if _kind(found) != "SortOrder":
        return None
    kind: Any = type(column)
    ascending, first = found._ascending, found._nullsFirst  # noqa: SLF001
    return kind(found._child), (bool(ascending), bool(first))  # noqa: SLF001


def _expression(column: Any) -> Any:
    return column._expr  # noqa: SLF001 - the only way


def _kind(expression: Any) -> str:
    return type(expression).__name__
