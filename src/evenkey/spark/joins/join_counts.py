"""Count the rows of each key on both sides of a join, and compute the work of each key."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey.spark.joins.join_keys import without_null
from evenkey.spark.joins.recounting import KeyTable, recount, unsure
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.keys.spark_placement import spark_partition
from evenkey.spark.plans.costly_inputs import read_once
from evenkey.spark.plans.key_sample import TIER, all_of, bound, drawn
from evenkey.spark.sessions.printed_plans import estimated_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column

    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_kinds import Kind, Weigh

_INCOMING = 0.1
"""Work of an input row. A row of the result counts 1, because all later operators process it."""
_KEY, _OPEN, _BUCKET, _TASK = range(4)
"""Kinds of rows in the collected table: a key with much work, a key of which a further row makes
much work, a bucket of keys, a task of Spark's own join."""
_PARTITION, _SIDE, _APART, _WEIGHT = "partition", "side", "apart", "weight"
_SUMMED = ("left", "right", "spread", "unit", "work", "variance")
_MOST = ("most_right", "most_weight")

Sampled = Literal["left", "right"]


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
        float64[partitions], work of each task of Spark's own join.
    rows
        Number of rows on the left side and on the right side.
    error
        Bound on the error of a worker's work, as a share of the mean; it holds in 99.7 % of all
        samples. 0: all rows were counted.
    """

    keys: NDArray[np.uint64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    work: NDArray[np.float64]
    bucket_work: NDArray[np.float64]
    most_right: int
    spark_loads: NDArray[np.float64]
    rows: tuple[int, int] = (0, 0)
    error: float = 0.0

    def rest(self, among: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return float64[B], the work of each bucket without the keys `among`; None: all keys."""
        chosen = slice(None) if among is None else among
        buckets = (self.keys[chosen] & np.uint64(len(self.bucket_work) - 1)).astype(np.int64)
        own = np.bincount(buckets, self.work[chosen], minlength=len(self.bucket_work))
        return np.maximum(self.bucket_work - own, 0.0)


class Sizes(NamedTuple):
    """Sizes of the tables that `count_both` collects.

    Parameters
    ----------
    heaviest
        Number of hot keys to count individually.
    buckets
        Number of buckets, B, a power of two.
    partitions
        Number of tasks of Spark's own join.
    workers
        Number of workers, which determines the size of the sample.
    """

    heaviest: int
    buckets: int
    partitions: int
    workers: int


def count_both(
    left: DataFrame,
    right: DataFrame,
    keys: JoinKeys,
    kind: Kind,
    weigh: Weigh,
    sizes: Sizes,
    *,
    exact: bool,
) -> JoinCounts:
    """Count the rows of each key on both sides, in one job that reads each side once.

    Rows of both sides are combined before they are shuffled, so a hot key does not skew this job.
    Rows with a null key have no match. evenkey spreads such rows over all workers, so only
    `spark_loads` includes them, if the join's result keeps them.

    If not `exact`, the rows of one side are sampled (`sampled_side`), as in `key_sample`. All rows
    of the other side are counted. So each drawn row adds a known work, that of the result rows
    which it makes, and the estimates are unbiased. A key that is hot on the counted side only can
    have so few rows on the sampled side that none is drawn. If there is such a key, a second job
    counts its rows on the sampled side.

    Parameters
    ----------
    left, right
        Batches.
    keys
        Key columns of both sides.
    kind, weigh
        Kind of join and unit of work, which determine the work of a key.
    sizes
        Sizes of the result and of the sample.
    exact
        Whether to count all rows of both sides.
    """
    sampled = None if exact else sampled_side(left, right, keys, kind)
    every = all_of(sizes.workers)
    both = _rows(
        left,
        keys.left,
        "left",
        sizes.partitions,
        nulls=kind.nulls_of_left,
        every=every if sampled == "left" else None,
    ).unionAll(
        _rows(
            right,
            keys.right,
            "right",
            sizes.partitions,
            nulls=kind.keeps_right,
            every=every if sampled == "right" else None,
        )
    )
    collected = _collected(both, kind, weigh, sampled, sizes)
    table = collected.keys
    total = float(collected.bucket_work.sum())
    open_keys = unsure(table, total / sizes.workers, collected.most_weight, collected.above)
    if sampled is not None and open_keys.any():
        side, columns = (left, keys.left) if sampled == "left" else (right, keys.right)
        hashed = hash_of(columns)
        known = side.where(without_null(columns))
        table = recount(table, open_keys, sampled, known, hashed)
    added = table.work - collected.keys.work
    bucket_work, spark_loads = collected.bucket_work, collected.spark_loads
    np.add.at(bucket_work, (table.hashes & np.uint64(sizes.buckets - 1)).astype(np.int64), added)
    np.add.at(spark_loads, table.tasks, added)
    variance = collected.variance + float((table.variance - collected.keys.variance).sum())
    return JoinCounts(
        table.hashes,
        table.left,
        table.right,
        table.work,
        bucket_work,
        max(collected.most_right, int(table.right.max(initial=0))),
        spark_loads,
        collected.rows,
        bound(max(variance, 0.0), float(bucket_work.sum()), sizes.workers),
    )


def sampled_side(left: DataFrame, right: DataFrame, keys: JoinKeys, kind: Kind) -> Sampled | None:
    """Return the side whose rows are sampled; None: all rows of both sides must be counted.

    The work of a key must be proportional to its rows on this side. So if the result has unmatched
    rows of one side, that side is sampled, and if it has those of both sides, neither. Otherwise it
    is the side with more rows, by Spark's estimates.
    """
    if kind.keeps_left and kind.keeps_right:
        return None
    if kind.keeps_left:
        return "left"
    if kind.keeps_right:
        return "right"
    larger = estimated_bytes(left.select(*keys.left)) >= estimated_bytes(right.select(*keys.right))
    return "left" if larger else "right"


class _Collected(NamedTuple):
    keys: KeyTable
    above: float
    bucket_work: NDArray[np.float64]
    spark_loads: NDArray[np.float64]
    variance: float
    most_right: int
    most_weight: int
    rows: tuple[int, int]


def _collected(
    both: DataFrame, kind: Kind, weigh: Weigh, sampled: Sampled | None, sizes: Sizes
) -> _Collected:
    """Compute the work of each key, and collect the hottest keys, the buckets and the tasks."""
    weight = F.col(_WEIGHT)
    counts = both.groupBy("hash", _PARTITION, _APART).agg(
        *(
            F.sum(F.when(F.col(_SIDE) == side, weight).otherwise(0)).alias(side)
            for side in ("left", "right")
        ),
        F.sum(weight * (weight - 1)).alias("spread"),
        F.max(weight).alias("most_weight"),
    )
    unit = _unit(kind, weigh, sampled)
    work = counts.withColumns(
        {
            "work": _work(kind, weigh),
            "unit": unit,
            "variance": F.col("spread") * unit * unit,
            "most_right": F.col("right"),
            _PARTITION: F.col(_PARTITION).cast("bigint"),
        }
    ).select("hash", _PARTITION, *_SUMMED, *_MOST)
    with read_once(work, both) as every:
        found = _tables(every, sampled, sizes).toArrow()
    return _of_tables(found, sizes)


def _tables(every: DataFrame, sampled: Sampled | None, sizes: Sizes) -> DataFrame:
    """Return the keys with most work, and the sums of all buckets and tasks, each marked as such.

    Parameters
    ----------
    every
        The work of each key.
    sampled
        The sampled side.
    sizes
        Sizes of the tables.
    """
    sums = [F.sum(name).alias(name) for name in _SUMMED]
    most = [F.max(name).alias(name) for name in _MOST]
    bucket = F.col("hash").bitwiseAND(F.lit(sizes.buckets - 1))
    named = ("part", "hash", _PARTITION, *_SUMMED, *_MOST)

    def part(rows: DataFrame, number: int) -> DataFrame:
        return rows.withColumn("part", F.lit(number)).select(*named)

    def hottest(by: str, number: int) -> DataFrame:
        known = F.when(F.col("hash").isNotNull(), F.col(by))
        return part(every.orderBy(known.desc_nulls_last()).limit(sizes.heaviest), number)

    # All tables below use the same shuffle of the counts, so Spark runs this shuffle once. A filter
    # of rows without a hash would be moved to before the shuffle, and make it another shuffle.
    by_bucket = every.groupBy(bucket.alias("hash")).agg(*sums, *most)
    by_task = every.groupBy(_PARTITION).agg(*sums, *most)
    tables = [
        hottest("work", _KEY),
        part(by_bucket.withColumn(_PARTITION, F.lit(0).cast("bigint")), _BUCKET),
        part(by_task.withColumn("hash", F.col(_PARTITION)), _TASK),
    ]
    if sampled is not None:
        tables.append(hottest("unit", _OPEN))
    return functools.reduce(DataFrame.unionAll, tables)


def _of_tables(found: pa.Table, sizes: Sizes) -> _Collected:
    """Take apart what was collected."""
    table = found.filter(pc.is_valid(found["hash"]))
    column = {name: table[name].to_numpy() for name in table.column_names}
    is_key, is_open, is_bucket, is_task = (column["part"] == number for number in range(4))

    def loads(among: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        numbers, work = column["hash"][among], column["work"][among]
        return np.bincount(numbers, work, minlength=length).astype(np.float64)

    keys = KeyTable(
        hashes=column["hash"].astype(np.int64).view(np.uint64),
        tasks=column[_PARTITION],
        **{name: column[name] for name in _SUMMED},
    )
    return _Collected(
        keys.once(is_key | is_open),
        column["unit"][is_open].min() if is_open.sum() == sizes.heaviest else -np.inf,
        loads(is_bucket, sizes.buckets),
        loads(is_task, sizes.partitions),
        float(column["variance"][is_bucket].sum()),
        int(column["most_right"][is_bucket].max(initial=0)),
        int(column["most_weight"][is_bucket].max(initial=1)),
        (int(column["left"][is_task].sum()), int(column["right"][is_task].sum())),
    )


def _work(kind: Kind, weigh: Weigh) -> Column:
    """Return the work of a key."""
    left, right = F.col("left"), F.col("right")
    # Some kinds of join only test whether the right side has a key: all its rows count as one row.
    tested = F.least(right, F.lit(1)) if kind.tests_only else right
    rows = (left + tested).cast("double")
    return rows if weigh == "rows" else _INCOMING * rows + kind.output(left, right)


def _unit(kind: Kind, weigh: Weigh, sampled: Sampled | None) -> Column:
    """Return the work that a further row of a key on the sampled side makes."""
    if sampled is None or weigh == "rows":
        return F.lit(0.0 if sampled is None else 1.0)
    one = F.lit(1)
    sides = (one, F.col("right")) if sampled == "left" else (F.col("left"), one)
    return _INCOMING + kind.output(*sides).cast("double")


def _rows(
    side: DataFrame,
    columns: tuple[Column, ...],
    name: Sampled,
    partitions: int,
    *,
    nulls: bool,
    every: int | None,
) -> DataFrame:
    """Return the hash of each row's key, its task, the name of the side, and the row's weight.

    Parameters
    ----------
    side, columns
        A side, and its key columns.
    name
        Name of the side.
    partitions
        Number of tasks of Spark's own join.
    nulls
        Whether to count rows with a null key too. Such a row has no hash, and a column with the
        name of its side keeps it apart from the other side's.
    every
        How many rows at the beginning of each partition are all drawn; None: all rows are counted.
    """
    matches, hashed = without_null(columns), hash_of(columns)
    if not nulls or _spreads_nulls(side):
        side = side.where(matches)
    return drawn(side, every).select(
        F.when(matches, hashed).alias("hash"),
        spark_partition(columns, partitions).alias(_PARTITION),
        F.when(~matches, F.lit(name)).alias(_APART),
        F.lit(name).alias(_SIDE),
        F.expr(f"shiftleft(1L, {TIER})").alias(_WEIGHT),
    )


def _spreads_nulls(side: DataFrame) -> bool:
    """Return whether Spark's own joins spread rows with a null key, an option since Spark 4.3."""
    option = "spark.sql.shuffle.spreadNullJoinKeys.enabled"
    return str(side.sparkSession.conf.get(option, "false")).lower() == "true"


def work_of_input(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the work of numbers of input rows, which a join adds to its rows of the result."""
    return _INCOMING * rows
