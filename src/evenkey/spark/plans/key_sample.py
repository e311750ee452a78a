"""Estimate the load of each key of a batch from a sample, in one job that shuffles no rows."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.keys.spark_placement import spark_partition
from evenkey.spark.plans.batch_plans import items_of, sketches, top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column

    from evenkey.groupings import KeyStatistics

_ALL_PER_WORKER = 5_000
_LEAST_ALL, _MOST_ALL = 20_000, 200_000
"""The first rows of each partition are all counted: this many per worker, between these limits."""
DEVIATIONS = 3.0
"""An estimate is within this many standard deviations in 99.7 % of all samples."""
TIER = f"{OWN}tier"
"""Column of a drawn row; it stands for 2 to this power rows."""
SEED = 0x6576656E6B6579
"""Seed of the draw. If users' columns had random numbers from the same seed, the rows that are
drawn would be those with small numbers. Spark adds the number of the partition to a seed, so the
seeds near this one are taken, too."""
_ROW, _DRAWN = (f"{OWN}{name}" for name in ("row", "drawn"))
_IN_PARTITION = (1 << 33) - 1
"""The bits of Spark's ``monotonically_increasing_id`` that number the rows of a partition."""


class KeySample(NamedTuple):
    """Loads of keys, estimated from a sample of the rows or counted exactly.

    Parameters
    ----------
    statistics
        Loads of the hottest keys and of all buckets.
    spark_loads
        For each number of partitions: float64[partitions], rows of each task under Spark's own
        placement.
    error
        Bound on the error of a worker's estimated load, as a share of the mean load; it holds in
        99.7 % of all samples. 0: all rows were counted.
    """

    statistics: KeyStatistics
    spark_loads: tuple[NDArray[np.float64], ...]
    error: float


class Sampled(NamedTuple):
    """A batch whose keys are counted.

    Parameters
    ----------
    df
        The rows.
    hashed
        Column of the hash of each row's key.
    columns
        Columns by which Spark's own shuffle would partition the rows.
    """

    df: DataFrame
    hashed: Column
    columns: Sequence[Column]


def sample_keys(
    batches: Sequence[Sampled],
    partitions: Sequence[int],
    empty: KeyStatistics,
    workers: int,
    *,
    exact: bool,
) -> KeySample:
    """Estimate how many rows each key has, and each task of Spark's own shuffle.

    The first rows of each partition are all counted, `_ALL_PER_WORKER` for each worker. Of later
    rows, each is drawn with a probability that falls with its position, and counts the inverse of
    this probability. So the size of the sample grows with the logarithm of the partition's size,
    which need not be known. The drawn rows are counted by the sketches that count all rows if
    `exact`. The seed of the draw is fixed.

    Parameters
    ----------
    batches
        Batches that are counted together.
    partitions
        Numbers of partitions of Spark's own shuffle.
    empty
        Statistics to fill.
    workers
        Number of workers for which a plan will be made.
    exact
        Whether to count all rows.
    """
    tasks = {f"tasks_{place}": count for place, count in enumerate(partitions)}
    # Rows are drawn before their keys are hashed.
    parts = [
        drawn(each.df, None if exact else all_of(workers)).select(
            TIER,
            each.hashed.alias("hash"),
            *(spark_partition(each.columns, count).alias(name) for name, count in tasks.items()),
        )
        for each in batches
    ]
    counted = (
        functools.reduce(DataFrame.unionAll, parts)
        .groupBy(TIER)
        .agg(
            *sketches(F.col("hash"), empty),
            *(top(F.col(name), count, 2 * count).alias(name) for name, count in tasks.items()),
        )
    )
    keys, counts = [np.empty(0, np.int64)], [np.empty(0)]
    buckets = np.zeros(len(empty.bucket_loads))
    loads = {name: np.zeros(count) for name, count in tasks.items()}
    variance = 0.0
    for row in counted.collect():
        tier = row.asDict(recursive=True)
        weight = 2.0 ** tier[TIER]
        found, of_found = items_of(tier["keys"])
        keys.append(found)
        counts.append(weight * of_found)
        for name, total in (("buckets", buckets), *loads.items()):
            numbers, of_numbers = items_of(tier[name])
            total[numbers] += weight * of_numbers
            if name == "buckets":
                variance += weight * (weight - 1) * float(of_numbers.sum())
    empty.add_parts(keys, counts, buckets)
    return KeySample(empty, tuple(loads.values()), bound(variance, float(buckets.sum()), workers))


def bound(variance: float, total: float, workers: int) -> float:
    """Return the bound on the error of a worker's estimated load, as a share of the mean load.

    Parameters
    ----------
    variance
        Variance of the estimated load of all keys.
    total
        Load of all keys.
    workers
        Number of workers.
    """
    return DEVIATIONS * math.sqrt(variance * workers) / total if total else 0.0


def all_of(workers: int) -> int:
    """Return how many rows at the beginning of each partition are all drawn."""
    return min(max(_ALL_PER_WORKER * workers, _LEAST_ALL), _MOST_ALL)


def drawn(df: DataFrame, every: int | None) -> DataFrame:
    """Draw rows of each partition, each with its tier: 2 to this power rows are counted for it.

    Row n of a partition has the least tier at which ``every`` times 2 to the tier is at least n.
    With None, all rows are drawn.
    """
    if every is None:
        return df.withColumn(TIER, F.lit(0))
    number = F.monotonically_increasing_id().bitwiseAND(F.lit(_IN_PARTITION)) + 1
    numbered = df.withColumns({_ROW: number, _DRAWN: F.rand(SEED)})
    # The first condition is cheap, and leaves few rows for the second.
    near = numbered.where(F.col(_DRAWN) * F.col(_ROW) < every)
    tier = F.greatest(F.lit(0), F.ceil(F.log2(F.col(_ROW) / every)).cast("int"))
    return near.withColumn(TIER, tier).where(F.col(_DRAWN) < F.pow(F.lit(2.0), -F.col(TIER)))
