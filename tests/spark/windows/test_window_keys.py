"""Keys of windows: null, composite, expressions, odd names, none at all; and stored plans."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from tests.spark.oracle import plan_of
from tests.spark.windows import ordered_rows
from tests.spark.windows.ordered_rows import WORKERS, assert_same

COLUMNS = {"n": F.row_number, "total": lambda: F.sum("amount"), "lag": lambda: F.lag("amount", 1)}


def columns():
    return {name: make() for name, make in COLUMNS.items()}


@pytest.mark.slow(5)
def test_composite_keys_and_expressions(session):
    rows = ordered_rows.rows(session)
    keys = ["user", F.col("kind"), F.col("id") >= 0]
    assert_same(rows, keys, [F.desc("time"), "id"], columns())


@pytest.mark.soak(7)
def test_windows_of_time_as_keys(session):
    rows = ordered_rows.rows(session).where("time is not null")
    at = rows.withColumn("at", F.timestamp_seconds(F.col("id") * 20))
    assert_same(at, [F.window("at", "3 hours")], [at.time, at.id], columns())


@pytest.mark.slow(3)
def test_a_null_key_is_cut_as_any_other(session):
    rows = ordered_rows.rows(session).withColumn("user", F.expr("if(user = 0, null, user)"))
    assert_same(rows, ["user"], ["long", "id"], columns())


SHARED = {
    "half": "id % 2 = 0",
    "some": "id % 40 = 0",
    "few": "id in (7, 300)",
}
"""Which rows have the key (null, 1). The others have (1, null), which has the same hash."""


@pytest.mark.soak(3)
@pytest.mark.parametrize("which", SHARED)
def test_keys_with_one_hash_have_carries_of_their_own(session, which):
    first = F.expr(SHARED[which])
    rows = ordered_rows.rows(session).withColumns(
        {"a": F.when(~first, F.lit(1)), "b": F.when(first, F.lit(1))}
    )
    hashed = rows.select(F.xxhash64("a", "b").alias("hash")).distinct()
    assert hashed.count() == 1
    running = {**columns(), "first": F.first("amount"), "third": F.nth_value("amount", 3)}
    assert_same(rows, ["a", "b"], ["whole", "id"], running)
    whole = {"total": F.sum("amount"), "most": F.max("name"), "rank": F.percent_rank()}
    every = (Window.unboundedPreceding, Window.unboundedFollowing)
    assert_same(rows, ["a", "b"], ["whole", "id"], whole, rows_between=every)


@pytest.mark.soak(4)
def test_without_a_key_all_rows_are_one_partition(session):
    rows = ordered_rows.rows(session, 200)
    assert_same(rows, [], ["id"], columns())


@pytest.mark.soak(3)
def test_all_keys_hot_and_one_row(session):
    rows = ordered_rows.rows(session)
    few = rows.where("user in (0, 1)").withColumn("user", F.col("id") % 2)
    assert_same(few, ["user"], ["text", "id"], columns(), workers=7)
    one = operators.over(rows.where("id = 5"), "user", "id", {"n": F.row_number()}, workers=3)
    assert [row["n"] for row in one.collect()] == [1]
    assert operators.over(rows.where("id < 0"), "user", "id", {"n": F.rank()}).count() == 0


@pytest.mark.soak(4)
def test_rows_that_many_operations_make(session):
    rows = ordered_rows.rows(session, 200)
    for number in range(40):
        rows = rows.withColumn("amount", F.col("amount") + number)
    last = {"last": F.last("amount"), "known": F.last("name", ignorenulls=True)}
    assert_same(rows, ["user"], ["whole", "id"], {**columns(), **last})


@pytest.mark.slow(3)
def test_columns_with_odd_names(session):
    rows = ordered_rows.rows(session).toDF(*(f"a.{name} `x`" for name in ordered_rows_names()))
    got = operators.over(rows, "a.user `x`", "a.id `x`", {"n. of": F.row_number()}, workers=WORKERS)
    assert got.columns == [*rows.columns, "n. of"]
    counts = ordered_rows.rows(session).groupBy("user").count()
    assert got.agg(F.max("`n. of`")).first() == counts.agg(F.max("count")).first()


def ordered_rows_names():
    return ["id", "user", "kind", *ordered_rows.ORDERS, "amount", "price", "cents", "name", "ok"]


def test_two_columns_of_one_name_stay(session):
    rows = ordered_rows.rows(session).select("*", F.lit(3).alias("kind"))
    got = operators.over(rows, "user", "id", {"n": F.row_number()}, workers=WORKERS)
    assert got.columns == [*rows.columns, "n"]
    assert got.count() == 600


def test_without_hot_keys_the_plan_is_sparks_own(session):
    rows = session.range(4000).selectExpr("id", "id % 1000 as user")
    got = operators.over(rows, "user", "id", {"n": F.row_number()}, workers=4)
    window = Window.partitionBy("user").orderBy("id")
    own = rows.withColumn("n", F.row_number().over(window))
    assert shape(got) == shape(own)


def shape(df):
    return [line.split("(")[0] for line in plan_of(df).splitlines() if "+-" in line]


@pytest.mark.slow(3)
def test_a_stored_plan_serves_other_rows(session, tmp_path):
    state = tmp_path / "plan"
    order = [F.desc("local"), "real", "id"]
    assert_same(ordered_rows.rows(session), ["user"], order, columns(), state=state)
    other = ordered_rows.rows(session, 500, seed=8)
    again = assert_same(other, ["user"], order, columns(), state=state)
    assert "sample" not in plan_of(again).lower()
    with pytest.raises(ConfigurationError, match=r"another|holds|belongs"):
        operators.over(other, "kind", "id", columns(), workers=WORKERS, state=state)


@pytest.mark.slow(3)
def test_a_stored_plan_of_another_order_is_refused(session, tmp_path):
    rows = ordered_rows.rows(session)
    call: dict[str, Any] = {
        "columns": {"n": F.row_number()},
        "workers": WORKERS,
        "state": tmp_path / "plan",
    }
    order: list[Any] = [F.desc(F.col("whole") + 1), "id"]
    assert_same(rows, ["user"], order, **call)
    other_type = rows.withColumn("id", F.col("id").cast("string"))
    others = {
        "id": rows,
        "whole": rows.withColumn("whole", F.col("whole").cast("decimal(20, 3)")),
        "more": rows,
        "text": other_type,
    }
    orders: dict[str, Any] = {"id": "id", "more": [F.desc(F.col("tiny") + 1), "id"]}
    for name, df in others.items():
        with pytest.raises(ConfigurationError, match=r"over\(user order by.*whole"):
            operators.over(df, "user", orders.get(name, order), **call)
    explained = operators.explain(operators.over, rows, "user", order, call["columns"])
    assert re.match(r"over\(user order by \(?.*whole.* desc, id\)", explained.operator)


@pytest.mark.soak(3)
def test_costs_decide_where_keys_are_cut(session):
    rows = ordered_rows.rows(session)
    assert_same(rows, ["user"], ["id"], columns(), cost=F.when(F.col("id") < 90, 50).otherwise(1))


@pytest.mark.slow(4)
def test_one_order_value_stays_in_one_piece(session, caplog):
    caplog.set_level("INFO", "evenkey")
    rows = ordered_rows.rows(session).withColumn("same", F.expr("if(id % 4 < 3, 0, id)"))
    ranked = {**ordered_rows.ranks(), "total": F.sum("amount")}
    assert_same(rows, ["user"], ["same"], ranked)
    assert "one order value has 75 % of the rows of a hot key" in caplog.text


@pytest.mark.slow(6)
def test_in_foreach_batch(session, tmp_path):
    ordered_rows.rows(session).write.parquet(str(tmp_path / "in"))
    stream = session.readStream.schema(ordered_rows.rows(session).schema)
    out = str(tmp_path / "out")

    def each(batch, _):
        numbered = operators.over(batch, "user", "id", {"n": F.row_number()}, workers=WORKERS)
        numbered.write.mode("append").parquet(out)

    query = stream.parquet(str(tmp_path / "in")).writeStream.foreachBatch(each)
    query = query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    query.start().awaitTermination()
    assert session.read.parquet(out).where("n > 0").count() == 600
