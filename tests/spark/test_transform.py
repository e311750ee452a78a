"""Operators in chains: ``df.transform`` accepts each of them, with the result of a call."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from evenkey import joins
from evenkey import spark as eks
from evenkey.applications import heavy_hitters


@pytest.fixture(scope="module")
def clicks(spark):
    return spark.range(400).selectExpr(
        "if(id % 10 < 8, 'alice', 'user ' || id % 50) AS user",
        "id % 7 AS amount",
        "timestamp_seconds(id) AS at",
    )


def rows(df):
    return sorted(map(tuple, df.collect()), key=str)


def test_rows_are_routed_and_placed_in_a_chain(clicks):
    observer = eks.LoadObserver(8)
    placed = (
        clicks.transform(eks.route, "user", workers=8)
        .transform(eks.place, 8)
        .transform(eks.observe, observer)
    )
    assert rows(placed) == rows(eks.route(clicks, "user", "planned", 8))
    assert observer.loads.sum() == 400


@pytest.mark.slow(2)
def test_aggregates_of_a_chain_are_sparks(clicks):
    found = clicks.transform(
        eks.aggregate, "user", "pkg", workers=4, aggregator="count", time="at", window="1 minute"
    )
    plain = clicks.groupBy(F.window("at", "1 minute"), "user").count()
    assert found.columns == plain.columns
    assert rows(found) == rows(plain)
    # For later operators, the windows are like Spark's own.
    hours = [
        each.groupBy(F.window(F.window_time("window"), "1 hour")).agg(F.sum("count"))
        for each in (found, plain)
    ]
    assert rows(hours[0]) == rows(hours[1])


@pytest.mark.slow(2)
def test_joins_and_heavy_hitters_are_links_of_a_chain(clicks, spark):
    profiles = spark.createDataFrame([("alice", 1), ("user 8", 2)], "user string, age int")
    joined = clicks.transform(joins.balanced_join, profiles, "user", workers=2)
    assert rows(joined) == rows(clicks.join(profiles, "user"))
    heaviest = clicks.transform(heavy_hitters, "user", 1)
    assert [(row["user"], row["count"]) for row in heaviest.collect()] == [("alice", 320)]
