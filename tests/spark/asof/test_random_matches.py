"""As-of joins drawn at random: rules, keys, times, sizes and workers, against two other ways."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import functions as F

from tests.session import CASES
from tests.spark.asof.timed_rows import (
    PANDAS,
    TIMES,
    TOLERANCES,
    by_pandas,
    joined,
    left_rows,
    matched,
    right_rows,
)


class Case(NamedTuple):
    """An as-of join drawn from a seed."""

    left: int
    right: int
    on: list[str]
    time: str
    how: str
    rule: dict[str, Any]
    workers: int
    coarse: bool


def drawn(seed: int) -> Case:
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    time = chance.choice([*TIMES])
    tolerance = TOLERANCES[time] * chance.randint(0, 4) if chance.random() < 0.5 else None
    return Case(
        chance.choice([0, 1, 40, 300]),
        chance.choice([0, 1, 30, 200, 500]),
        chance.choice([["user"], ["user"], ["user", "kind"], []]),
        time,
        chance.choice(["left", "left", "inner"]),
        {
            "direction": chance.choice(["backward", "forward", "nearest"]),
            "allow_exact_matches": chance.random() < 0.6,
            "tolerance": tolerance,
        },
        chance.randint(1, 9),
        chance.random() < 0.3,
    )


def compare(session, seed):
    case = drawn(seed)
    left = left_rows(session, case.left, seed, times=[case.time])
    right = right_rows(session, case.right, seed + 1, times=[case.time])
    if case.coarse and case.time == "whole":
        left, right = (each.withColumn("whole", F.expr("whole div 80")) for each in (left, right))
    options: dict[str, Any] = {"how": case.how, **case.rule}
    # Both sides have columns named price, which have to stay.
    twice = right.withColumn("price", F.lit(0))
    found = matched(left, twice, case.on, case.time, cuts=False, workers=case.workers, **options)
    left, right = (each.withColumn("one", F.lit(1)) for each in (left, right))
    on = case.on or ["one"]
    assert found == joined(left, right, on, case.time, **options)
    if case.time in PANDAS and case.left and case.right:
        wanted = by_pandas(left, right, on, case.time, **case.rule)
        kept = {id_: seq for id_, seq in wanted.items() if case.how == "left" or seq is not None}
        assert {id_: found.get(id_) for id_ in kept} == kept


def test_one_random_join(session):
    compare(session, 0)


@pytest.mark.slow(5)
def test_another_random_join(session):
    compare(session, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, CASES))
def test_many_matches(session, seed):
    compare(session, seed)
