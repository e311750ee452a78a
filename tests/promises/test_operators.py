"""groupBy, join and partition_for_write have Spark's results, and balance its tasks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import pytest
from pyspark import TaskContext
from pyspark.sql import functions as F

from evenkey import spark as operators

eks: Any = operators
WORKERS = 8


def balance_of(counts):
    """Return rows of the largest task over the mean of all workers."""
    return max(counts.values()) * WORKERS / sum(counts.values())


def summed(key, rows):
    context = TaskContext.get()
    assert context is not None
    figures = {"user": key[0], "rows": len(rows), "total": rows["id"].sum()}
    return pd.DataFrame([{**figures, "task": context.partitionId()}])


SUMMED = "user long, rows long, total long, task int"


@pytest.fixture(scope="module")
def plain(session):
    """Make a session in which Spark's own shuffles have one task per worker."""
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(WORKERS))
    own.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    own.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    return own


def test_group_by_of_whole_keys_balances_them(plain):
    """40 keys have equally many rows, so five fit on each worker."""
    rows = plain.range(0, 4000, 1, 2).selectExpr("id % 40 as user", "id")
    ours = eks.groupBy(rows, "user", workers=WORKERS).applyInPandas(summed, SUMMED).collect()
    spark_s_own = rows.groupBy("user").applyInPandas(summed, SUMMED).collect()
    expected: Counter[int] = Counter()
    for number in range(4000):
        expected[number % 40] += number
    for found in (ours, spark_s_own):
        assert {row["user"]: (row["rows"], row["total"]) for row in found} == {
            user: (100, total) for user, total in expected.items()
        }
        assert len(found) == len(expected)
    ours_by_task, spark_by_task = (
        Counter({task: sum(row["rows"] for row in found if row["task"] == task)
                 for task in {row["task"] for row in found}})
        for found in (ours, spark_s_own)
    )  # fmt: skip
    assert balance_of(ours_by_task) <= 1.2
    assert balance_of(spark_by_task) > 1.2


def hot(session, rows):
    """Make rows; 60 % of them have user 0."""
    user = "if(id % 10 < 6, 0L, pmod(xxhash64(id), 60L))"
    return session.range(0, rows, 1, 2).selectExpr(f"{user} as user", "id")


def test_group_by_with_a_merge_splits_the_hot_key(plain):
    rows = hot(plain, 20_000)
    merge = [
        F.sum("total").alias("total"),
        F.collect_list(F.struct("task", "rows")).alias("parts"),
    ]

    def part(frame):
        return summed([0], frame).drop(columns="user")

    schema = "rows long, total long, task int"
    split = eks.groupBy(rows, "user", workers=WORKERS)
    merged = split.applyInPandas(part, schema, merge=merge).collect()
    spark_s_own = rows.groupBy("user").applyInPandas(summed, SUMMED).collect()
    expected: Counter[int] = Counter()
    for user, number in rows.collect():
        expected[user] += number
    assert {row["user"]: row["total"] for row in merged} == expected
    assert {row["user"]: row["total"] for row in spark_s_own} == expected
    assert len(merged) == len(spark_s_own) == len(expected)
    by_task: Counter[int] = Counter()
    for row in merged:
        for task, count in row["parts"]:
            by_task[task] += count
    assert sum(by_task.values()) == 20_000
    assert balance_of(by_task) <= 1.15
    hottest = max(row["rows"] for row in spark_s_own)
    assert hottest * WORKERS / 20_000 > 4.8


def test_join_gives_the_rows_of_spark_and_balances_the_hot_key(plain):
    left = hot(plain, 20_000)
    right = plain.range(0, 300, 1, 2).selectExpr("id as user", "-id as place")
    ours, spark_s_own = (
        joined.withColumn("task", F.spark_partition_id()).collect()
        for joined in (eks.join(left, right, "user", "inner", WORKERS), left.join(right, "user"))
    )
    expected = Counter((user, number, -user) for user, number in left.collect())
    for found in (ours, spark_s_own):
        assert Counter((row["user"], row["id"], row["place"]) for row in found) == expected
    assert balance_of(Counter(row["task"] for row in ours)) <= 1.15
    assert balance_of(Counter(row["task"] for row in spark_s_own)) > 4.8


def test_partition_for_write_gives_large_values_equal_files_and_small_ones_one(plain, tmp_path):
    day = "if(id % 10 < 6, 'large', concat('small ', pmod(xxhash64(id), 50L))) as day"
    rows = plain.range(0, 40_000, 1, 2).selectExpr("id", day)
    written = {
        "ours": eks.partition_for_write(rows, "day", files=WORKERS),
        "spark": rows.repartition(WORKERS, "day"),
    }
    tasks: dict[str, Counter[str]] = {}
    files: dict[str, Counter[str]] = {}
    for name, df in written.items():
        place = str(tmp_path / name)
        df.write.partitionBy("day").parquet(place)
        found = plain.read.parquet(place).select("id", "day", F.input_file_name().alias("file"))
        found = found.collect()
        assert sorted(row["id"] for row in found) == list(range(40_000))
        assert all((row["id"] % 10 < 6) == (row["day"] == "large") for row in found)
        # The name of a file begins with the number of the task that wrote it.
        tasks[name] = Counter(row["file"].rpartition("/")[2].split("-")[1] for row in found)
        files[name] = Counter(day for day, _ in {(row["day"], row["file"]) for row in found})
    assert balance_of(tasks["ours"]) <= 1.1
    assert balance_of(tasks["spark"]) > 4.8
    assert files["ours"].pop("large") == 5  # 24,000 rows, at most 5,400 per task
    assert set(files["ours"].values()) == {1}
    assert len(files["ours"]) == 50
