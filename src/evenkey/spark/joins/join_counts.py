"""Row counts of both sides of a join by key, and the work of each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.spark.joins.join_keys import without_null
from evenkey.spark.keys.given_columns import hash_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_kinds import Kind, Weigh

_INCOMING = 0.1
"""Work of an input row; a row of the result, on which all later operators work, counts 1."""


@dataclass(frozen=True, eq=False)
class JoinCounts:
    """The keys with the most work, and the work of all keys.

    Parameters
    ----------
    keys
        uint64[k], hashes.
    left, right
        int64[k], rows on each side.
    work
        float64[k].
    bucket_work
        float64[B], of all keys, also those above, by the bucket of their hash.
    most_right
        The largest number of rows that one key has on the right.
    """

    keys: NDArray[np.uint64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    work: NDArray[np.float64]
    bucket_work: NDArray[np.float64]
    most_right: int


def count_both(
    left: DataFrame,
    right: DataFrame,
    keys: JoinKeys,
    kind: Kind,
    weigh: Weigh,
    *,
    heaviest: int,
    buckets: int,
) -> JoinCounts:
    """Count the keys of both sides, exactly, in one job that reads each of them once.

    Rows are combined before they are shuffled, so a hot key does not skew this job. Null keys have
    no match and are not counted: their rows are spread over all workers.

    Parameters
    ----------
    left, right
        Batches.
    keys
        The key's columns.
    kind, weigh
        Define the work of a key.
    heaviest
        Number of hot keys that are counted individually.
    buckets
        B, a power of two.
    """
    counts = _counted(left, keys.left, "left").join(
        _counted(right, keys.right, "right"), "hash", "full"
    )
    rows = [F.coalesce(F.col(side), F.lit(0)) for side in ("left", "right")]
    # That a key is on the right is all that some kinds ask for.
    tested = F.least(rows[1], F.lit(1)) if kind.tests_only else rows[1]
    work = (rows[0] + tested).cast("double")
    if weigh == "output":
        work = _INCOMING * work + kind.output(*rows)
    every = counts.select("hash", rows[0].alias("left"), rows[1].alias("right"), work.alias("work"))
    bucket = F.col("hash").bitwiseAND(F.lit(buckets - 1))
    # The shuffles of the counts are the same ones for both, so Spark runs them once.
    top = every.orderBy(F.desc("work")).limit(heaviest).select(F.lit(1).alias("key"), "*")
    rest = every.groupBy(bucket.alias("hash")).agg(
        F.sum("left").alias("left"), F.max("right").alias("right"), F.sum("work").alias("work")
    )
    table = top.unionAll(rest.select(F.lit(0).alias("key"), "*")).toArrow()
    is_key = table["key"].to_numpy() > 0
    hashes, work_of = table["hash"].to_numpy(), table["work"].to_numpy()
    bucket_work = np.zeros(buckets)
    bucket_work[hashes[~is_key]] = work_of[~is_key]
    return JoinCounts(
        hashes[is_key].view(np.uint64),
        table["left"].to_numpy()[is_key],
        table["right"].to_numpy()[is_key],
        work_of[is_key],
        bucket_work,
        int(table["right"].to_numpy().max(initial=0)),
    )


def _counted(side: DataFrame, columns: tuple[Column, ...], name: str) -> DataFrame:
    hashes = side.where(without_null(columns)).select(hash_of(columns).alias("hash"))
    return hashes.groupBy("hash").agg(F.count(F.lit(1)).alias(name))
