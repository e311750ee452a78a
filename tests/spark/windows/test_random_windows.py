"""Windows drawn at random: functions, frames, orders, keys and workers, against Spark's own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from tests.session import CASES
from tests.spark.windows import ordered_rows
from tests.spark.windows.ordered_rows import ORDERS, aggregates, assert_same, numbers, picks, ranks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

DIRECTIONS = (F.asc_nulls_first, F.asc_nulls_last, F.desc_nulls_first, F.desc_nulls_last)
NUMBERS = ("whole", "tiny", "long", "real", "single", "decimal")


class Case(NamedTuple):
    """A window drawn from a seed."""

    rows: int
    keys: list[Any]
    order: list[Any]
    columns: Mapping[str, Column]
    frames: dict[str, tuple[int, int]]
    workers: int


def drawn(seed: int) -> Case:
    """Draw a window. Where rows can be equal in the order, functions must not depend on it."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    kind = chance.choice(["total", "total", "peers", "values"])
    names = chance.sample(NUMBERS, 1) if kind == "values" else chance.sample([*ORDERS], 2)
    order: list[Any] = [chance.choice(DIRECTIONS)(name) for name in names]
    frames: dict[str, tuple[int, int]] = {}
    pool = {**ranks(), **aggregates()}
    if kind == "total":
        order.append(chance.choice([F.asc, F.desc])("id"))
        pool |= {**numbers(), **picks()}
        if chance.random() < 0.7:
            frames["rows_between"] = bounds(chance, 12)
    elif kind == "values":
        frames["range_between"] = bounds(chance, 40)
    columns = dict(chance.sample([*pool.items()], chance.randint(1, 8)))
    return Case(
        chance.choice([30, 200, 600]),
        chance.choice([["user"], ["user", "kind"], [F.col("user") + 1]]),
        order,
        columns,
        frames,
        chance.randint(2, 9),
    )


def bounds(chance: random.Random, most: int) -> tuple[int, int]:
    first, last = sorted(chance.randint(-most, most) for _ in range(2))
    sides = chance.choice(["before", "after", "both", "bounded", "bounded"])
    start = Window.unboundedPreceding if sides in ("before", "both") else first
    return start, Window.unboundedFollowing if sides in ("after", "both") else last


def compare(session, seed):
    case = drawn(seed)
    rows = ordered_rows.rows(session, case.rows, seed)
    options: dict[str, Any] = {"cuts": False, "workers": case.workers, **case.frames}
    assert_same(rows, case.keys, case.order, case.columns, **options)


@pytest.mark.slow(5)
def test_a_random_window(session):
    compare(session, 0)


@pytest.mark.soak(5)
@pytest.mark.parametrize("seed", range(1, CASES))
def test_many_windows(session, seed):
    compare(session, seed)
