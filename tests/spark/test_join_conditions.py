"""Joins on conditions that compare columns of both sides for equality, as in Spark's join."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.spark.joins.conditions import OnConditions
from evenkey.spark.joins.join_keys import join_keys
from tests.spark import oracle, skewed_joins
from tests.spark.offered import offer, stream_of
from tests.spark.skewed_joins import KINDS

eks: Any = operators
WORKERS = 6


@pytest.fixture(scope="module")
def plain(session):
    """Make a session without automatic broadcasts."""
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    return session


@pytest.fixture(scope="module")
def sides(plain):
    """Make sides that both have a column `k`; 60 % of the left rows have one key."""
    left = plain.range(0, 600, 1, 3).selectExpr(
        "case when id % 10 < 6 then 0 else id % 37 end as a",
        "id as k",
        "if(id % 5 > 0, concat('X', id % 2), null) as s",
    )
    right = plain.range(0, 90, 1, 2).selectExpr(
        "cast(id % 45 as int) as b", "id as k", "if(id % 4 > 0, concat('x', id % 2), null) as t"
    )
    return left, right


CONDITIONS: dict[str, Any] = {
    "one": lambda left, right: left.a == right.b,
    "turned round": lambda left, right: right.b == left.a,
    "joined by &": lambda left, right: (left.a == right.b) & (right.t == F.lower(left.s)),
    "a list": lambda left, right: [left["a"] == right["b"], left.k == right.k],
    "nulls are equal": lambda left, right: [left.a == right.b, left.s.eqNullSafe(F.upper("t"))],
    "by bare names": lambda _, __: F.col("a") == F.col("b"),
}


def same(cases):
    """Compare all pairs of DataFrames in one job."""
    every = []
    for case, (got, expected) in cases.items():
        assert got.schema == expected.schema, case
        differing = skewed_joins.differing(got, expected)
        every.append(differing.select(F.lit(case).alias("case"), "*"))
    assert functools.reduce(DataFrame.unionAll, every).collect() == []


@pytest.mark.soak
def test_every_kind_gives_what_it_gives_on_spark(sides):
    left, right = sides
    on = CONDITIONS["joined by &"](left, right)
    same(
        {how: (eks.join(left, right, on, how, WORKERS), left.join(right, on, how)) for how in KINDS}
    )


@pytest.mark.slow(15)
def test_every_form_gives_what_it_gives_on_spark(sides):
    left, right = sides
    conditions = {case: make(left, right) for case, make in CONDITIONS.items()}
    same(
        {
            case: (eks.join(left, right, on, "full", WORKERS), left.join(right, on, "full"))
            for case, on in conditions.items()
        }
    )
    (placement,) = eks.explain(eks.join, left, right, conditions["one"], "left", WORKERS).placements
    assert placement.choice.startswith("split keys (1 by distributing the left rows")


@pytest.mark.soak(8)
def test_columns_of_either_side_are_found_in_the_result(sides):
    left, right = sides
    on = left.a == right.b
    got = eks.join(left, right, on, "left", WORKERS).select(right.k, left.k)
    same({"by frame": (got, left.join(right, on, "left").select(right.k, left.k))})
    one, other = left.alias("one"), left.where("k < 40").alias("other")
    on = F.col("one.k") == F.col("other.a")
    got = eks.join(one, other, on, "inner", WORKERS).select("one.s", "other.k")
    same({"self join": (got, one.join(other, on).select("one.s", "other.k"))})


@pytest.mark.slow(3)
def test_keys_that_cannot_be_placed_are_left_to_spark(sides):
    left, right = sides
    on = [left.a.cast("double") == right.b]
    explanation = str(eks.explain(eks.join, left, right, on, "inner", WORKERS))
    assert "Spark's own join (key " in explanation
    assert " is of types double and int; cast one side" in explanation
    same({"double": (eks.join(left, right, on, "inner", WORKERS), left.join(right, on))})


SAFE: dict[str, Any] = {
    "nullability": ("id as a", "nullif(id, -1) as b"),
    "numbers": ("int(id) as a", "nullif(id, -1) as b"),
    "decimals": ("cast(id as decimal(9, 2)) as a", "int(id) as b"),
    "arrays": ("array(id) as a", "array(nullif(id, -1)) as b"),
    "structs": ("named_struct('f', id) as a", "named_struct('f', nullif(id, -1)) as b"),
}


@pytest.mark.parametrize("case", SAFE)
def test_types_may_differ_in_nullability_and_in_size(plain, case):
    left, right = (plain.range(1).selectExpr(each) for each in SAFE[case])
    conditions = [left.a.eqNullSafe(right.b)]
    first, second, names, shown = OnConditions(conditions).keyed(left, right)
    keys = join_keys(first, second, names, shown)
    assert not isinstance(keys, str)
    hashes = [
        side.select(F.xxhash64(*columns)).collect()
        for side, columns in ((first, keys.left), (second, keys.right))
    ]
    assert hashes[0] == hashes[1]


def test_floating_point_numbers_are_named_as_the_reason(plain):
    left, right = plain.range(1).selectExpr("id as a"), plain.range(1).selectExpr("double(id) as b")
    keyed = OnConditions([left.a.eqNullSafe(right.b)]).keyed(left, right)
    assert "has floating-point numbers" in str(join_keys(*keyed))


@pytest.mark.slow(10)
def test_nulls_are_equal_in_columns_of_which_one_has_none(sides):
    """Each side is shuffled once, by the column in the type in which Spark compares it."""
    left, right = sides[0].withColumn("a", F.coalesce("a", F.lit(0))), sides[1]
    cases = {}
    for case, kind in {"nullability": "bigint", "numbers": "int"}.items():
        other = right.withColumn("b", F.when(F.col("b") != 3, F.col("b").cast(kind)))
        on = [left.a.eqNullSafe(other.b)]
        got = eks.join(left, other, on, "full", WORKERS)
        plan = oracle.plan_of(got)
        assert plan.count("REPARTITION_BY_NUM") == plan.count("Exchange hash") == 2, case
        cases[case] = (got, left.join(other, on, "full"))
    same(cases)


@pytest.mark.soak(12)
def test_a_stream_and_a_batch(plain, tmp_path):
    rows = pa.table({"a": [0] * 150 + [*range(50)], "k": [*range(200)]})
    offer(tmp_path / "input", [rows])
    stream = stream_of(plain, tmp_path / "input")
    read = plain.read.parquet(str(tmp_path / "input"))
    static = plain.range(40).selectExpr("id % 20 as b", "id as k")
    eks.fit(read, "a", "planned", WORKERS, state=tmp_path / "state")

    def joined(left, join):
        on = left.a == static.b
        first = join(left, static, on, "left")
        second = join(static, left, on, "right").select(*(static[c] for c in "bk"), left.a, left.k)
        names = ["a", "k", "b", "other"]
        return first.toDF(*names).unionAll(second.toDF("b", "other", "a", "k").select(names))

    join = functools.partial(eks.join, workers=WORKERS, state=tmp_path / "state")
    (found,) = oracle.run(joined(stream, join), tmp_path).values()
    expected = joined(read, lambda left, right, on, how: left.join(right, on, how))
    same({"stream": (plain.createDataFrame(found), expected)})


@pytest.mark.parametrize(
    ("on", "says"),
    [
        (lambda left, right: left.a > right.b, "is not an equality of two columns; pass left.a"),
        (lambda left, right: (left.a == right.b) | (left.k == right.k), "is not an equality"),
        (lambda left, right: (left.a == right.b) & (left.k < right.k), "filter the result by"),
        (lambda _, __: F.expr("a = b"), "it is not an equality of two columns; pass"),
        (lambda left, _: left.a == left.k, "must compare a column of the left side with a"),
        (lambda left, right: ["k", left.a == right.b], "on: names and conditions are mixed"),
        (lambda _, __: F.col("a") == F.col("nowhere"), "with name `nowhere` cannot be resolved"),
        (lambda _, __: F.col("k") == F.col("k"), ": Spark cannot join on this ([AMBIGUOUS_"),
    ],
)
def test_what_is_no_equality_is_refused_in_one_line(sides, on, says):
    left, right = sides
    with pytest.raises(ConfigurationError) as refused:
        eks.join(left, right, on(left, right), "inner", WORKERS)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
