"""After a shuffle rows come in any order, and are placed in the same way in every order."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.spark.keys import row_numbers as row_order
from evenkey.spark.keys.row_numbers import order_may_change
from evenkey.spark.sessions import retries
from evenkey.spark.sessions.printed_plans import printed_plan

ROWS, WORKERS = 6000, 4


def rows_of(session, order):
    """Make rows after a shuffle: equal partitions, with the rows in an order given by a seed."""

    def reordered(batches):
        for batch in batches:
            yield batch.take(np.random.default_rng(order).permutation(batch.num_rows))

    key = (
        F.when(F.col("id") % 10 < 6, F.lit("hot"))
        .when(F.col("id") % 10 < 8, F.lit(None))
        .otherwise(F.concat(F.lit("cold "), F.col("id") % 50))
    )
    rows = session.range(ROWS).select(key.alias("key"), "id").repartition(3, "id")
    return rows.mapInArrow(reordered, rows.schema)


def by_route(rows):
    return eks.place(eks.route(rows, "key", "planned", WORKERS), WORKERS).drop("worker")


def by_shuffle(rows):
    return eks.place(eks.route(rows, "key", "sg", WORKERS), WORKERS).drop("worker")


def by_dkg(rows):
    return eks.place(eks.route(rows, "key", "dkg", WORKERS), WORKERS).drop("worker")


def by_write(rows):
    return eks.partition_for_write(rows, "key", WORKERS)


def by_join(how):
    def joined(rows):
        few = rows.sparkSession.range(40).select(
            F.concat(F.lit("cold "), "id").alias("key"), F.col("id").alias("other")
        )
        hot = rows.sparkSession.range(3).select(F.lit("hot").alias("key"), F.lit(-1).alias("other"))
        right = few.union(hot).repartition(2, "other").hint("merge")
        return eks.join(rows, right, "key", how, WORKERS)

    return joined


def partitions(df):
    """Count the rows of each partition, whatever their order."""
    placed = df.withColumn("partition", F.spark_partition_id()).collect()
    return Counter(map(tuple, placed))


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    "place",
    [
        *(by_route, by_join("full")),
        *(
            pytest.param(each, marks=pytest.mark.soak(3))
            for each in (by_write, by_shuffle, by_dkg, by_join("left"), by_join("inner"))
        ),
    ],
    ids=["route", "full", "write", "sg", "dkg", "left", "inner"],
)
def test_rows_in_another_order_go_to_the_same_tasks(session, place):
    first, second = (partitions(place(rows_of(session, order))) for order in (1, 2))
    assert first == second
    assert first.total() >= ROWS


@pytest.mark.slow(3)
def test_columns_with_the_same_name_decide_the_order_too(session):
    """As in the result of a join by conditions; the user refers to each by its DataFrame."""
    found = []
    for order in (1, 2):
        rows = rows_of(session, order)
        nothing = F.lit(None).cast("map<string, int>").alias("id")
        placed = eks.partition_for_write(rows.select("key", nothing, "id"), "key", WORKERS)
        found.append(partitions(placed.select("key", rows.id)))
    assert found[0] == found[1]
    assert len({task for *_, task in found[0]}) == WORKERS


@pytest.mark.parametrize("place", [by_route, by_write], ids=["route", "write"])
def test_identical_rows_of_a_key_are_balanced(session, place):
    rows = rows_of(session, 1).select("key", F.lit(7).alias("same"))
    placed = place(rows).groupBy(F.spark_partition_id().alias("task")).count().collect()
    sizes = [row["count"] for row in placed]
    assert len(sizes) == WORKERS
    assert max(sizes) <= 1.1 * sum(sizes) / WORKERS


@pytest.mark.slow(4)
def test_rows_of_every_type_differ(session):
    values = [
        (1, None, {"a": 1}, (None, 1), [1, None]),
        (None, 1, {"a": 1}, (None, 1), [1, None]),
        (1, None, {"a": 2}, (None, 1), [1, None]),
        (1, None, {"a": 1}, (1, None), [1, None]),
        (1, None, {"a": 1}, (None, 1), [None, 1]),
    ]
    types = "a int, b int, c map<string, int>, d struct<x: int, y: int>, e array<int>"
    rows = session.createDataFrame(values, types)
    hashed = rows.select(row_order.content_hash(rows, rows.columns).alias("hash"))
    assert hashed.distinct().count() == 5


def test_an_order_is_stable_unless_a_shuffle_is_behind_it(session, tmp_path):
    made = session.range(100).withColumn("key", F.col("id") % 7)
    made.write.parquet(str(tmp_path / "rows"))
    read = session.read.parquet(str(tmp_path / "rows"))
    assert not order_may_change(made)
    assert not order_may_change(read)
    assert not order_may_change(session.createDataFrame([(1,)], "key long"))
    assert not order_may_change(read.join(F.broadcast(made), "key"))
    assert order_may_change(read.repartition(3))
    assert order_may_change(read.groupBy("key").count())
    assert order_may_change(read.join(made.hint("merge"), "key").where("key > 3"))
    # Spark prints no shuffle for these, if they are the last operator.
    assert order_may_change(read.limit(50))
    assert order_may_change(read.orderBy("id").limit(50))
    assert order_may_change(read.orderBy("id").limit(50).where("id > 3"))
    kept = read.repartition(3).cache()
    assert order_may_change(kept.where("id > 3"))
    kept.unpersist()


@pytest.mark.classic("RDDs")
def test_what_is_behind_an_rdd_is_known(spark):
    rdd = spark.sparkContext.parallelize([(n % 5, n) for n in range(50)])
    assert not order_may_change(rdd.toDF(["key", "n"]))
    assert order_may_change(rdd.groupByKey().mapValues(len).toDF(["key", "n"]))


def test_nothing_is_sorted_where_no_key_is_split_or_the_order_is_stable(session):
    """A sort takes time, so rows are sorted only if needed."""
    uniform = session.range(ROWS).select((F.col("id") % 2000).alias("key"), "id")
    skewed = uniform.withColumn("key", F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("key")))
    for rows, sorts in (
        (uniform.repartition(3, "id"), False),
        (skewed, False),
        (skewed.repartition(3, "id"), True),
    ):
        placed = eks.partition_for_write(rows, "key", WORKERS)
        assert ("Sort [" in printed_plan(placed)) == sorts


@pytest.fixture
def logged(monkeypatch, caplog):
    monkeypatch.setattr(retries, "_warned", type(retries._warned)())
    caplog.set_level(logging.WARNING, "evenkey")
    return caplog


def test_sparks_own_setting_switches_the_sort_off(session, logged):
    session.conf.set(retries.SORTS, "false")
    try:
        for _ in range(2):
            placed = by_write(rows_of(session, 1))
        assert "Sort [" not in printed_plan(placed)
    finally:
        session.conf.unset(retries.SORTS)
    (line,) = logged.messages
    assert line.startswith(f"{retries.SORTS} is false, and the input follows a shuffle")


def test_a_stream_that_cannot_be_sorted_is_reported_before_it_starts(session, logged):
    stream = session.readStream.format("rate").load()
    eks.route(stream, "value", "dkg", WORKERS)
    assert logged.messages == []
    eks.route(stream.repartition(3), "value", "dkg", WORKERS)
    (line,) = logged.messages
    assert line.startswith("dkg places the rows of a stream by their order, and the input follows")


def test_a_stream_whose_columns_have_one_name_is_reported(session, logged):
    stream = session.readStream.format("rate").load().selectExpr("value as key", "1 as v", "2 as v")
    eks.route(stream, "key", "planned", WORKERS)
    assert logged.messages == []
    eks.route(stream.repartition(3), "key", "planned", WORKERS)
    (line,) = logged.messages
    assert line.startswith("several columns have the same name, and the input follows a shuffle")


def test_a_stream_behind_a_shuffle_is_dealt_by_its_rows(session):
    """Random numbers depend on the order of rows; the contents of a row do not."""
    stream = session.readStream.format("rate").load()
    plans = [
        printed_plan(eks.route(rows, "value", "planned", WORKERS))
        for rows in (stream, stream.repartition(3))
    ]
    assert ["FLOOR((rand(" in plan for plan in plans] == [True, False]
