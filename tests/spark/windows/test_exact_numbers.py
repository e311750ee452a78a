"""Decimals, overflow and collations on pieces have the values of Spark's own windows."""

from __future__ import annotations

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from tests.spark.windows.ordered_rows import WORKERS, assert_same

FIRST, LAST = Window.unboundedPreceding, Window.unboundedFollowing
TIED = -pow(20_000, -1, 2001) % 2001
"""A sum whose average of 2001 values is 0.000000025 below a tie of 4 digits."""
AVERAGED = {
    "up": f"cast(if(id = 0, {TIED}, 0) as decimal(20, 0))",
    "down": f"cast(if(id = 0, -{TIED}, 0) as decimal(20, 0))",
    "first": "cast(if(id = 0, 1, 0) as decimal(27, 10))",
    "fifth": "cast(if(id = 0, 0.05, 0) as decimal(22, 2))",
    "third": "cast(if(id = 0, 0.05, 0) as decimal(20, 2))",
    "money": "cast((pmod(h, 10007) - 5000) / 100 as decimal(12, 2))",
    "large": "if(pmod(h, 5) = 0, null, cast(pmod(h, 2000000000) - 1000000000 as decimal(18, 6)))",
    "fraction": "cast(pmod(h, 1000000000) / 3000000000 as decimal(20, 20))",
    "whole": "cast(h as decimal(20, 0))",
}
"""SQL of decimals, from a number `h` that is like a random one."""


def numbered(session, count):
    rows = session.range(0, count, 1, 3)
    return rows.selectExpr("id", "if(id % 10 < 8, 0, id) as k", "xxhash64(id) as h")


@pytest.mark.soak(6)
@pytest.mark.parametrize(
    ("count", "frame"),
    [(2600, {}), (600, {"rows_between": (0, LAST)})],
)
def test_averages_of_decimals_are_rounded_once(session, count, frame):
    """Running averages meet the tie of 2001 values; Spark's frames to the end take a square."""
    rows = numbered(session, count).withColumns(
        {name: F.expr(sql) for name, sql in AVERAGED.items()}
    )
    columns = {f"mean_of_{name}": F.avg(name) for name in AVERAGED}
    assert_same(rows, ["k"], ["id"], columns, **frame)
    explained = operators.explain(operators.over, rows, "k", "id", columns, workers=WORKERS)
    notes = dict(zip(columns, explained.placements[0].notes, strict=False))
    left = {name for name, note in notes.items() if "Spark's own window" in note}
    assert left == {"mean_of_first", "mean_of_fifth"}


WIDE = {
    "cast(concat(repeat('9', 36), 100 - id % 100) as decimal(38, 0))": (-5, 90),
    "cast(concat(id, '.000000000000000005') as decimal(38, 18))": (-10, 3_000_000_000),
}
"""Orders, and frames with bounds that Spark rounds, or that do not fit the type of the order."""


@pytest.mark.slow(4)
@pytest.mark.parametrize("order", WIDE)
def test_frames_of_values_at_the_ends_of_a_type(session, order):
    session = session.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    rows = numbered(session, 300).withColumn("o", F.expr(order))
    columns = {"n": F.count("*"), "least": F.min("id")}
    assert_same(rows, ["k"], ["o"], columns, range_between=WIDE[order])


@pytest.mark.slow(4)
def test_sums_of_decimals_that_overflow_are_null_without_ansi_mode(session):
    session = session.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    value = "cast(if(id in ({}), '9{}', '1') as decimal(38, 0))"
    rows = numbered(session, 200).withColumn("k", F.lit(1))
    for name, ids in {"early": "0, 1", "late": "100, 120", "once": "50"}.items():
        rows = rows.withColumn(name, F.expr(value.format(ids, "0" * 37)))
    back = F.when(F.col("id") == 150, F.expr(f"cast('-9{'0' * 37}' as decimal(38, 0))"))
    rows = rows.withColumn("back", back.otherwise(F.col("early")))
    columns = {f"sum_{name}": F.sum(name) for name in ("early", "late", "once", "back")}
    columns["n"] = F.row_number()
    got = assert_same(rows, ["k"], ["id"], columns)
    assert got.where("sum_early is null").count() == 199
    assert got.where("sum_back is null").count() == 149
    assert_same(rows, ["k"], ["id"], columns, rows_between=(FIRST, LAST))


@pytest.mark.slow(3)
def test_variances_whose_squared_mean_overflows(session):
    if session.version < "4.3":
        pytest.skip("before 4.3, Spark's own aggregates of such values are NaN")
    # Sums of powers of 2 are exact.
    rows = numbered(session, 200).withColumn("large", F.lit(2.0**532))
    columns = {
        "deviation": F.stddev("large"),
        "variance": F.var_pop("large"),
        "none": F.stddev_pop(F.when(F.col("id") > 90, F.col("large"))),
    }
    assert_same(rows, ["k"], ["id"], columns)
    assert_same(rows, ["k"], ["id"], columns, rows_between=(0, LAST))


@pytest.mark.soak(5)
@pytest.mark.parametrize("frame", [{}, {"rows_between": (FIRST, LAST)}])
def test_of_texts_that_a_collation_makes_equal_the_first_is_taken(session, frame):
    text = F.expr("if(id % 3 = 0, 'ann', if(id % 3 = 1, 'Ann', 'ANN'))")
    rows = numbered(session, 300).withColumn("name", text.cast("string collate UTF8_LCASE"))
    rows = rows.withColumn("names", F.array("name"))
    columns = {
        "least": F.min("name"),
        "most": F.max("name"),
        "list": F.max("names"),
        "total": F.sum("id"),
    }
    assert_same(rows, ["k"], [F.desc("id")], columns, **frame)
    explained = operators.explain(
        operators.over,
        rows,
        "k",
        "id",
        {"least": F.min("name"), "n": F.row_number()},
        workers=WORKERS,
    )
    assert "(texts differ that the collation makes equal" in explained.placements[0].notes[0]
