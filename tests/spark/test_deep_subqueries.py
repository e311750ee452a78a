"""Over Spark Connect, subqueries may have plans of many operations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evenkey.spark.sessions.deep_subqueries import with_deep_subqueries

plans: Any = pytest.importorskip("pyspark.sql.connect.plan")


def with_subquery(operations):
    """Return a query of Connect's client, with a scalar subquery that has these operations."""
    from pyspark.sql.connect.column import Column
    from pyspark.sql.connect.expressions import SubqueryExpression

    subquery = plans.Range(0, 1, 1)
    for _ in range(operations):
        subquery = plans.Limit(subquery, 1)
    scalar = Column(SubqueryExpression(subquery, subquery_type="scalar"))
    return plans.WithColumns(plans.Range(0, 1, 1), ["x"], [scalar])


def deepened(plan):
    df: Any = SimpleNamespace(sparkSession=object(), _plan=plan)
    assert with_deep_subqueries(df) is df
    return plan


def test_the_message_is_the_one_of_pyspark():
    plan = with_subquery(3)
    wanted = plan.plan(None)
    assert len(wanted.with_relations.references) == 1
    assert deepened(plan).plan(None) == wanted


def test_a_subquery_may_have_hundreds_of_operations():
    found = deepened(with_subquery(300)).plan(None)
    (subquery,) = found.with_relations.references
    depth = 0
    while subquery.HasField("limit"):
        subquery, depth = subquery.limit.input, depth + 1
    assert depth == 300


def test_a_query_without_subqueries_stays():
    plan = plans.Limit(plans.Range(0, 1, 1), 1)
    wanted = plan.plan(None)
    assert deepened(plan).plan(None) == wanted
