"""As-of joins give the matches of a comparison of all pairs, of pandas, and of Spark's own."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from tests.spark.asof.timed_rows import (
    PANDAS,
    TIMES,
    TOLERANCES,
    WORKERS,
    by_pandas,
    joined,
    left_rows,
    matched,
    right_rows,
)
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTIONS: tuple[Any, ...] = ("backward", "forward", "nearest")
RULES = [*zip(DIRECTIONS * 2, [True] * 3 + [False] * 3, [False, True] * 3, strict=True)]
"""Direction, whether equal times match, and whether there is a tolerance."""
HALVES = [RULES[0], RULES[4], RULES[5]], RULES[1:4]
"""Each half has all directions, with and without equal times, with and without a tolerance."""
WHOLE = ["whole"]
OWN_JOIN = "SELECT l.id, r.other FROM asof_left l LEFT ASOF JOIN asof_right r"


def rule(name: str, direction: str, exact: bool, bounded: bool) -> dict[str, Any]:  # noqa: FBT001
    tolerance = TOLERANCES[name] if bounded else None
    return {"direction": direction, "allow_exact_matches": exact, "tolerance": tolerance}


@pytest.mark.soak(6)
@pytest.mark.parametrize("name", TIMES)
def test_times_of_all_types(session, name):
    """The matches are those of all pairs of rows, and of pandas if it takes such times."""
    left, right = (make(session, times=[name]).cache() for make in (left_rows, right_rows))
    for each in HALVES[[*TIMES].index(name) % 2]:
        options = rule(name, *each)
        found = matched(left, right, ["user"], name, **options)
        assert found == joined(left, right, ["user"], name, **options), each
        if name in PANDAS:
            wanted = by_pandas(left, right, ["user"], name, **options)
            assert {id_: found[id_] for id_ in wanted} == wanted, each
            assert {found[id_] for id_ in found.keys() - wanted.keys()} == {None}


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    "name",
    ["real", *(pytest.param(f, marks=pytest.mark.soak) for f in ("decimal", "day"))],
)
def test_sparks_own_join_finds_rows_of_the_same_time(session, name):
    """Of right rows with equal times, Spark's join takes either; it misses infinite times."""
    if session.version < "4.3":
        pytest.skip("Spark's SQL has ASOF JOIN since 4.3")
    session.conf.set("spark.sql.join.asofJoin.enabled", "true")
    known = f"abs({name}) < double('Infinity')" if name == "real" else "true"
    left_rows(session, times=[name]).where(known).createOrReplaceTempView("asof_left")
    right = (
        right_rows(session, times=[name]).where(known).select("user", F.col(name).alias("other"))
    )
    right.createOrReplaceTempView("asof_right")
    left = session.table("asof_left")
    # Equal times match in one direction: for decimals in the other than for doubles and days.
    exact_backward = name != "decimal"
    for direction, exact in (("backward", exact_backward), ("forward", not exact_backward)):
        sign = {"backward": ">", "forward": "<"}[direction] + ("=" if exact else "")
        condition = f"MATCH_CONDITION (l.{name} {sign} r.other) ON l.user = r.user"
        own = session.sql(f"{OWN_JOIN} {condition}")
        options: dict[str, Any] = {"direction": direction, "allow_exact_matches": exact}
        found = operators.asof_join(
            left, right, "user", name, "other", workers=WORKERS, **options
        ).select("id", "other")
        assert sorted(found.collect(), key=str) == sorted(own.collect(), key=str), sign


@pytest.mark.soak(7)
def test_left_rows_without_a_match_are_left_out(session):
    left, right = left_rows(session, 200, times=WHOLE), right_rows(session, 60, times=WHOLE)
    options: dict[str, Any] = {"how": "inner", "tolerance": 10}
    found = matched(left, right, ["user"], "whole", **options)
    assert found == joined(left, right, ["user"], "whole", **options)
    assert None not in found.values()
    assert 0 < len(found) < 200


@pytest.mark.soak(5)
def test_a_row_is_the_nearest_though_its_distance_fits_no_bigint(session):
    first, last = -(1 << 63), (1 << 63) - 1
    left = session.createDataFrame([("a", 1), ("b", -2), ("c", 1)], "key string, at long")
    right = session.createDataFrame(
        [("a", first), ("b", last), ("c", first), ("c", last)], "key string, then long"
    )
    found = operators.asof_join(
        left, right, "key", "at", "then", workers=2, direction="nearest"
    ).select("key", "then")
    assert {tuple(row) for row in found.collect()} == {("a", first), ("b", last), ("c", last)}


@pytest.mark.soak(6)
def test_the_longest_tolerance_is_none(session):
    left, right = left_rows(session, 60), right_rows(session, 40)
    for name in ("time", "local", "day"):
        found, wanted = (
            matched(left, right, "user", name, cuts=False, workers=1, tolerance=each)
            for each in (dt.timedelta.max, None)
        )
        assert found == wanted, name
        assert any(found.values())


ORDERS: dict[str, Callable[[], Any]] = {
    "ascending": lambda: "seq",
    "descending": lambda: F.desc("seq"),
    "two columns": lambda: [F.desc_nulls_first("bid"), "seq"],
}


@pytest.mark.slow(3)
@pytest.mark.parametrize("order", most_in_soak(ORDERS, 3, slow=["two columns"]))
def test_an_order_decides_between_right_rows_of_equal_times(session, order):
    """Forward takes the first row of each day, so without the other rows the result is the same."""
    given = ORDERS[order]()
    left, right = left_rows(session, times=["day"]), right_rows(session, 1000, times=["day"])
    right = right.withColumn("day", F.expr("date_add(date'1969-12-01', cast(bid % 5 as int))"))
    window = Window.partitionBy("user", "day").orderBy(
        *(given if order == "two columns" else [given])
    )
    first = right.withColumn("n", F.row_number().over(window)).where("n = 1").drop("n")
    found = matched(left, right, "user", "day", direction="forward", right_order=given)
    assert found == matched(left, first, "user", "day", direction="forward", cuts=False)


@pytest.mark.slow(12)
def test_without_an_order_the_rows_decide(session):
    left, right = left_rows(session, 300, times=WHOLE), right_rows(session, 300, times=WHOLE)
    right = right.withColumn("whole", F.expr("whole div 100"))
    found = matched(left, right, "user", "whole", right_order=None)
    again = matched(left, right.repartition(7).sort("bid"), "user", "whole", right_order=None)
    assert found == again
    assert {*found.values()} > {None}
