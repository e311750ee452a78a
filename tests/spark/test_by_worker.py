"""Merged aggregates by worker equal Spark's own groupBy; calls unfit for real time are errors."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from evenkey.core.errors import ConfigurationError
from evenkey.spark import aggregate_by_worker, merge_workers, route
from evenkey.spark.routing.real_time import REAL_TIME_SETTINGS

WORKERS = 3
AGGREGATES = {
    "count": "count",
    "known": "count(amount of it)",
    "total": "sum(amount of it)",
    "price": "sum(price)",
    "least": "min(amount of it)",
    "last": "max(at)",
}


def clicks(spark):
    """Make rows of a hot key, of many others, and of the null key, with nulls and decimals."""
    at = F.timestamp_seconds(F.lit(1_577_836_800) + F.col("id"))
    key = F.when(F.col("id") % 10 < 8, "alice").when(
        F.col("id") % 10 < 9, (F.col("id") % 23).cast("string")
    )
    amount = F.when(F.col("id") % 3 > 0, F.col("id") * 7)
    return spark.range(3000).select(
        key.alias("user id"),
        (F.col("id") % 2 == 0).alias("paid"),
        amount.alias("amount of it"),
        (F.col("id") / 7).cast(DecimalType(9, 2)).alias("price"),
        at.alias("at"),
        "id",
    )


def again(rows):
    """Repeat rows as in a topic of updates, where the last record of each key is right."""
    earlier = rows.withColumns({"count": F.col("count") + 99, "known": F.lit(0).cast("bigint")})
    return earlier.withColumn("offset", F.lit(5)).unionByName(
        rows.withColumn("offset", F.lit(10)).union(rows.withColumn("offset", F.lit(7)))
    )


@pytest.mark.slow(3)
def test_merged_parts_are_those_of_groupby(spark):
    rows, key = clicks(spark), ["user id", "paid"]
    parts = aggregate_by_worker(
        rows, key, "planned", WORKERS, AGGREGATES, time="at", window="10 minutes", position="id"
    )
    kept = parts.localCheckpoint()
    merged = merge_workers(
        again(kept), key, WORKERS, AGGREGATES, order="offset", window=True
    ).toArrow()
    own = rows.groupBy(F.window("at", "10 minutes"), *key).agg(
        F.count(F.lit(1)).alias("count"),
        F.count("amount of it").alias("known"),
        F.sum(F.col("amount of it").cast("decimal(38,0)")).alias("total"),
        F.sum("price").alias("price"),
        F.min("amount of it").alias("least"),
        F.max("at").alias("last"),
    )
    plain = own.toArrow()
    assert (merged.column_names, merged.schema.types) == (plain.column_names, plain.schema.types)
    assert _listed(merged) == _listed(plain)
    placed = kept.groupBy("user id", "paid").agg(F.count_distinct("worker").alias("workers"))
    most = placed.agg(F.max("workers")).collect()[0][0]
    assert most > 1, "no key was split: this shows nothing"


def _listed(table):
    return sorted(map(repr, table.to_pylist()))


def test_the_last_row_of_each_worker_counts(spark):
    parts = spark.sql(
        "SELECT * FROM VALUES ('ann', 0, 1L, 9, 1), ('ann', 1, 4L, 8, 2), ('ann', 0, 3L, 12, 3), "
        "('bob', 2, 5L, 5, 4) AS parts(user, worker, count, largest, offset)"
    )
    aggregates = {"count": "count", "largest": "max(amount)"}
    merged = merge_workers(parts, "user", WORKERS, aggregates, order="offset").collect()
    assert sorted(map(tuple, merged)) == [("ann", 7, 12), ("bob", 5, 5)]


def test_aggregates_by_worker_are_those_of_groupby(spark):
    rows = spark.range(0, 40, 1, 1).selectExpr("id % 3 AS user", "id AS amount")
    aggregates = {"count": "count", "largest": "max(amount)", "known": "count(amount)"}
    parts = aggregate_by_worker(rows, "user", "kg", WORKERS, aggregates).collect()
    assert sorted((row["user"], *row[2:]) for row in parts) == [
        (0, 14, 39, 14),
        (1, 13, 37, 13),
        (2, 13, 38, 13),
    ]


@pytest.mark.slow(4)
def test_a_worker_out_of_range_fails_the_merge(spark):
    parts = spark.createDataFrame([("a", 3, 1, 1)], "user string, worker int, count long, n long")
    with pytest.raises(Exception, match="worker must be 0 to 2 in every row"):
        merge_workers(parts, "user", WORKERS, order="n").collect()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "aggregates": ({"aggregates": {"n": "mean(id)"}}, "must be 'count', or count, sum, min or max"),
    "no aggregates": ({"aggregates": {}}, "a dict of at least one column"),
    "text": (
        {"aggregates": {"n": "sum(user id)"}},
        "n = sum\\(user id\\): the column is of type string",
    ),
    "names": ({"aggregates": {"worker": "count"}}, "'worker': the result would have two columns"),
    "collation": ({"key": "any case"}, "key = 'any case' is of type string collate UTF8_LCASE"),
    "window": ({"window": "1 minute"}, "window = '1 minute': it needs time=... too"),
    "time": ({"time": "at"}, "time = 'at': it needs window=... too"),
    "no zone": ({"time": "local", "window": "1 hour"}, "time = 'local': it has no time zone"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_aggregated_is_refused(spark, case):
    options, words = REFUSED[case]
    rows = clicks(spark).withColumns(
        {
            "local": F.col("at").cast("timestamp_ntz"),
            "any case": F.collate("user id", "UTF8_LCASE"),
        }
    )
    given = {"key": "user id", **options}
    with pytest.raises(ConfigurationError, match=words):
        aggregate_by_worker(rows, grouping="kg", workers=WORKERS, **given)


def _stream(spark):
    if spark.version < "4.3":
        pytest.skip("state in real time needs Spark 4.3")
    return spark.readStream.format("rate").load().withColumn("user", F.col("value") % 7)


IN_REAL_TIME: dict[str, tuple[dict[str, Any], str]] = {
    "pkg": ({"grouping": "pkg"}, "grouping = pkg: it routes in Python"),
    "dkg": ({"grouping": "dkg"}, "grouping = dkg: it routes in Python"),
    "sg": ({"grouping": "sg"}, "grouping = sg: it routes in Python"),
    "time": ({"grouping": "kg", "time": "timestamp"}, "time = 'timestamp': no grouping that runs"),
    "position": ({"grouping": "planned"}, "position = None: in real time, grouping='planned' dist"),
    "state": (
        {"grouping": "planned", "position": "value"},
        "state = None: after a restart in real time",
    ),
}


@pytest.mark.parametrize("case", IN_REAL_TIME)
def test_what_cannot_be_routed_in_real_time_is_refused(spark, case):
    options, words = IN_REAL_TIME[case]
    with pytest.raises(ConfigurationError, match=words):
        route(_stream(spark), "user", workers=WORKERS, real_time=True, **options)


@pytest.mark.classic("a session beside another, with settings of its own")
def test_settings_that_real_time_lacks_are_named_one_by_one(spark):
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(WORKERS))
    for name, value in REAL_TIME_SETTINGS.items():
        session.conf.set(name, "1")
        with pytest.raises(ConfigurationError, match=f"{name} = 1: .* needs {value}"):
            aggregate_by_worker(_stream(session), "user", "kg", WORKERS)
        session.conf.set(name, value)
    assert aggregate_by_worker(_stream(session), "user", "kg", WORKERS).columns == [
        "user",
        "worker",
        "count",
    ]
    with pytest.raises(ConfigurationError, match=r"shuffle.partitions = 3: .* set it to 2"):
        aggregate_by_worker(_stream(session), "user", "kg", 2)
    with pytest.raises(ConfigurationError, match=r"spark.master = local\[4\]: .* local\[5\]"):
        aggregate_by_worker(_stream(session), "user", "kg", 4)
