"""Sampled counts: close to the exact counts, of a size that does not grow with the data."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping
from evenkey.spark.plans import key_sample
from evenkey.spark.plans.batch_plans import MOST_TRACKED, count_keys, sketches
from evenkey.spark.plans.key_sample import Sampled, sample_keys

WORKERS, PARTITIONS, ROWS = 4, 5, 120_000


@pytest.fixture(scope="module")
def rows(spark):
    """Make rows in three partitions: 30 % have the key 0, the others one of 5,000 keys."""
    key = F.when(F.col("id") % 10 < 3, 0).otherwise(F.col("id") % 5_000 + 1)
    return spark.range(0, ROWS, 1, 3).select(key.alias("k"), F.col("id").alias("v"))


def counted(rows, *, exact):
    return sample_keys(
        [Sampled(rows, F.xxhash64("k"), [F.col("k")])],
        [PARTITIONS],
        PlannedGrouping().statistics(WORKERS),
        WORKERS,
        exact=exact,
    )


@pytest.fixture
def small(monkeypatch):
    """Let only the first 1,000 rows of each partition be counted without a draw."""
    monkeypatch.setattr(key_sample, "_MOST_ALL", 1_000)


def hottest(sample):
    keys, loads, _ = sample.statistics.items(0.0)
    return keys[np.argmax(loads)], loads.max()


def test_exact_counts_equal_an_independent_count(rows):
    found = counted(rows, exact=True)
    placed = rows.repartition(PARTITIONS, "k").select(F.spark_partition_id().alias("task"))
    tasks = Counter(row["task"] for row in placed.collect())
    assert found.spark_loads[0].tolist() == [tasks[task] for task in range(PARTITIONS)]
    assert found.statistics.total == ROWS
    assert hottest(found)[1] == 0.3 * ROWS
    assert found.error == 0


def test_few_rows_are_all_counted(rows):
    some = rows.limit(10_000)
    assert counted(some, exact=False).error == 0
    assert counted(some, exact=False).statistics.total == 10_000


@pytest.mark.usefixtures("small")
def test_estimates_are_within_their_bound(rows):
    exact, found = counted(rows, exact=True), counted(rows, exact=False)
    mean = ROWS / WORKERS
    assert 0 < found.error < 0.2
    assert abs(found.statistics.total - ROWS) < 2 * found.error * mean
    assert hottest(found)[0] == hottest(exact)[0]
    assert abs(hottest(found)[1] - 0.3 * ROWS) < 2 * found.error * mean
    np.testing.assert_allclose(
        found.spark_loads[0], exact.spark_loads[0], atol=2 * found.error * ROWS / WORKERS
    )


def test_rows_without_a_hash_are_in_no_bucket(spark):
    """In a stream, which is counted in a sample, these are the rows that were not drawn."""
    drawn = F.when(F.col("id") % 8 == 0, (F.col("id") / 8).cast("long"))
    found = count_keys(spark.range(320), drawn, PlannedGrouping(buckets=4).statistics(1))
    assert found.bucket_loads.tolist() == [10] * 4


@pytest.mark.usefixtures("spark")
def test_there_are_no_more_buckets_than_spark_counts():
    assert PlannedGrouping().bucket_count(100_000) < MOST_TRACKED
    with pytest.raises(ConfigurationError, match="buckets = 1048576: Spark counts at most 1000000"):
        sketches(F.col("hash"), PlannedGrouping(buckets=1 << 20).statistics(WORKERS))


@pytest.mark.usefixtures("small")
def test_a_user_s_random_keys_do_not_change_the_draw(spark):
    """Rows are not drawn by the random numbers from which users with the seed 0 make keys."""
    key = F.when(F.rand(0) < 0.3, -1).otherwise(F.col("id"))
    found = counted(spark.range(0, 40_000, 1, 1).select(key.alias("k")), exact=False)
    assert abs(hottest(found)[1] / 40_000 - 0.3) < 2 * found.error / WORKERS


@pytest.mark.usefixtures("small")
def test_a_sample_is_drawn_once_for_all(rows):
    first, second = counted(rows, exact=False), counted(rows, exact=False)
    np.testing.assert_array_equal(first.statistics.bucket_loads, second.statistics.bucket_loads)


@pytest.mark.usefixtures("small")
def test_the_size_grows_with_the_logarithm_of_the_rows(spark):
    sizes = [
        key_sample.drawn(spark.range(0, rows, 1, 1), 1_000).count() for rows in (4_000, 64_000)
    ]
    # Each doubling of the position adds 500 rows to the first 1,000.
    np.testing.assert_allclose(sizes, [2_000, 4_000], rtol=0.1)


def plan_of(df):
    return df._sc._jvm.PythonSQLUtils.explainString(df._jdf.queryExecution(), "simple")


@pytest.fixture(scope="module")
def session(spark):
    """Make a session with many tasks per shuffle, as users have."""
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "64")
    return own


@pytest.mark.parametrize(("hot", "placed"), [(False, False), (True, True)])
def test_spark_places_keys_if_none_is_hot(session, hot, placed):
    # Spark's task of the hot key starts last.
    last = session.range(999).orderBy(F.pmod(F.hash("id"), 64).desc()).first().id
    key = F.col("id") % 999
    key = F.when(F.col("id") % 2 == 0, last).otherwise(key) if hot else key
    wide = [F.col("id").alias(f"v{number}") for number in range(40)]
    rows = session.range(0, 80_000, 1, 2).select(key.alias("k"), *wide)

    def first(pdf):
        return pdf.iloc[:1, :1]

    result = operators.groupBy(rows, "k").applyInPandas(first, "k long")
    assert ("__evenkey" in plan_of(result)) is placed
    whole = str(operators.explain(operators.groupBy, rows, "k").placements[0].choice)
    assert ("would be only" in whole) is not placed
    asked = operators.groupBy(rows, "k", workers=4).applyInPandas(first, "k long")
    assert "__evenkey" in plan_of(asked)


def test_few_bytes_are_placed_because_adaptive_execution_would_merge_the_tasks(session):
    rows = session.range(0, 4_000, 1, 2).select((F.col("id") % 999).alias("k"))
    result = operators.groupBy(rows, "k").applyInPandas(lambda pdf: pdf[:1], "k long")
    assert "__evenkey" in plan_of(result)
