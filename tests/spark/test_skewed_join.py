"""A balanced join has the rows of Spark's own join, on the workers of its plan."""

from __future__ import annotations

import functools

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey import spark as operators
from tests.spark import skewed_joins
from tests.spark.skewed_joins import KINDS, TYPES
from tests.tiers import most_in_soak

WORKERS = 12


@pytest.fixture(scope="module")
def plain(session):
    """Make a session without automatic broadcasts."""
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    return session


def both(sides, how, **options):
    expected = sides.left.join(sides.right, sides.on, how)
    got = operators.join(sides.left, sides.right, sides.on, how, WORKERS, **options)
    assert got.schema == expected.schema
    return got, expected


@pytest.mark.slow(4)
def test_rows_are_those_of_sparks_own_join(plain):
    sides = skewed_joins.of_counts(plain)
    assert_same({how: both(sides, how) for how in KINDS})


@pytest.mark.soak
@pytest.mark.parametrize("how", KINDS)
def test_keys_of_all_types_match_as_in_sparks_own_join(plain, how):
    """Full joins have unmatched rows of both sides; the others share the types in turn."""
    names = [*TYPES] if how == "full" else [*TYPES][KINDS.index(how) % 2 :: 2]
    assert_same({name: both(skewed_joins.of_type(plain, name), how) for name in names})


@pytest.mark.slow(6)
@pytest.mark.parametrize("how", most_in_soak(["full", "left", "right"], 6, slow=["full"]))
def test_keys_with_the_same_hash_have_their_own_unmatched_rows(plain, how):
    """Spark's hash skips nulls in arrays; the hot key comes first in its task."""
    hot, rare = "array('x', null)", "array(null, 'x')"
    many = plain.range(0, 4000, 1, 2).selectExpr(f"if(id <> 3500, {hot}, {rare}) as k", "id")
    few = plain.createDataFrame([(["x", None],), ([None, "x"],), (["x"],)], "k array<string>")
    few = few.selectExpr("k", "size(k) as other").repartition(2)
    assert many.union(few).selectExpr("xxhash64(k)").distinct().count() == 1
    sides = (few, many) if how == "left" else (many, few)
    on = [sides[0].k.eqNullSafe(sides[1].k)]
    cases = {}
    for case, key in {"names": "k", "nulls are equal": on}.items():
        got = operators.join(*sides, key, how, WORKERS)
        cases[case] = (got, sides[0].join(sides[1], key, how))
    assert_same(cases)


def assert_same(cases):
    """Compare all pairs of DataFrames in one job."""
    every = [
        skewed_joins.differing(got, expected).select(F.lit(case).alias("case"), "*")
        for case, (got, expected) in cases.items()
    ]
    assert functools.reduce(DataFrame.unionAll, every).collect() == []
