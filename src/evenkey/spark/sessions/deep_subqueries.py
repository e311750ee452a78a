"""Subqueries over Spark Connect whose plans have many operations."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_deep_subqueries(df: DataFrame) -> DataFrame:
    """Return a DataFrame whose last operation may have subqueries of any depth.

    When PySpark's client of Spark Connect adds the plan of a subquery to a query, it parses the
    plan again, and the parser refuses messages that are nested more than 100 deep. Each operation
    adds two, also those of the user. Here plans are copied instead. In a classic session, nothing
    changes.
    """
    if is_remote(df.sparkSession):
        of_connect: Any = df
        plan = of_connect._plan  # noqa: SLF001
        plan._with_relations = functools.partial(_with_relations, plan)  # noqa: SLF001
    return df


def _with_relations(plan: Any, root: Any, session: Any) -> Any:
    """Return a plan's message with the plans of its subqueries, as its method of this name does."""
    from pyspark.sql.connect import proto

    subqueries = plan._references  # noqa: SLF001
    if not subqueries:
        return root
    made = proto.Relation()
    made.common.plan_id = plan._plan_id  # noqa: SLF001
    made.with_relations.root.CopyFrom(root)
    for each in subqueries:
        made.with_relations.references.add().CopyFrom(each.plan(session))
    return made
