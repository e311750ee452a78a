"""A balanced join puts its rows on the workers of its plan, with one shuffle per side."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from tests.session import compiled
from tests.spark import oracle
from tests.tiers import most_in_soak

WORKERS = 16


@pytest.fixture(scope="module")
def plain(session):
    """Make a session without automatic broadcasts, which merges small partitions."""
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.enabled", "true")
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
    return session


def hot(session, rows):
    """Make rows: 60 % have one key, the others one of 5000 keys."""
    key = F.when(F.col("id") % 10 < 6, 0).otherwise(F.pmod(F.xxhash64("id"), F.lit(5000)))
    return session.range(0, rows, 1, 4).select(key.alias("k"), F.col("id").alias("v"))


def max_over_mean(joined):
    """Return the rows of the largest task over the mean of all workers, and the number of rows."""
    tasks = joined.groupBy(F.spark_partition_id().alias("task")).count().toArrow()
    assert set(tasks["task"].to_pylist()) <= set(range(WORKERS))
    counts = tasks["count"].to_numpy()
    return counts.max() / (counts.sum() / WORKERS), int(counts.sum())


@pytest.mark.slow(4)
@pytest.mark.parametrize("how", most_in_soak(["inner", "full"], 4, slow=["full"]))
def test_a_key_with_most_rows_is_divided(plain, how):
    """Most keys of the right side have no match."""
    left, right = hot(plain, 16_000), plain.range(0, 5000, 1, 2).selectExpr("id as k", "-id as w")
    uneven, rows = max_over_mean(operators.join(left, right, "k", how, WORKERS))
    assert uneven < 1.15
    assert rows == left.join(right, "k", how).count()


@pytest.mark.soak
def test_a_key_with_rows_on_both_sides_is_divided_by_what_it_makes(plain):
    """One key makes 500 x 1,000 result rows, all others together 40,000."""
    left, right = many_by_many(plain, 500, 1000)
    for how in ("inner", "right"):
        joined = operators.join(left, right, "k", how, WORKERS)
        uneven, rows = max_over_mean(joined)
        assert uneven < 1.15, how
        assert rows == left.join(right, "k", how).count()


def many_by_many(session, left_rows, right_rows):
    left = session.range(0, left_rows + 40_000, 1, 4).selectExpr(
        f"if(id < {left_rows}, -1, id % 3000) as k", "id as v"
    )
    right = session.range(0, right_rows + 3000, 1, 2).selectExpr(
        f"if(id < {right_rows}, -1, id - {right_rows}) as k", "id as w"
    )
    return left, right


@pytest.mark.soak
def test_fifty_million_rows_of_one_key_are_divided(spark, plain):
    left, right = many_by_many(plain, 5000, 10_000)
    with compiled(spark, plain):
        uneven, rows = max_over_mean(operators.join(left, right, "k", "inner", WORKERS))
    assert uneven < 1.15
    assert rows == 50_040_000


@pytest.mark.slow(4)
def test_each_side_is_shuffled_once(plain):
    left, right = hot(plain, 20_000), plain.range(0, 5000, 1, 2).selectExpr("int(id) as k", "id")
    joined = operators.join(left, right, "k", "inner", WORKERS)
    plan = oracle.plan_of(joined)
    assert plan.count("Exchange hashpartitioning") == plan.count("Exchange") == 2
    assert plan.count("REPARTITION_BY_NUM") == 2
    assert re.search(r"(SortMerge|ShuffledHash)Join", plan)
    assert "Python" not in plan


@pytest.mark.slow(4)
def test_nulls_are_on_all_workers(plain):
    left = plain.range(0, 16_000, 1, 3).selectExpr("nullif(id % 1, 0) as k", "id as v")
    right = plain.range(0, 100, 1, 2).selectExpr("id as k")
    joined = operators.join(left, right, "k", "left", WORKERS)
    assert max_over_mean(joined) == (pytest.approx(1, abs=0.05), 16_000)


@pytest.mark.slow(4)
def test_a_kept_plan_is_used_again(plain, tmp_path):
    left, right = hot(plain, 20_000), plain.range(0, 5000, 1, 2).selectExpr("id as k", "id as w")
    made = operators.explain(operators.join, left, right, "k", "inner", WORKERS, state=tmp_path)
    assert "hot keys: k 0 (58.7%" in str(made)
    assert "state= keeps the plan" in str(made)
    # The plan is made from other rows, and the result is exact nevertheless.
    later = left.where("k <> 0").unionAll(left.selectExpr("k + 7", "v"))
    kept = operators.explain(operators.join, later, right, "k", "inner", WORKERS, state=tmp_path)
    assert "the plan was read from state=" in str(kept)
    (hottest, *_) = kept.placements[0].hot_keys
    assert (hottest.name, hottest.tasks) == ("k 7", 1)
    joined = operators.join(later, right, "k", "inner", WORKERS, state=tmp_path)
    assert joined.count() == later.join(right, "k").count()
    with pytest.raises(ConfigurationError, match="weigh=output"):
        operators.join(later, right, "k", "left", WORKERS, state=tmp_path)
    other = right.withColumnRenamed("w", "v").drop("k")
    with pytest.raises(ConfigurationError, match="a plan for a join on k, not on v: pass another"):
        operators.join(later, other, "v", "inner", WORKERS, state=tmp_path)


@pytest.mark.slow(4)
def test_a_side_that_spark_broadcasts_is_left_to_it(session):
    left, right = hot(session, 2000), session.range(0, 50, 1, 2).selectExpr("id as k")
    explanation = operators.explain(operators.join, left, right, "k")
    assert "Spark's own join (it broadcasts a side" in str(explanation)
    joined = operators.join(left, right, "k", "left")
    assert "BroadcastHashJoin" in oracle.plan_of(joined)
    assert joined.count() == 2000


@pytest.mark.soak
def test_other_columns_are_named_as_in_sparks_own_join(plain):
    """A column with the same name on both sides can only be found through its DataFrame."""
    left, right = hot(plain, 3000), plain.range(0, 5000, 1, 2).selectExpr("id as k", "-id as v")
    for how in ("inner", "left", "full"):
        joined = operators.join(left, right, "k", how, 3)
        rows = joined.select("k", left["v"].alias("l"), right["v"].alias("r")).where("r <= 0")
        assert rows.where("-r <> k").count() == 0
        assert rows.agg(F.sum("l")).collect() == left.agg(F.sum("v")).collect()
        with pytest.raises(PySparkException, match="AMBIGUOUS_REFERENCE"):
            joined.select("v").collect()
    itself = operators.join(left.alias("a"), left.alias("b"), "k", "semi", 3)
    assert itself.count() == 3000
