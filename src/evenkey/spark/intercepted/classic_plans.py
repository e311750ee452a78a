"""Read the analysed plan of a DataFrame of a classic session, from the JVM, without running it.

`evenkey.spark.intercepted.connect_plans` has the same functions for Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.spark.intercepted.catalyst_nodes import analysed_plan, each_of, name_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_FILES = "HadoopFsRelation"


def analysed(df: DataFrame) -> str:
    """Return the analysed plan as Spark prints it."""
    return str(analysed_plan(df).toString())


def locations(df: DataFrame) -> list[str]:
    """Return the first path of each file relation that is not a table of the catalog."""
    return locations_of(analysed_plan(df))


def locations_of(plan: Any) -> list[str]:
    """Return the same of a plan in the JVM."""
    found = []
    for leaf in each_of(plan.collectLeaves()):
        if name_of(leaf) != "LogicalRelation" or leaf.catalogTable().isDefined():
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() == _OF_FILES:
            paths = relation.location().rootPaths()
            if paths.nonEmpty():
                found.append(str(paths.head().toString()))
    return found
