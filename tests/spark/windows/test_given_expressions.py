"""Expressions in a call: stars, arguments without a column, repeated keys and reserved names."""

from __future__ import annotations

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions.access import is_remote
from tests.spark.windows.ordered_rows import WORKERS, assert_same
from tests.tiers import most_in_soak

EVERY = (Window.unboundedPreceding, Window.unboundedFollowing)


def few_rows(session):
    """Make rows of one hot key, with few columns, so that plans are small."""
    return session.range(0, 200, 1, 2).selectExpr(
        "if(id % 10 < 8, 0, id) as k", "id", "id % 13 as v", "struct(id, id % 7 as w) as s"
    )


@pytest.mark.slow(4)
def test_a_star_is_the_columns_of_the_user(session):
    columns = {
        "n": F.row_number(),
        "row": F.last(F.struct("*")),
        "double": F.sum(F.col("v") * 2),
        "rows": F.collect_list(F.struct("*")),
    }
    order = [F.xxhash64("*"), F.hash("*")]
    got = assert_same(few_rows(session), ["k", F.struct("*") < F.struct("*")], order, columns)
    assert got.select("row.*").columns == ["k", "id", "v", "s"]


@pytest.mark.slow(3)
def test_a_repeated_key_is_one_key(session):
    columns = {"n": F.row_number(), "first": F.first("v"), "total": F.sum("v")}
    assert_same(few_rows(session), ["k", "K", F.col("k")], ["id"], columns)


def test_names_of_own_columns_are_refused(session):
    for name in ("__evenkey_mine", "__EVENKEY_mine"):
        with pytest.raises(ConfigurationError, match="names that begin with '__evenkey_'"):
            operators.over(few_rows(session), "k", "id", {name: F.row_number()})


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    "frame",
    most_in_soak(
        [{"rows_between": (-20, 3)}, {"rows_between": EVERY}], 4, slow=[{"rows_between": (-20, 3)}]
    ),
)
def test_arguments_without_a_column_stay_as_they_are(session, frame):
    columns = {
        "quarters": F.percentile("v", [0.25, 0.75]),
        "half": F.percentile(F.col("v") + 1, F.lit(1) / 2),
        "near": F.percentile_approx("v", [0.1, 0.9], F.lit(50) * 2),
        "weighed": F.percentile("v", 0.5, F.col("id") % 3 + 1),
    }
    assert_same(few_rows(session), ["k"], ["id"], columns, **frame)


@pytest.mark.soak(4)
def test_stars_and_several_arguments_of_count(session):
    rows = few_rows(session).withColumn("v", F.expr("nullif(v, 3)"))
    rows = rows.withColumn("s", F.struct(F.expr("nullif(id % 7, 2)").alias("w"), "v"))
    columns = {
        "rows": F.count("*"),
        "fields": F.count("s.*"),
        "both": F.call_function("count", F.col("v"), F.col("s.w")),
    }
    assert_same(rows, ["k"], ["id"], columns, rows_between=(-20, 0))
    assert_same(rows, ["k"], ["id"], columns, rows_between=EVERY)
    columns["tile"] = F.call_function("ntile", F.lit(2) + F.lit(2))
    assert_same(rows, ["k"], ["id"], columns)
    explained = operators.explain(operators.over, rows, "k", "id", columns, workers=WORKERS)
    plain, fields, both, tile = explained.placements[0].notes[:4]
    assert "carried" in plain
    assert "(an argument of count is s.*)" in fields
    if is_remote(session):  # In a classic session, such calls are like SQL text.
        assert "(count has 2 arguments)" in both
        assert "(an argument of ntile is an expression)" in tile
    most = {"most": F.max("*"), "least": F.min("id")}
    assert_same(rows.select("id"), [], ["id"], most)
