"""The lines of code that a diagnosis proposes run unchanged, with the results of Spark's own."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.aggregators import Fold
from evenkey.reports.diagnosis.join_answers import Slow, of_null_keys, of_skewed_join
from evenkey.reports.diagnosis.reading.spark_application import Execution, Task
from evenkey.reports.diagnosis.reading.spark_plans import KeyedRead, keyed_reads, node_of
from evenkey.reports.diagnosis.reading.spark_settings import KNOWN, PARTITIONS, bytes_of
from evenkey.reports.diagnosis.remedies import remedies_for
from evenkey.reports.diagnosis.stage_runs import Run, Writing
from tests.diagnosis.writing import applied, exchange, node
from tests.tiers import most_in_soak

WORKERS = 3
TASKS = (Task(0, 0.0, 1.0, 9, 90),)


class YourFold(Fold):
    name = "your-fold"
    columns = ()
    result = pa.schema([("n", pa.int64())])
    state_type = "long"

    def zero(self) -> int:
        return 0

    def add(self, state: int, message: object) -> int:
        del message
        return state + 1

    def combine(self, first: int, second: int) -> int:
        return first + second

    def answer(self, state: int) -> dict[str, int]:
        return {"n": state}


def read_of(plan: dict[str, Any]) -> KeyedRead:
    (read,) = keyed_reads(node_of(plan))
    return read


def lines_of(plan, how):
    remedies = remedies_for(read_of(plan), WORKERS, stream=False)
    (remedy,) = (each for each in remedies if each.how == how)
    return remedy.code


def value_of(code, names):
    """Run all lines, and return the value of the last one."""
    *lines, last = code.splitlines()
    known = {"eks": eks, "F": F, "Window": Window, "YourFold": YourFold, **names}
    exec("\n".join(lines), known)  # noqa: S102 - our own text
    return eval(last, known), known  # noqa: S307 - our own text


def sorted_rows(df, *columns):
    return sorted(map(repr, df.select(*columns).collect()))


@pytest.fixture
def df(spark):
    return spark.range(0, 400, 1, 4).select(
        F.expr("CASE WHEN id % 10 < 6 THEN 0 WHEN id % 10 = 9 THEN NULL ELSE id % 30 END").alias(
            "customer"
        ),
        F.expr("id % 2").alias("shop name"),
        F.col("id").alias("amount"),
    )


COUNTED = "customer long, n long"


def count(frame: pd.DataFrame) -> pd.DataFrame:
    key = frame["customer"].iloc[0]
    return pd.DataFrame({"customer": pd.array([key], "Int64"), "n": [len(frame)]})


def added(key, parts):
    return pd.DataFrame({"customer": pd.array([key[0]], "Int64"), "n": [parts["n"].sum()]})


WORK = {"work": count, "schema": COUNTED, "merge": added}


@pytest.mark.slow(8)
def test_a_fold_of_parts(df):
    for key in ("customer#1L", "customer#1L, shop name#2"):
        plan = node("ArrowAggregatePython", "", exchange(7, key))
        counted, _ = value_of(lines_of(plan, "split"), {"df": df})
        keys = [each.partition("#")[0] for each in key.split(", ")]
        own = df.groupBy(*keys).agg(F.count("*").alias("n"))
        assert sorted_rows(counted, *keys, "n") == sorted_rows(own, *keys, "n")


@pytest.mark.slow(4)
def test_a_function_on_whole_keys(df):
    placed, _ = value_of(lines_of(applied(), "whole"), {"df": df, **WORK})
    own = df.groupBy("customer").applyInPandas(count, COUNTED)
    assert sorted_rows(placed, "customer", "n") == sorted_rows(own, "customer", "n")


def of_table(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
    return pa.table({"customer": pa.array([key[0].as_py()], pa.int64()), "n": [len(table)]})


@pytest.mark.slow(2)
def test_a_function_on_tables_of_whole_keys(df):
    plan = node("FlatMapGroupsInArrow", "", node("Sort", "", exchange(7)))
    names = {"df": df, "work": of_table, "schema": COUNTED}
    placed, _ = value_of(lines_of(plan, "whole"), names)
    own = df.groupBy("customer").applyInArrow(of_table, COUNTED)
    assert sorted_rows(placed, "customer", "n") == sorted_rows(own, "customer", "n")
    assert lines_of(plan, "split").endswith(".applyInArrow(work, schema, merge=merge)")


def both_sides(key: tuple[int], left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    found = {"customer": pd.array([key[0]], "Int64"), "n": [1000 * len(left) + len(right)]}
    return pd.DataFrame(found)


def both_tables(left: pa.Table, right: pa.Table) -> pa.Table:
    return pa.table({"customer": pa.array([None], pa.int64()), "n": [len(left) + len(right)]})


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    "method", most_in_soak(["applyInPandas", "applyInArrow"], 3, slow=["applyInArrow"])
)
def test_cogroups_of_whole_keys(spark, df, method):
    kind = f"FlatMapCoGroups{method.removeprefix('apply')}"
    plan = node(kind, "", exchange(7), exchange(8, "client number#5L"))
    right = spark.createDataFrame(
        [(0, "a"), (0, "b"), (3, "c"), (None, "d"), (77, "e")], "`client number` long, name string"
    )
    work = both_sides if method == "applyInPandas" else both_tables
    names = {"left": df, "right": right, "work": work, "schema": COUNTED}
    line = lines_of(plan, "whole")
    assert line == (
        'eks.groupBy(left, "customer", workers=3).cogroup(eks.groupBy(right, "client number"))'
        f".{method}(work, schema)"
    )
    placed, _ = value_of(line, names)
    cogrouped = df.groupBy("customer").cogroup(right.groupBy("client number"))
    own = getattr(cogrouped, method)(work, COUNTED)
    assert sorted_rows(placed, "customer", "n") == sorted_rows(own, "customer", "n")


@pytest.mark.slow(3)
def test_a_function_on_parts_of_keys(df):
    key = "customer#1L, shop name#2"
    for plan in (applied(), applied(key=key)):
        merged, _ = value_of(lines_of(plan, "split"), {"df": df, **WORK})
        keys = ["customer"] if plan == applied() else ["customer", "shop name"]
        own = df.groupBy(*keys).applyInPandas(count, COUNTED)
        assert sorted_rows(merged, "customer", "n") == sorted_rows(own, "customer", "n")


def test_a_stage_of_our_own_groupby_is_named_by_the_users_key():
    ours = applied(key="customer#1L, __evenkey_split#9")
    assert lines_of(ours, "split") == lines_of(applied(), "split")


@pytest.mark.slow(3)
def test_a_window_of_python_over_whole_keys(df):
    window = node("ArrowWindowPython", "", node("Sort", "", exchange(7)))
    by, names = value_of(lines_of(window, "whole"), {"df": df})
    ranked = names["placed"].withColumn("rank", F.row_number().over(by.orderBy("amount")))
    own = Window.partitionBy("customer").orderBy("amount")
    columns = ("customer", "amount", "rank")
    expected = df.withColumn("rank", F.row_number().over(own))
    assert sorted_rows(ranked, *columns) == sorted_rows(expected, *columns)


@pytest.mark.slow(6)
@pytest.mark.parametrize(
    ("order", "key"),
    most_in_soak(
        [("amount#3L ASC NULLS FIRST", "amount"), ("amount#3L DESC NULLS LAST", "-amount")],
        6,
        slow=[("amount#3L DESC NULLS LAST", "-amount")],
    ),
)
def test_a_window_in_pieces(df, order, key):
    text = f"Window [row_number() windowspecdefinition(...) AS n#9], [customer#1L], [{order}]"
    window = node("Window", text, node("Sort", "", exchange(7)))
    code = lines_of(window, "split")
    result, _ = value_of(code, {"df": df, "columns": {"rank": F.row_number()}})
    own = Window.partitionBy("customer").orderBy(F.expr(key))
    columns = ("customer", "amount", "rank")
    expected = df.withColumn("rank", F.row_number().over(own))
    assert sorted_rows(result, *columns) == sorted_rows(expected, *columns)


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    ("kind", "how", "sign"),
    most_in_soak(
        [
            ("Inner", "inner", ">="),
            ("Inner", "inner", "<"),
            ("LeftOuter", "left", ">="),
            ("LeftOuter", "left", "<"),
        ],
        4,
        slow=[("Inner", "inner", ">="), ("LeftOuter", "left", "<")],
    ),
)
def test_an_as_of_join_of_divided_keys(spark, df, kind, how, sign):
    sides = "[customer#1L], [customer#5L], [amount#3L], [at#6L]"
    text = f"SortMergeAsOfJoin {sides}, (amount#3L {sign} at#6L), (amount#3L - at#6L), {kind}"
    plan = node("SortMergeAsOfJoin", text, exchange(7), exchange(8, "customer#5L"))
    right = spark.range(0, 500, 7).selectExpr("id % 4 as customer", "id as at")
    joined, _ = value_of(lines_of(plan, "split"), {"left": df, "right": right})
    best = F.max("at") if sign == ">=" else F.min("at")
    matches = df.join(right, ["customer"]).where(f"amount {sign} at")
    nearest = matches.groupBy("customer", "shop name", "amount").agg(best.alias("at"))
    own = df.join(nearest, ["customer", "shop name", "amount"], how)
    columns = ("customer", "shop name", "amount", "at")
    assert sorted_rows(joined, *columns) == sorted_rows(own, *columns)


def test_the_first_rows_of_each_key_need_no_remedy():
    limit = node("WindowGroupLimit", "WindowGroupLimit [customer#1L], ...", exchange(7))
    assert remedies_for(read_of(node("Window", "", limit)), WORKERS, stream=False) == []


def test_rows_behind_a_repartition(df):
    plan = node("MapInPandas", "", exchange(7, origin="REPARTITION_BY_NUM"))
    placed, _ = value_of(lines_of(plan, "split"), {"df": df})
    columns = ("customer", "shop name", "amount")
    assert sorted_rows(placed, *columns) == sorted_rows(df, *columns)


@pytest.mark.slow(2)
def test_a_write_by_the_columns_of_its_partitions(df, tmp_path):
    keys = "customer#1L, shop name#2"
    writing = node(
        "WriteFiles", "", node("Sort", "", exchange(7, keys, origin="REPARTITION_BY_COL"))
    )
    written, _ = value_of(lines_of(node("Execute InsertInto", "", writing), "split"), {"df": df})
    written.parquet(str(tmp_path / "out"))
    found = df.sparkSession.read.parquet(str(tmp_path / "out"))
    columns = ("customer", "shop name", "amount")
    assert sorted_rows(found, *columns) == sorted_rows(df, *columns)


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    ("kind", "how"),
    most_in_soak(
        [
            ("Inner", "inner"),
            ("LeftOuter", "left"),
            ("LeftSemi", "semi"),
            ("LeftAnti", "anti"),
            ("RightOuter", "right"),
            ("FullOuter", "full"),
        ],
        3,
        slow=[("FullOuter", "full")],
    ),
)
def test_a_join_of_divided_keys(spark, df, kind, how):
    text = f"SortMergeJoin [customer#1L], [customer#5L], {kind}"
    plan = node("SortMergeJoin", text, exchange(7), exchange(8, "customer#5L"))
    right = spark.createDataFrame(
        [(0, "a"), (0, "b"), (3, "c"), (None, "d"), (77, "e")], "customer long, name string"
    )
    left = df.where("amount < 200")
    joined, _ = value_of(lines_of(plan, "split"), {"left": left, "right": right})
    own = left.join(right, ["customer"], how)
    assert sorted_rows(joined, *own.columns) == sorted_rows(own, *own.columns)
    assert own.count() > 0


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    ("kind", "how"),
    most_in_soak(
        [("LeftOuter", "left"), ("LeftAnti", "anti"), ("RightOuter", "right")],
        4,
        slow=[("RightOuter", "right")],
    ),
)
def test_spark_joins_rows_without_null_keys_apart(spark, df, kind, how):
    text = f"SortMergeJoin [customer#1L], [customer#5L], {kind}"
    plan = node("SortMergeJoin", text, exchange(7), exchange(8, "customer#5L"))
    right = spark.createDataFrame(
        [(0, "a"), (3, "c"), (None, "d"), (77, "e")], "customer long, name string"
    )
    run = Run(0, Execution(0, node_of(plan), ""), read_of(plan), TASKS, (9,), None, None)
    (answer,) = of_null_keys(Slow(run, (4, 1), WORKERS, stream=False))
    joined, _ = value_of(answer.code, {"left": df, "right": right})
    own = df.join(right, ["customer"], how)
    assert sorted_rows(joined, *own.columns) == sorted_rows(own, *own.columns)
    assert own.where("customer is null").count() > 0


@pytest.mark.classic("it reads the plan that ran")
@pytest.mark.parametrize("kind", ["Inner", "LeftOuter", "LeftSemi", "LeftAnti", "RightOuter"])
def test_spark_broadcasts_a_side(spark, df, kind):
    text = f"SortMergeJoin [customer#1L], [customer#5L], {kind}"
    plan = node("SortMergeJoin", text, exchange(7), exchange(8, "customer#5L"))
    writing = (Writing(0.0, 1, 5_000), Writing(0.0, 1, 4_000))
    right = spark.range(50).withColumnRenamed("id", "customer")
    run = Run(0, Execution(0, node_of(plan), ""), read_of(plan), TASKS, (9,), None, None, writing)
    (answer,) = of_skewed_join(Slow(run, (4, 3), WORKERS, stream=False))
    joined, _ = value_of(answer.code, {"left": df, "right": right})
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().toString()


def test_spark_has_the_settings_with_the_defaults_that_are_assumed(spark):
    for name, default in KNOWN.items():
        if name == PARTITIONS:  # which the session of the tests sets
            continue
        given = {name: spark.conf.get(name)}
        is_size = default.endswith("MB")
        assert bytes_of(given, name) == bytes_of({}, name) if is_size else given[name] == default


def test_sql_has_an_as_of_join(spark):
    ours = spark.newSession()
    ours.conf.set("spark.sql.join.asofJoin.enabled", "true")
    ours.sql("SELECT 1 AS k, 5 AS at").createOrReplaceTempView("left_rows")
    ours.sql("SELECT 1 AS k, 3 AS at, 'x' AS v").createOrReplaceTempView("right_rows")
    rows = ours.sql(
        "SELECT v FROM left_rows ASOF JOIN right_rows "
        "MATCH_CONDITION (left_rows.at >= right_rows.at) ON left_rows.k = right_rows.k"
    ).collect()
    assert [row.v for row in rows] == ["x"]
