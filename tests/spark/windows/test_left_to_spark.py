"""Columns that Spark's own window computes, wrong calls, and what `explain` says."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.spark.windows.window_frames import frame_of
from tests.spark.windows import ordered_rows
from tests.spark.windows.ordered_rows import WORKERS, assert_same

NO_CARRY = "nothing that could be carried from piece to piece"


@pytest.mark.slow(4)
def test_other_functions_are_computed_by_spark(session):
    rows = ordered_rows.rows(session)
    columns = {
        "names": F.collect_list("name"),
        "n": F.row_number(),
        "words": F.expr("sum(amount)"),
        "wide": F.sum(F.col("cents").cast("decimal(38, 2)")),
        "skipped": F.expr("lag(amount) ignore nulls"),
        "total": F.sum("amount"),
    }
    got = assert_same(rows, ["user"], ["whole", "id"], columns)
    assert got.columns[-6:] == list(columns)


@pytest.mark.slow(8)
def test_values_that_cannot_come_to_the_driver_are_left_to_spark(session):
    """Such values are still copied from piece to piece, as in `before`."""
    months = F.make_ym_interval(F.lit(0), F.col("amount").cast("int"))
    rows = ordered_rows.rows(session).withColumn("months", months)
    columns = {
        "total": F.sum("months"),
        "last": F.last(F.struct("name", "months")),
        "before": F.lag("months", 11),
        "n": F.count("months"),
    }
    explained = operators.explain(operators.over, rows, "user", "id", columns, workers=WORKERS)
    total, last, before, n = explained.placements[0].notes[:4]
    assert "(Spark cannot bring values of type interval year to month to the driver" in total
    assert "(Spark cannot bring values of type interval" in last
    assert "rows" in before
    assert "carried" in n
    # PySpark itself cannot collect such values in all versions.
    texts = {f"{name}_text": F.col(name).cast("string") for name in ("total", "last", "before")}
    got = operators.over(rows, "user", "id", columns, workers=WORKERS).withColumns(texts)
    wanted = ordered_rows.over_spark(rows, ["user"], ["id"], columns, frame_of(None, None))
    assert got.schema.fields[:-3] == wanted.schema.fields
    shown = ["id", *texts, "n"]
    found, expected = (
        sorted(map(tuple, each.select(*shown).collect()))
        for each in (got, wanted.withColumns(texts))
    )
    assert found == expected


def test_explain_says_how_each_column_is_computed(session):
    rows = ordered_rows.rows(session)
    columns = {"n": F.row_number(), "lag": F.lag("id"), "names": F.collect_list("name")}
    explained = operators.explain(
        operators.over, rows, "user", F.desc("whole"), columns, workers=WORKERS
    )
    (placement,) = explained.placements
    assert explained.operator == "over(user order by whole desc)"
    assert placement.choice == "hot keys are cut into 4 pieces"
    assert placement.hot_keys[0].name == "user 0"
    assert placement.hot_keys[0].tasks == 4
    assert placement.loads.max() < placement.spark_loads.max() / 2
    assert placement.notes[:3] == (
        "n: a value carried from other pieces",
        "lag: a value carried from other pieces",
        f"names: Spark's own window, in one task for each key ({NO_CARRY} gives collect_list)",
    )


@pytest.mark.parametrize(
    ("key", "order", "columns", "reason"),
    [
        ("user", "id", {"x": F.collect_list}, "no column can be computed on parts of a key"),
        ("real", "id", {"x": F.sum}, "real has floating-point numbers"),
        ("user", "ids", {"x": F.sum}, "which is of type array<bigint>"),
        ("months", "id", {"x": F.sum}, "months: Spark cannot bring values of type interval month"),
    ],
)
def test_explain_says_why_spark_computes_all(session, key, order, columns, reason):
    months = F.col("user").cast("interval month")
    rows = ordered_rows.rows(session).withColumns({"ids": F.array("id"), "months": months})
    asked = {name: function("amount") for name, function in columns.items()}
    explained = operators.explain(operators.over, rows, key, order, asked, workers=WORKERS)
    assert reason in explained.placements[0].choice
    got = operators.over(rows, key, order, asked, workers=WORKERS)
    assert got.count() == 600


WRONG: dict[str, Any] = {
    r"columns\['x'\] = Column.*one window function": lambda: {"columns": {"x": F.col("amount")}},
    r"it is not one window function": lambda: {"columns": {"x": F.sum("amount") + 1}},
    r"'x'\] = .*upper.*not one window function": lambda: {"columns": {"x": F.upper("name")}},
    r"'one'\] = .*not one window function": lambda: {"columns": {"x": F.rank(), "one": F.lit(1)}},
    r"columns\['x'\] = 'sum': must be a window function": lambda: {"columns": {"x": "sum"}},
    r"there is a column 'user' already": lambda: {"columns": {"user": F.rank()}},
    r"columns = {}: must be a dict": lambda: {"columns": {}},
    r"there is no column 'none'": lambda: {"partition_by": "none"},
    r"order_by = 'never': there is no column": lambda: {"order_by": "never"},
    r"partition_by = 3: must be a column's name": lambda: {"partition_by": [3]},
    r"name at least one column": lambda: {"order_by": []},
    r"workers = 0": lambda: {"workers": 0},
    r"exact = 'all': must be True or False": lambda: {"exact": "all"},
    r"pass one of them": lambda: {"rows_between": (0, 1), "range_between": (0, 1)},
    r"rows_between = 3: must be two whole numbers": lambda: {"rows_between": 3},
    r"begins after its end": lambda: {"rows_between": (1, 0)},
    r"Spark can compute here": lambda: {"range_between": (-1, 1), "order_by": ["id", "whole"]},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_calls_are_refused_in_one_line(session, message):
    rows = ordered_rows.rows(session, 10)
    good: dict[str, Any] = {
        "partition_by": "user",
        "order_by": "id",
        "columns": {"x": F.sum("amount")},
    }
    with pytest.raises(ConfigurationError, match=message) as refused:
        operators.over(rows, **(good | WRONG[message]()))
    assert len(str(refused.value).splitlines()) == 1


def test_a_column_with_a_window_of_its_own_is_refused(session):
    rows = ordered_rows.rows(session, 10)
    column = F.sum("amount").over(Window.partitionBy("user"))
    with pytest.raises(ConfigurationError, match="it is not one window function"):
        operators.over(rows, "user", "id", {"x": column})


def test_a_stream_is_refused(session):
    stream = session.readStream.format("rate").load()
    with pytest.raises(ConfigurationError, match=r"df is a stream.*foreachBatch"):
        operators.over(stream, "value", "timestamp", {"n": F.row_number()})
