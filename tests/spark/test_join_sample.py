"""Plans of joins from a sample of one side: close to exact ones, with the rows of Spark's join."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.spark.joins import join_counts
from evenkey.spark.joins.batch_join import BatchJoin
from evenkey.spark.joins.join_counts import sampled_side
from evenkey.spark.joins.join_keys import join_keys
from evenkey.spark.joins.join_kinds import kind_of
from evenkey.spark.joins.join_request import JoinRequest
from evenkey.spark.joins.recounting import KeyTable, unsure
from evenkey.spark.plans import key_sample
from tests.spark import oracle, skewed_joins

WORKERS, ROWS = 8, 24_000
FEW = 2
"""Workers with so many rows each that the small sample is large enough, as samples are."""


def without_broadcasts(session, tasks):
    """Make a session whose shuffles have as many tasks, and nothing merges these."""
    own = session.newSession()
    for name, value in {
        "autoBroadcastJoinThreshold": "-1",
        "adaptive.autoBroadcastJoinThreshold": "-1",
        "adaptive.coalescePartitions.enabled": "false",
        "shuffle.partitions": str(tasks),
    }.items():
        own.conf.set(f"spark.sql.{name}", value)
    return own


@pytest.fixture(scope="module")
def plain(session):
    return without_broadcasts(session, tasks=64)


@pytest.fixture
def small(monkeypatch):
    """Let only the first 2,000 rows of each partition be counted without a draw."""
    monkeypatch.setattr(key_sample, "_MOST_ALL", 2_000)


def hot(session, share=4):
    """Make rows: a share, in tenths, has the key 0, the others one of 300 keys."""
    key = F.when(F.col("id") % 10 < share, 0).otherwise(F.col("id") % 300 + 1)
    return session.range(0, ROWS, 1, 2).select(key.alias("k"), F.col("id").alias("v"))


def counts_of(left, right, workers, **options):
    request = JoinRequest.of(left, right, "k", "inner", workers, **options)
    keys: Any = join_keys(*request.sides)
    return BatchJoin(request, keys).planned()[1]


@pytest.mark.soak(8)
@pytest.mark.usefixtures("small")
def test_estimates_are_within_their_bound(plain):
    left = hot(plain)
    right = plain.range(0, 600, 1, 2).select((F.col("id") % 400).alias("k"), F.col("id").alias("w"))
    exact = counts_of(left, right, FEW, exact=True)
    # A row of the result counts 1, and one of either side 0.1.
    work = left.join(right, "k").count() + 0.1 * (ROWS + 600)
    assert exact.error == 0
    assert exact.bucket_work.sum() == pytest.approx(work)
    assert exact.spark_loads.sum() == pytest.approx(work)
    found = counts_of(left, right, FEW)
    assert 0 < found.error < 0.3
    # The total is more certain than a worker's share of it.
    within = found.error / math.sqrt(FEW) * work
    assert abs(found.bucket_work.sum() - work) < within
    assert abs(found.spark_loads.sum() - work) < within
    hottest = [each.keys[np.argmax(each.work)] for each in (exact, found)]
    assert hottest[0] == hottest[1]
    assert found.work.max() == pytest.approx(exact.work.max(), rel=0.1)
    assert found.rows[1] == 600


@pytest.mark.slow(6)
@pytest.mark.usefixtures("small")
def test_a_key_that_is_hot_on_the_counted_side_is_counted_on_the_sampled_one(plain):
    """One left row, which a sample hardly draws, makes 5,000 result rows."""
    number = F.col("id")
    left = plain.range(0, ROWS, 1, 2).select(
        F.when(number < ROWS - 1, number + 10).otherwise(-1).alias("k")
    )
    right = plain.range(0, 5_400, 1, 2).select(
        F.when(number < 5_000, -1).otherwise(number).alias("k")
    )
    found = counts_of(left, right, WORKERS)
    hashed = plain.range(1).select(F.xxhash64(F.lit(-1).cast("bigint"))).collect()[0][0]
    (place,) = np.flatnonzero(found.keys.view(np.int64) == hashed)
    assert (found.left[place], found.right[place]) == (1, 5_000)
    assert found.work[place] == pytest.approx(5_000 + 0.1 * 5_001)
    assert found.bucket_work.sum() == pytest.approx(5_400 + 0.1 * (ROWS + 5_400), rel=0.05)


@pytest.mark.slow(4)
@pytest.mark.usefixtures("small")
def test_a_key_that_is_hot_on_the_sampled_side_needs_no_second_job(plain, monkeypatch):
    monkeypatch.setattr(join_counts, "recount", None)
    right = plain.range(0, 302, 1, 2).select(F.col("id").alias("k"))
    assert counts_of(hot(plain), right, FEW).error > 0


@pytest.mark.soak(5)
@pytest.mark.parametrize("exact", [False, True])
def test_counts_of_a_cached_side_are_the_same(plain, monkeypatch, exact):
    left = hot(plain)
    right = plain.range(301).select(F.col("id").alias("k"), F.lit(1).alias("w"))
    expected = counts_of(left, right, WORKERS, exact=exact)
    results = []
    tables = join_counts._tables

    def noting(every, *given):
        results.append((every, every.storageLevel))
        return tables(every, *given)

    monkeypatch.setattr(join_counts, "_tables", noting)
    cached = left.persist()
    try:
        found = counts_of(cached, right, WORKERS, exact=exact)
    finally:
        cached.unpersist()
    ((every, before),) = results
    assert before == StorageLevel.DISK_ONLY
    assert every.storageLevel == StorageLevel.NONE
    assert found.rows == expected.rows
    for name in ("keys", "left", "right", "work", "bucket_work", "spark_loads"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_the_side_that_is_sampled(plain):
    left, right = (plain.range(rows).withColumnRenamed("id", "k") for rows in (900, 100))
    keys = join_keys(left, right, ["k"], ["k"])
    turned = join_keys(right, left, ["k"], ["k"])
    assert not isinstance(keys, str)
    assert not isinstance(turned, str)
    sides = {how: sampled_side(left, right, keys, kind_of(how)) for how in skewed_joins.KINDS}
    expected = {"inner": "left", "left": "left", "right": "right", "full": None}
    assert sides == expected | {"semi": "left", "anti": "left"}
    assert sampled_side(right, left, turned, kind_of("inner")) == "right"


def test_keys_are_unsure_only_if_that_matters():
    """Of key 0 no row was drawn; 1 was drawn often; a row of 2 makes little work; 3 is as 0."""
    spread = np.array([0, 160_000, 150, 0])
    unit = np.array([5_000.0, 300.0, 1.1, 4_000.0])
    work = np.array([500.0, 20_000_000.0, 90.0, 0.0])
    none: Any = np.zeros(4)
    table = KeyTable(np.arange(4, dtype=np.uint64), none, none, none, spread, unit, work, none)
    every = -np.inf
    assert unsure(table, 20_000.0, 16, every).tolist() == [True, False, False, True]
    # There may be other keys like key 3 of which nothing is known.
    assert unsure(table, 20_000.0, 16, 4_000.0).tolist() == [True, False, False, False]
    assert not unsure(table, 20_000.0, 1, every).any()


@pytest.mark.soak(12)
def test_rows_are_those_of_sparks_own_join(session, monkeypatch):
    """With 50 rows of each partition counted, most keys of the sampled side are not drawn."""
    monkeypatch.setattr(key_sample, "_MOST_ALL", 50)
    sides = skewed_joins.of_counts(without_broadcasts(session, WORKERS))
    every = []
    for how in ("inner", "left", "right", "anti"):
        expected = sides.left.join(sides.right, sides.on, how)
        got = eks.join(sides.left, sides.right, sides.on, how, WORKERS)
        assert "__evenkey" in oracle.plan_of(got), how
        every.append(skewed_joins.differing(got, expected))
    assert functools.reduce(DataFrame.unionAll, every).collect() == []


@pytest.mark.slow(6)
def test_spark_joins_if_no_key_is_hot(plain, caplog):
    caplog.set_level("INFO", "evenkey")
    right = plain.range(0, 302, 1, 2).select(F.col("id").alias("k"), F.col("id").alias("w"))
    uniform = eks.join(hot(plain, share=0), right, "k")
    assert "__evenkey" not in oracle.plan_of(uniform)
    assert "is left to Spark: keys placed by load would be only 1." in caplog.text
    assert "; counted in" in caplog.text
    assert "__evenkey" in oracle.plan_of(eks.join(hot(plain), right, "k"))
    # A tenth of the rows has a null key, which evenkey spreads too.
    some = hot(plain, share=0).withColumn("k", F.when(F.col("v") % 10 > 0, F.col("k")))
    assert "__evenkey" not in oracle.plan_of(eks.join(some, right, "k", "left"))
    # With other workers than Spark's own, evenkey places the keys.
    asked = eks.join(hot(plain, share=0), right, "k", workers=WORKERS)
    assert "__evenkey" in oracle.plan_of(asked)
    explained = str(eks.explain(eks.join, hot(plain, share=0), right, "k"))
    assert "join: Spark's own join (keys placed by load would be only 1." in explained
    assert "cost: counting took" in explained


def test_nothing_is_counted_for_one_worker(plain, monkeypatch):
    monkeypatch.setattr("evenkey.spark.joins.batch_join.count_both", None)
    left = hot(plain)
    assert "__evenkey" not in oracle.plan_of(eks.join(left, left, "k", workers=1))
    explained = eks.explain(eks.join, left, left, "k", workers=1)
    assert explained.placements[0].choice == "Spark's own join (there is one worker)"
