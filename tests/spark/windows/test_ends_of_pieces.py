"""Samples and thresholds that miss rows cost time or balance, and never change a result."""

from __future__ import annotations

import functools
import operator

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.spark.plans import key_sample
from evenkey.spark.plans.lookup import HASH
from evenkey.spark.windows import order_cuts
from evenkey.spark.windows.order_pieces import PIECE, is_hot, with_pieces
from evenkey.spark.windows.piece_tables import HotRows
from evenkey.spark.windows.window_plans import planned
from evenkey.spark.windows.window_request import WindowRequest
from tests.spark.oracle import plan_of
from tests.spark.windows import ordered_rows
from tests.spark.windows.ordered_rows import WORKERS, assert_same

ENDS = {
    "before": lambda: F.lag("amount", 2),
    "next": lambda: F.lead("name", 1),
    "first": lambda: F.first("amount"),
    "last": lambda: F.last("name"),
    "fourth": lambda: F.nth_value("amount", 4),
    "known": lambda: F.last("name", ignorenulls=True),
}
"""Functions that need rows at the ends of pieces."""


def ends():
    return {name: make() for name, make in ENDS.items()}


def asked(rows, order, columns, state=None):
    return WindowRequest.of(rows, "user", order, columns, None, None, WORKERS, state, None)


def hot_rows(rows, order):
    """Return the rows of hot keys with their pieces, and the number of pieces."""
    request = asked(rows, order, {"n": F.row_number()})
    cuts = planned(request).cuts
    assert cuts is not None
    keys, orders = request.keys, request.orders
    arrays = cuts.columns(keys.frame, orders)
    hashed = keys.frame.withColumn(HASH, keys.hashed).where(is_hot(cuts))
    placed = with_pieces(hashed, orders, cuts, arrays)
    return HotRows(placed, keys.quoted_names, orders, arrays), len(cuts.workers)


@pytest.mark.parametrize("columns", [0, 2])
def test_few_rows_are_near_the_ends_and_they_are_the_outermost(session, columns):
    order = [*[F.desc("text"), F.asc_nulls_last("real")][:columns], "id"]
    hot, pieces = hot_rows(ordered_rows.rows(session, 3000), order)
    marked = hot.frame.select(
        PIECE,
        hot.numbered(backward=False).alias("n"),
        F.count("*").over(Window.partitionBy(PIECE)).alias("rows"),
        hot.is_near(last=False).alias("first"),
        hot.is_near(last=True).alias("last"),
    ).collect()
    assert {row[PIECE] for row in marked} == {*range(1, pieces + 1)}
    for piece in range(1, pieces + 1):
        found = [row for row in marked if row[PIECE] == piece]
        count = found[0]["rows"]
        for end, numbers in (
            ("first", [row["n"] for row in found if row["first"]]),
            ("last", [count + 1 - row["n"] for row in found if row["last"]]),
        ):
            assert sorted(numbers) == [*range(1, len(numbers) + 1)], (piece, end)
            assert 1 <= len(numbers) <= max(1, 0.1 * count), (piece, end)


@pytest.mark.soak(4)
@pytest.mark.parametrize("frame", [{}, {"rows_between": (-2, 0)}, {"range_between": (-9, 0)}])
def test_the_plan_does_not_double_with_each_step_of_the_search(session, frame):
    """Each doubling of the pieces adds one step to the search for a row's piece."""
    rows = ordered_rows.rows(session)
    columns = {"total": F.sum("amount"), "first": F.first("amount"), "next": F.lead("amount", 1)}
    few, many = (
        len(plan_of(operators.over(rows, "user", "id", columns, workers=workers, **frame)))
        for workers in (WORKERS, 20 * WORKERS)
    )
    assert many < 8 * few


@pytest.mark.soak(6)
def test_no_subquery_waits_for_another_and_chains_grow_by_their_length(session):
    """All queries of a driver share Spark's threads for subqueries, 16 of them."""
    columns = {
        "total": F.sum("amount"),
        "first": F.first("amount"),
        "before": F.lag("amount", 11),
        "fourth": F.nth_value("amount", 4),
    }
    chain = ordered_rows.rows(session)
    sizes = []
    for number in range(3):
        named = {f"{name}_{number}": column for name, column in columns.items()}
        chain = operators.over(chain, "user", "id", named, workers=WORKERS)
        plan = plan_of(chain)
        outer: list[int] = []
        for line in plan.splitlines():
            depth = len(line) - len(line.lstrip(" :+-"))
            while outer and outer[-1] >= depth:
                outer.pop()
            if line.lstrip(" :+-").startswith("Subquery"):
                assert not outer, line
                outer.append(depth)
        assert "Subquery" in plan
        sizes.append(len(plan))
    # The rows are read once, and once more for copies.
    assert sizes[1] < 3.5 * sizes[0]
    assert sizes[2] < 3.5 * sizes[1]


@pytest.mark.slow(9)
def test_pieces_without_a_row_near_their_ends(session, tmp_path):
    """A stored plan has thresholds of other rows, between which all rows may lie."""
    state = tmp_path / "plan"
    rows = ordered_rows.rows(session, 3000)
    operators.over(rows, "user", "id", ends(), workers=WORKERS, state=state)
    cuts = planned(asked(rows, "id", ends(), state)).cuts
    assert cuts is not None
    firsts, lasts = (cuts.table[f"{end}_1"].to_pylist() for end in ("first", "last"))
    inner = [
        F.col("id").between(first + 1, last - 1) for first, last in zip(firsts, lasts, strict=True)
    ]
    within = rows.where(functools.reduce(operator.or_, inner))
    assert_same(within, ["user"], ["id"], ends(), state=state)


@pytest.mark.soak(3)
def test_values_are_null_or_structs_with_a_field_that_is_never_null(session):
    pair = F.when(F.col("amount").isNotNull(), F.struct("id", "amount"))
    columns = {
        "before": F.lag("pair", 1),
        "first": F.first("pair"),
        "known": F.last("pair", ignorenulls=True),
        "fourth": F.nth_value("pair", 4),
        "most": F.max("pair"),
        "within": F.last(F.struct("pair")),
    }
    rows = ordered_rows.rows(session).withColumn("pair", pair)
    assert_same(rows, ["user"], ["id"], columns)
    explained = operators.explain(operators.over, rows, "user", "id", columns, workers=WORKERS)
    *carried, within = explained.placements[0].notes[:6]
    assert all("carried" in each for each in carried)
    assert "PySpark refuses nulls of type struct<id:bigint,amount:bigint>, which has" in within


@pytest.mark.soak(2)
def test_a_stored_plan_whose_thresholds_hold_all_rows(session, tmp_path):
    state = tmp_path / "plan"
    operators.over(ordered_rows.rows(session), "user", "id", ends(), workers=WORKERS, state=state)
    for moved in (-10_000, 10_000):
        rows = ordered_rows.rows(session).withColumn("id", F.col("id") + moved)
        assert_same(rows, ["user"], ["id"], ends(), state=state)


@pytest.mark.slow(2)
def test_a_sample_with_few_rows_of_a_piece(session, monkeypatch):
    monkeypatch.setattr(order_cuts, "_SAMPLED", 2)
    rows = ordered_rows.rows(session)
    assert_same(rows, ["user"], [F.desc("whole"), "id"], ends(), cuts=False)
    assert_same(rows, ["user"], ["id"], ends(), cuts=False, rows_between=(-3, 2))


@pytest.mark.soak(4)
def test_a_sample_that_misses_the_hot_key(session, monkeypatch):
    rows = ordered_rows.rows(session)
    columns = {"n": F.row_number(), "total": F.sum("amount"), "before": F.lag("amount", 1)}
    hot = planned(asked(rows, "id", columns)).cuts
    assert hot is not None
    drawn = key_sample.drawn
    monkeypatch.setattr(key_sample, "drawn", lambda df, every: drawn(df.where("user <> 0"), every))
    found = planned(asked(rows, "id", columns)).cuts
    assert found is None or not {*hot.hashes} <= {*found.hashes}
    assert_same(rows, ["user"], ["id"], columns, cuts=False)


@pytest.mark.soak(3)
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_a_few_rows_finds_any_key_hot(session, monkeypatch, seed):
    for limit in ("_LEAST_ALL", "_MOST_ALL"):
        monkeypatch.setattr(key_sample, limit, 1 + seed)
    rows = ordered_rows.rows(session, 400, seed)
    columns = {"n": F.row_number(), "total": F.sum("amount"), **ends()}
    assert_same(rows, ["user"], ["whole", "id"], columns, cuts=False, workers=7)
