"""Estimate the load of each key of a batch from a sample, in one job that shuffles no rows."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.batch_plans import items_of, sketches, top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column

    from evenkey.groupings import KeyStatistics

ALL_PER_WORKER = 5_000
_LEAST_ALL, _MOST_ALL = 20_000, 200_000
"""The first rows of each partition are all counted: this many per worker, between these limits."""
_DEVIATIONS = 3.0
"""An estimate is within this many standard deviations in 99.7 % of all samples."""
_ROW, _DRAWN, _TIER = (f"{OWN}{name}" for name in ("row", "drawn", "tier"))
_IN_PARTITION = (1 << 33) - 1
"""The bits of Spark's ``monotonically_increasing_id`` that number the rows of a partition."""


class KeySample(NamedTuple):
    """Loads of keys, estimated from a sample of the rows or counted exactly.

    Parameters
    ----------
    statistics
        Loads of the hottest keys and of all buckets.
    spark_loads
        float64[partitions], rows of each task under Spark's own placement.
    error
        Bound on the error of a worker's estimated load, as a share of the mean load; it holds in
        99.7 % of all samples. 0: all rows were counted.
    """

    statistics: KeyStatistics
    spark_loads: NDArray[np.float64]
    error: float


class Sampled(NamedTuple):
    """A batch whose keys are counted.

    Parameters
    ----------
    df
        The rows.
    hashed
        Column of the hash of each row's key.
    partition
        Column of the partition to which Spark's own shuffle sends a row.
    """

    df: DataFrame
    hashed: Column
    partition: Column


def sample_keys(
    batches: Sequence[Sampled],
    partitions: int,
    empty: KeyStatistics,
    workers: int,
    *,
    exact: bool,
    per_worker: int = ALL_PER_WORKER,
) -> KeySample:
    """Estimate how many rows each key has, and each task of Spark's own shuffle.

    The first rows of each partition are all counted, `per_worker` for each worker. Of later rows,
    each is drawn with a probability that falls with its position, and counts the inverse of this
    probability. So the size of the sample grows with the logarithm of the partition's size, which
    need not be known. The drawn rows are counted by the sketches that count all rows if `exact`.
    The seed of the draw is fixed.

    Parameters
    ----------
    batches
        Batches that are counted together.
    partitions
        Number of partitions of Spark's own shuffle.
    empty
        Statistics to fill.
    workers
        Number of workers for which a plan will be made.
    exact
        Whether to count all rows.
    per_worker
        Size of the sample: this many rows per worker and partition, within limits, and more of
        large partitions.
    """
    every = min(max(per_worker * workers, _LEAST_ALL), _MOST_ALL)
    # Rows are drawn before their keys are hashed.
    parts = [
        (each.df.withColumn(_TIER, F.lit(0)) if exact else _drawn(each.df, every)).select(
            _TIER, each.hashed.alias("hash"), each.partition.alias("partition")
        )
        for each in batches
    ]
    counted = (
        functools.reduce(DataFrame.unionAll, parts)
        .groupBy(_TIER)
        .agg(
            *sketches(F.col("hash"), empty),
            top(F.col("partition"), partitions, 2 * partitions).alias("partitions"),
        )
    )
    keys, counts = [np.empty(0, np.int64)], [np.empty(0)]
    buckets, loads = np.zeros(len(empty.bucket_loads)), np.zeros(partitions)
    variance = 0.0
    for row in counted.collect():
        tier = row.asDict(recursive=True)
        weight = 2.0 ** tier[_TIER]
        found, of_found = items_of(tier["keys"])
        keys.append(found)
        counts.append(weight * of_found)
        for total, name in ((buckets, "buckets"), (loads, "partitions")):
            numbers, of_numbers = items_of(tier[name])
            total[numbers] += weight * of_numbers
            if name == "buckets":
                variance += weight * (weight - 1) * float(of_numbers.sum())
    distinct, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    loads_of_keys = np.bincount(numbers, np.concatenate(counts)).astype(np.float64)
    empty.add_counted(distinct.view(np.uint64), loads_of_keys)
    empty.bucket_loads = buckets
    mean = buckets.sum() / workers
    error = _DEVIATIONS * math.sqrt(variance / workers) / mean if mean else 0.0
    return KeySample(empty, loads, error)


def _drawn(df: DataFrame, every: int) -> DataFrame:
    """Draw rows of each partition, each with its tier: 2 to this power rows are counted for it.

    Row n of a partition has the least tier at which ``every`` times 2 to the tier is at least n.
    """
    number = F.monotonically_increasing_id().bitwiseAND(F.lit(_IN_PARTITION)) + 1
    numbered = df.withColumns({_ROW: number, _DRAWN: F.rand(0)})
    # The first condition is cheap, and leaves few rows for the second.
    near = numbered.where(F.col(_DRAWN) * F.col(_ROW) < every)
    tier = F.greatest(F.lit(0), F.ceil(F.log2(F.col(_ROW) / every)).cast("int"))
    return near.withColumn(_TIER, tier).where(F.col(_DRAWN) < F.pow(F.lit(2.0), -F.col(_TIER)))
