"""Count the rows of each key on both sides of a join, and compute the work of each key."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey.spark.joins.join_keys import without_null
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.keys.spark_placement import spark_partition

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column

    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_kinds import Kind, Weigh

_INCOMING = 0.1
"""Work of an input row. A row of the result counts 1, because all later operators process it."""
_KEY, _BUCKET, _TASK = range(3)
"""Kinds of rows in the collected table: a key, a bucket of keys, a task of Spark's own join."""
_PARTITION, _SIDE, _APART = "partition", "side", "apart"


@dataclass(frozen=True, eq=False)
class JoinCounts:
    """Counts of the keys with the most work, and the work of all keys by bucket.

    Parameters
    ----------
    keys
        uint64[k], hashes of the keys with the most work.
    left, right
        int64[k], number of rows of each of these keys on the left side and on the right side.
    work
        float64[k], work of each of these keys.
    bucket_work
        float64[B], work of all keys, including those in `keys`, by the bucket of their hash.
    most_right
        The largest number of rows that one key has on the right.
    spark_loads
        float64[partitions], work of each task of Spark's own join; empty: not counted.
    """

    keys: NDArray[np.uint64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    work: NDArray[np.float64]
    bucket_work: NDArray[np.float64]
    most_right: int
    spark_loads: NDArray[np.float64]

    def rest(self, among: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return float64[B], the work of each bucket without the keys `among`; None: all keys."""
        chosen = slice(None) if among is None else among
        buckets = (self.keys[chosen] & np.uint64(len(self.bucket_work) - 1)).astype(np.int64)
        own = np.bincount(buckets, self.work[chosen], minlength=len(self.bucket_work))
        return np.maximum(self.bucket_work - own, 0.0)


def count_both(
    left: DataFrame,
    right: DataFrame,
    keys: JoinKeys,
    kind: Kind,
    weigh: Weigh,
    *,
    heaviest: int,
    buckets: int,
    partitions: int | None = None,
) -> JoinCounts:
    """Count the rows of each key on both sides, exactly, in one job that reads each side once.

    Rows of both sides are combined before they are shuffled, so a hot key does not skew this job.
    Rows with a null key have no match. They are not counted, because evenkey spreads such rows over
    all workers. Spark's own join sends rows with a null key to one task. So `spark_loads` includes
    these rows if the join's result keeps them.

    Parameters
    ----------
    left, right
        Batches.
    keys
        Key columns of both sides.
    kind, weigh
        Kind of join and unit of work, which determine the work of a key.
    heaviest
        Number of hot keys to count individually.
    buckets
        Number of buckets, B, a power of two.
    partitions
        Number of tasks of Spark's own join, to compute the work of these tasks too. None: their
        work is not computed.
    """
    rows_of_left = _rows(left, keys.left, "left", partitions, nulls=kind.nulls_of_left)
    rows_of_right = _rows(right, keys.right, "right", partitions, nulls=kind.keeps_right)
    both = rows_of_left.unionAll(rows_of_right)
    counts = both.groupBy(*(name for name in both.columns if name != _SIDE)).agg(
        *(F.count_if(F.col(_SIDE) == side).alias(side) for side in ("left", "right"))
    )
    rows = [F.col("left"), F.col("right")]
    # Some kinds of join only test whether the right side has a key: all its rows count as one row.
    tested = F.least(rows[1], F.lit(1)) if kind.tests_only else rows[1]
    work = (rows[0] + tested).cast("double")
    if weigh == "output":
        work = _INCOMING * work + kind.output(*rows)
    every = counts.withColumn("work", work)
    matching = every if partitions is None else every.where(F.col("hash").isNotNull())
    bucket = F.col("hash").bitwiseAND(F.lit(buckets - 1))
    sums = [F.sum("left").alias("left"), F.max("right").alias("right"), F.sum("work").alias("work")]
    # All tables below use the same shuffles of the counts, so Spark runs these shuffles once.
    top = matching.orderBy(F.desc("work")).limit(heaviest)
    tables = [
        top.select(F.lit(_KEY).alias("part"), "hash", "left", "right", "work"),
        matching.groupBy(bucket.alias("hash")).agg(*sums).select(F.lit(_BUCKET), "*"),
    ]
    if partitions is not None:
        by_task = every.groupBy(F.col(_PARTITION).cast("long").alias("hash")).agg(*sums)
        tables.append(by_task.select(F.lit(_TASK), "*"))
    table = functools.reduce(DataFrame.unionAll, tables).toArrow()
    parts = table["part"].to_numpy()
    numbers, left_rows, right_rows, works = (
        table[name].to_numpy() for name in ("hash", "left", "right", "work")
    )
    is_key, is_bucket, is_task = (parts == part for part in (_KEY, _BUCKET, _TASK))

    def summed(among: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        return np.bincount(numbers[among], works[among], minlength=length).astype(np.float64)

    return JoinCounts(
        numbers[is_key].view(np.uint64),
        left_rows[is_key],
        right_rows[is_key],
        works[is_key],
        summed(is_bucket, buckets),
        int(right_rows[~is_task].max(initial=0)),
        summed(is_task, partitions or 0),
    )


def _rows(
    side: DataFrame, columns: tuple[Column, ...], name: str, partitions: int | None, *, nulls: bool
) -> DataFrame:
    """Return the hash of each row's key, the name of the side, and the partition to count by.

    Parameters
    ----------
    side, columns
        A side, and its key columns.
    name
        Name of the side.
    partitions
        Number of partitions of Spark's own join, to count rows by partition too. None: rows are
        counted by key only.
    nulls
        Whether to count rows with a null key too, if `partitions` is given. Such a row has no hash,
        and a column with the name of its side keeps it apart from the other side's.
    """
    matches, hashed = without_null(columns), hash_of(columns)
    named = F.lit(name).alias(_SIDE)
    if partitions is None:
        return side.where(matches).select(hashed.alias("hash"), named)
    if not nulls or _spreads_nulls(side):
        side = side.where(matches)
    partition = spark_partition(columns, partitions).alias(_PARTITION)
    apart = F.when(~matches, F.lit(name)).alias(_APART)
    return side.select(F.when(matches, hashed).alias("hash"), partition, apart, named)


def _spreads_nulls(side: DataFrame) -> bool:
    """Return whether Spark's own joins spread rows with a null key, an option since Spark 4.3."""
    option = "spark.sql.shuffle.spreadNullJoinKeys.enabled"
    return str(side.sparkSession.conf.get(option, "false")).lower() == "true"


def work_of_input(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the work of numbers of input rows, which a join adds to its rows of the result."""
    return _INCOMING * rows
