"""Read what a Column of a classic session calls or names, from its node in the JVM.

`evenkey.spark.windows.connect_columns` has the same functions for Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def function_of(session: SparkSession, column: Column) -> tuple[str, list[Column]] | None:
    """Return the name and the arguments of the function that a column calls; None: another kind."""
    node = _node(column)
    if _kind(node) != "UnresolvedFunction" or node.isDistinct() or node.isUserDefinedFunction():
        return None
    parts = node.arguments()
    arguments = [_column(session, column, parts.apply(number)) for number in range(parts.size())]
    return node.functionName(), arguments


def literal_of(column: Column) -> tuple[Any] | None:
    """Return the value of a literal in a tuple; None: the column is not a literal."""
    node = _node(column)
    return (node.value(),) if _kind(node) == "Literal" else None


def name_of(column: Column) -> str | None:
    """Return the name of a column that is only named, such as ``F.col("user")``; else None."""
    node = _node(column)
    if _kind(node) != "UnresolvedAttribute" or node.planId().isDefined():
        return None
    parts = node.nameParts()
    return str(parts.apply(0)) if parts.size() == 1 else None


def star_of(column: Column) -> str | None:
    """Return a star as text, such as ``*`` in ``F.count("*")`` or ``s.*``; None: it is none."""
    node = _node(column)
    if _kind(node) != "UnresolvedStar":
        return None
    target = node.unparsedTarget()
    return str(target.get()) if target.isDefined() else "*"


def direction_of(session: SparkSession, column: Column) -> tuple[Column, tuple[bool, bool]] | None:
    """Return the column of an order such as ``F.desc("time")``: if ascending, if nulls first."""
    node = _node(column)
    if _kind(node) != "SortOrder":
        return None
    ascending, first = node.sortDirection().sql(), node.nullOrdering().sql()
    return _column(session, column, node.child()), (ascending == "ASC", first == "NULLS FIRST")


def _node(column: Any) -> Any:
    return column._jc.node()  # noqa: SLF001 - the only way


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _column(session: SparkSession, like: Any, node: Any) -> Column:
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
    made: Column = type(like)(java.org.apache.spark.sql.Column(node))
    return made
