"""Windows on pieces of hot keys have the values, types and nullability of Spark's own windows."""

from __future__ import annotations

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from tests.spark.windows import ordered_rows
from tests.spark.windows.ordered_rows import aggregates, assert_same, numbers, picks, ranks
from tests.tiers import most_in_soak

FIRST, LAST = Window.unboundedPreceding, Window.unboundedFollowing


def test_some_running_columns(session):
    rows = ordered_rows.rows(session, 200)
    columns = {**numbers(), **ranks(), **aggregates(), **picks()}
    some = ("n", "before", "far", "rank", "dense", "rows", "total", "mean_money", "least", "first")
    assert_same(rows, ["user"], ["whole", "id"], {name: columns[name] for name in some})


@pytest.mark.slow(7)
def test_running_columns_are_those_of_sparks_own_window(session):
    rows = ordered_rows.rows(session, 300)
    columns = {**numbers(), **ranks(), **aggregates(), **picks()}
    assert_same(rows, ["user"], ["whole", "id"], columns)


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    "frame",
    [
        (0, LAST),
        *(
            pytest.param(each, marks=pytest.mark.soak)
            for each in ((FIRST, -1), (FIRST, 2), (FIRST, 0), (-3, LAST), (1, LAST))
        ),
    ],
)
def test_frames_unbounded_on_one_side(session, frame):
    rows = ordered_rows.rows(session, 300)
    columns = {**aggregates(), **picks(), "before": F.lag("amount", 2)}
    assert_same(rows, ["user"], [F.desc("whole"), "id"], columns, rows_between=frame)


def shifts():
    return {
        "before": F.lag("amount", 1),
        "far": F.lag("name", 4),
        "next": F.lead("price", 2),
        "back": F.lead("amount", -10),
        "same": F.lag("cents", 0),
        "ahead": F.lag("ok", -3),
    }


@pytest.mark.slow(5)
@pytest.mark.parametrize("count", most_in_soak([200, 24], 5, slow=[24]))
def test_values_of_rows_near_by_are_carried(session, count):
    """With few rows, they come from several pieces, or the key has no such row."""
    rows = ordered_rows.rows(session, count)
    columns = {**shifts(), "n": F.row_number(), "total": F.sum("amount"), "first": F.first("name")}
    assert_same(rows, ["user"], [F.desc("whole"), "id"], columns, cuts=count > 100, workers=8)


@pytest.mark.soak(3)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [(F.lag, ("amount", 11)), (F.lead, ("amount", 1, 0)), (F.lag, ("id", 2, -1))],
)
def test_rows_further_away_and_defaults_are_copied_for_all_columns(session, function, arguments):
    rows = ordered_rows.rows(session, 200)
    assert_same(rows, ["user"], ["whole", "id"], {**shifts(), "more": function(*arguments)})


@pytest.mark.soak(5)
def test_bounded_frames_of_rows(session):
    rows = ordered_rows.rows(session, 300)
    columns = {**aggregates(), **picks(), "n": F.row_number(), "list": F.collect_list("amount")}
    assert_same(rows, ["user"], ["whole", "id"], columns, rows_between=(-3, 2))


@pytest.mark.soak(4)
@pytest.mark.parametrize("frame", [(-5, -2), (-100, 100), (1, 4), (0, 0)])
def test_other_bounded_frames_of_rows(session, frame):
    """The longest frame has the rows of several pieces."""
    rows = ordered_rows.rows(session, 300)
    columns = {**aggregates(), **picks(), **ranks()}
    assert_same(rows, ["user"], ["whole", "id"], columns, rows_between=frame)


@pytest.mark.slow(8)
def test_bounded_frames_of_values(session):
    rows = ordered_rows.rows(session, 300)
    columns = {"total": F.sum("amount"), "most": F.max("price"), **ranks(), "lag": F.lag("whole")}
    assert_same(rows, ["user"], ["whole"], columns, range_between=(-7, 5))


FRAMES_OF_VALUES = {
    # Doubles have NaN and infinite values.
    (F.asc_nulls_last, "real"): [(FIRST, 4), (-40, 3), (-2, LAST), (2, 9), (0, 0), (FIRST, -2)],
    (F.desc, "whole"): [(-40, 3), (FIRST, 4), (0, 0)],
    (F.desc, "tiny"): [(-2, LAST), (2, 9), (FIRST, -2)],
}
"""Frames by order: each frame with doubles and with one of the whole numbers."""


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    ("direction", "name", "frame"),
    [
        pytest.param(*order, frame, marks=pytest.mark.soak if number or "tiny" in order else ())
        for order, frames in FRAMES_OF_VALUES.items()
        for number, frame in enumerate(frames)
    ],
)
def test_other_frames_of_values(session, direction, name, frame):
    rows = ordered_rows.rows(session, 300)
    assert_same(rows, ["user"], [direction(name)], aggregates() | ranks(), range_between=frame)


@pytest.mark.soak(2)
def test_frames_unbounded_on_both_sides(session):
    rows = ordered_rows.rows(session, 300)
    columns = {**aggregates(), **ranks(), "distinct": F.approx_count_distinct("name")}
    assert_same(rows, ["user"], ["whole", "id"], columns, rows_between=(FIRST, LAST))


@pytest.mark.soak(3)
@pytest.mark.parametrize("name", ordered_rows.ORDERS)
def test_orders_of_all_types(session, name):
    """Every second type is ordered with nulls first, the others with nulls last."""
    rows = ordered_rows.rows(session)
    orders = [(F.asc, F.desc_nulls_first), (F.desc, F.asc_nulls_last)]
    for order in orders[[*ordered_rows.ORDERS].index(name) % 2]:
        columns = {**ranks(), "total": F.sum("amount")}
        assert_same(rows, ["user"], [order(name)], columns, cuts=name != "flag")
    columns = {"n": F.row_number(), "lag": F.lag("id")}
    assert_same(rows, ["user"], [F.desc(name), F.col("id") % 7, F.desc("id")], columns)
