"""Read the analysed plan of a DataFrame of a classic session, from the JVM, without running it.

`evenkey.spark.intercepted.connect_plans` has the same functions for Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_FILES = "HadoopFsRelation"


def analysed(df: DataFrame) -> str:
    """Return the analysed plan as Spark prints it."""
    return str(_plan(df).toString())


def locations(df: DataFrame) -> list[str]:
    """Return the first path of each file relation that is not a table of the catalog."""
    leaves = _plan(df).collectLeaves()
    found = []
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() != "LogicalRelation" or leaf.catalogTable().isDefined():
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() == _OF_FILES:
            paths = relation.location().rootPaths()
            if paths.nonEmpty():
                found.append(str(paths.head().toString()))
    return found


def _plan(df: Any) -> Any:
    return df._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python has no name of it
