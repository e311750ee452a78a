"""Several aggregators, and folds of functions, have the results of Spark's own groupBy."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from evenkey import Sum, fold
from evenkey import spark as operators
from evenkey.core.ddl import read_columns
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.groupings import available
from evenkey.spark.sessions.versions import from_arrow_schema
from tests.spark import oracle

if TYPE_CHECKING:
    from evenkey.aggregators import Aggregator

WORKERS, WINDOW = 4, "1 minute"
SPELLINGS = sorted(name for name, each in available().items() if not each.given_frequencies)
KEYS = ["key", "Kind of"]


def add(state, paid, time, kind):
    """Add a row to a state: the sum of payments, the latest time, and the set of kinds."""
    total, last, kinds = state
    return (
        total + (paid or 0),
        max(filter(None, (last, time)), default=None),
        kinds | ({str(kind)} if kind is not None else set()),
    )


def combine(first, second):
    return (
        first[0] + second[0],
        max(filter(None, (first[1], second[1])), default=None),
        first[2] | second[2],
    )


VISITS = fold(
    columns=["paid", "time", "kind of"],
    zero=(Decimal(0), None, frozenset()),
    add=add,
    combine=combine,
    answer=lambda state: (state[0], state[1], sorted(state[2])),
    result="revenue decimal(22,2), last timestamp, kinds array<string>",
    state_type="struct<revenue: decimal(22,2), last: timestamp, kinds: array<string>>",
)
ALL: dict[str, str | Aggregator] = {
    "orders": "count",
    "re venue": Sum("paid"),
    "mean": "mean(column=paid)",
    "amounts": "sum(column=amount)",
    "visits": VISITS,
}
NATIVE = {name: ALL[name] for name in ("orders", "re venue", "amounts")}


def plain(name):
    """Return Spark's own expression for a result."""
    return {
        "orders": F.count(F.lit(1)),
        "re venue": F.sum("paid"),
        "mean": F.avg("paid"),
        "amounts": F.sum("amount"),
        "visits": F.struct(
            F.coalesce(F.sum("paid"), F.lit(0)).cast("decimal(22,2)").alias("revenue"),
            F.max("time").alias("last"),
            F.array_sort(F.collect_set(F.col("Kind of").cast("string"))).alias("kinds"),
        ),
    }[name].alias(name)


def with_payments(df, number):
    paid = F.when(number % 11 != 0, (number % 1000).cast("decimal(12,2)") / 7)
    return df.select(
        "*",
        paid.cast("decimal(12,2)").alias("paid"),
        F.when(number % 13 != 0, number % 3).alias("Kind of"),
    )


@pytest.fixture(scope="module")
def batch(session):
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    df = oracle.skewed(own, 2000, 2)
    df = df.withColumn("time", F.when(F.col("id") % 101 != 0, F.col("time")))
    return with_payments(df, F.col("id")).cache()


def rows(df):
    return sorted((tuple(row) for row in df.collect()), key=str)


@pytest.mark.soak
def test_batch_under_every_grouping(batch):
    expected = batch.groupBy(*KEYS).agg(*map(plain, ALL))
    found = [operators.aggregate(batch, KEYS, each, WORKERS, aggregators=ALL) for each in SPELLINGS]
    assert [(each.name, each.dataType.simpleString()) for each in found[0].schema] == [
        (each.name, each.dataType.simpleString()) for each in expected.schema
    ]
    labelled = [
        each.withColumn("grouping", F.lit(grouping))
        for grouping, each in zip(SPELLINGS, found, strict=True)
    ]
    groups = rows(expected)
    wanted = [(*group, grouping) for grouping in SPELLINGS for group in groups]
    every = reduce(lambda one, other: one.union(other), labelled)
    assert rows(every) == sorted(wanted, key=str)


@pytest.mark.slow(3)
def test_spark_merges_what_it_can(batch):
    found = operators.aggregate(batch, KEYS, "dkg", WORKERS, aggregators=NATIVE)
    assert (
        oracle.plan_of(found).count("MapInArrow") == 1
    )  # that of the workers; no other after the merge
    expected = batch.groupBy(*KEYS).agg(*map(plain, NATIVE))
    assert rows(found) == rows(expected)


@pytest.mark.slow(2)
def test_a_fold_alone_in_windows(batch):
    found = operators.aggregate(batch, "key", "dkg", WORKERS, VISITS, time="time", window=WINDOW)
    windowed = batch.groupBy(F.window("time", WINDOW).alias("window"), "key")
    expected = windowed.agg(plain("visits")).select("window", "key", "visits.*")
    assert found.columns == expected.columns
    assert found.schema["last"].dataType == expected.schema["last"].dataType
    assert rows(found) == rows(expected)


@pytest.mark.soak
def test_stream(session, tmp_path):
    """Windows close when the watermark passes them; one query has all three ways to merge."""
    session = session.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    stream = generated("zipf(z=1.3,keys=60)", messages=4000, rate=20)
    offered = oracle.streaming(session, stream, tmp_path, epochs=3)
    df = with_payments(offered, F.col("position")).withColumn("amount", F.col("position") % 7)
    parts = [
        operators.aggregate(
            df, KEYS, grouping, WORKERS, aggregators=asked, time="time", window=WINDOW
        ).select(
            F.lit(grouping).alias("grouping"),
            "window.start",
            *KEYS,
            "orders",
            F.col("`re venue`").alias("re venue"),
            "amounts",
            (F.col("visits.last") if "visits" in asked else F.lit(None)).alias("last"),
        )
        for grouping, asked in (("pkg", ALL), ("dkg", NATIVE), ("planned", ALL))
    ]
    epochs = oracle.run(reduce(lambda one, other: one.union(other), parts), tmp_path)
    found = [tuple(row.values()) for table in epochs.values() for row in table.to_pylist()]

    read = session.read.schema(offered.schema).parquet(str(tmp_path / "input"))
    rest = with_payments(read, F.col("position")).withColumn("amount", F.col("position") % 7)
    closed = rest.where("position < 3600").groupBy(F.window("time", WINDOW).alias("window"), *KEYS)
    orders, revenue, amounts, last = (
        plain("orders"),
        plain("re venue"),
        plain("amounts"),
        F.max("time").alias("last"),
    )
    expected = closed.agg(orders, revenue, amounts, last)
    groups = [
        tuple(row.values())
        for row in expected.select(
            "window.start", *KEYS, "orders", F.col("`re venue`"), "amounts", "last"
        )
        .toArrow()
        .to_pylist()
    ]
    wanted = [
        (grouping, *group[:-1], None if grouping == "dkg" else group[-1])
        for grouping in ("pkg", "dkg", "planned")
        for group in groups
    ]
    assert sorted(found, key=str) == sorted(wanted, key=str)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"aggregators": {"Key": "count"}}, "key = 'key': the result of Key=count has a column"),
        ({"aggregators": {"Kind OF": "count"}}, "of its own; give the result another name"),
        ({"aggregators": {"n": "count", "N": "count"}}, "two columns of the result are named 'N'"),
        ({"aggregators": {"n": Sum("amont")}}, "there is no column 'amont'; there are: id, key,"),
        ({"aggregators": {"n": "cout"}}, "did you mean 'count'?"),
        (
            {"aggregators": {"window": "count"}, "time": "time", "window": WINDOW},
            "two columns of the result are named 'window'",
        ),
        (
            {"aggregators": {"key": "count"}, "key": "Kind of"},
            "a result is named 'key', which is the key's name during the computation",
        ),
        (
            {"aggregator": "count", "aggregators": {"n": "count"}},
            "aggregator = 'count': aggregators are given too; pass one of the two",
        ),
    ],
)
def test_wrong_calls(batch, given, says):
    usual = {"key": KEYS, "grouping": "pkg", "workers": WORKERS}
    with pytest.raises(ConfigurationError) as refused:
        operators.aggregate(batch, **(usual | given))
    assert says in str(refused.value)


def test_types_are_those_that_spark_reads(spark):
    text = (
        "a boolean, b tinyint, c byte, d smallint, e short, f int, g integer, h bigint, i long, "
        "j float, k real, l double, m decimal(22,2), n decimal, o dec(5), p numeric(7, 3), "
        "q string, r binary, s date, t timestamp, u timestamp_ntz, v array<map<string,int>>, "
        "w struct<x: decimal(3,1), `y z`: array<timestamp>>"
    )
    del spark  # needed for Spark's own reader
    assert from_arrow_schema(read_columns("result", text)) == StructType.fromDDL(text)
