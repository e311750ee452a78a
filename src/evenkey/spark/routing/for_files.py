"""`partition_for_write`: give each value few files, and each writing task the same work."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, VariantType

from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Plan, PlannedGrouping, heaviest_first
from evenkey.spark.keys.explanation import Explanation, Placement, counted, hottest
from evenkey.spark.keys.given_columns import (
    check_frame,
    check_own_names,
    check_types,
    column_names,
    hash_of,
    key_columns,
)
from evenkey.spark.keys.key_names import KeyNames, NamedRows
from evenkey.spark.keys.spark_placement import spark_loads
from evenkey.spark.plans.lookup import with_planned_worker
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.routing.to_workers import place
from evenkey.spark.sessions.task_slots import slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)

_FILE = "__evenkey_file"
_FULL = 1.08
"""Maximum of the rows that a plan gives a task, as a multiple of the mean over all tasks. The rows
that a task really gets have an additional random deviation."""
_SAND = 0.08
"""A value is never divided if it has at most this fraction of the mean number of rows per task."""


def partition_for_write(
    df: DataFrame, by: str | Column | Sequence[str | Column], files: int
) -> DataFrame:
    """Move rows to `files` tasks of equal size, so that each value of `by` gets few files.

    Use it as ``partition_for_write(df, "day", files=32).write.partitionBy("day")``, or with any
    other writer that writes one file per task and value. Values are counted first. A value that
    fits into one task stays in one task and gets one file. A larger value is distributed in equal
    parts over as few tasks as possible; other values fill the rest of these tasks.

    Parameters
    ----------
    df
        Batch.
    by
        Names of the columns of ``partitionBy``, or expressions by which the table is partitioned,
        such as ``F.to_date("sold_at")``.
    files
        Number of writing tasks, at least 1. Each task writes one file per value among its rows.

    Returns
    -------
    DataFrame
        The same rows and columns, in `files` partitions, which adaptive execution does not change.

    Raises
    ------
    ConfigurationError
        A column is missing or of a type without a hash, `files` is invalid, or `df` is a stream.

    Notes
    -----
    Guarantee: let m be the mean number of rows per task. The plan gives no task more than 1.08 m
    rows. A value of up to 0.08 m rows has one file. A value of n rows has ``ceil(n / (1.08 m))``
    files, and more only if values would not fit otherwise, such as three values of equal size in
    two tasks. The plan divides a value into equal parts.

    Rows of a divided value are distributed by their position. In the worst case this is like a
    random draw, which adds a deviation of about ``1 / sqrt(rows of the file)``. With 1,000 rows per
    file or more, no task has more than 1.1 times the mean, and the files of one value differ by at
    most a factor of 1.2.

    Null is a value. Counting reads the input one more time. If the input follows a shuffle and a
    value is divided, rows are sorted by their contents within each task, so that a lost executor
    does not fail the job. ``spark.sql.execution.sortBeforeRepartition=false`` switches the sort
    off.

    Examples
    --------
    >>> sales = spark.range(90).selectExpr("if(id % 3 < 2, 'mon', 'tue') as day", "id")
    >>> tasks = partition_for_write(sales, "day", files=3).groupBy("day", F.spark_partition_id())
    >>> sorted(row["day"] for row in tasks.count().collect())
    ['mon', 'mon', 'tue']

    By an expression:

    >>> by_hundred = partition_for_write(sales, F.floor(F.col("id") / 100), files=3)
    >>> sorted(row["day"] for row in by_hundred.groupBy("day").count().collect())
    ['mon', 'tue']
    """
    values = _checked(df, by, files)
    counts = values.counted()
    plan = values.plan(counts)
    count = len(counts.rows)
    written = count + plan.extra_pairs
    logger.info("%d values are written to %d files by %d tasks", count, written, files)
    numbered = with_planned_worker(
        df, values.hashed, PlannedGrouping(), files, Fixed(plan.to_arrays()), _FILE
    )
    return place(numbered, files, column=_FILE).drop(_FILE)


def explain_files(
    df: DataFrame, by: str | Column | Sequence[str | Column], files: int
) -> Explanation:
    """Explain `partition_for_write`; this counts the values in the same way.

    Raises
    ------
    ConfigurationError
        As `partition_for_write` does.
    """
    values = _checked(df, by, files)
    start = time.perf_counter()
    counts = values.counted()
    seconds = time.perf_counter() - start
    plan = values.plan(counts)
    keys, rows = counts.hashes, counts.rows.astype(np.float64)
    names = KeyNames([NamedRows(df, values.columns, values.shown, values.hashed)], "a value")
    written = len(rows) + plan.extra_pairs
    placement = Placement(
        "write.partitionBy",
        "a value gets few files, and a large one is distributed over several tasks",
        hot_keys=hottest(plan, keys, rows, rows.sum(), names.of),
        loads=plan.loads,
        spark_loads=spark_loads(df, values.columns, None),
        slots=slots_of(df.sparkSession),
        notes=(
            f"files: {written:,} for {len(rows):,} values",
            f"cost: {counted(seconds, 'the input')}",
        ),
    )
    return Explanation(f"partition_for_write({', '.join(values.shown)})", files, (placement,))


class _Counts(NamedTuple):
    """Hashes of the values, uint64[v], and number of rows of each value, int64[v], above 0."""

    hashes: NDArray[np.uint64]
    rows: NDArray[np.int64]


class _Values(NamedTuple):
    """The values by which a batch is written: columns or expressions, and the number of tasks."""

    df: DataFrame
    columns: list[Column]
    shown: list[str]
    files: int

    @property
    def hashed(self) -> Column:
        """The hash of a row's value."""
        return hash_of(self.columns, nulls_apart=True)

    def counted(self) -> _Counts:
        """Count the rows of each value, in one job."""
        by_hash = self.df.groupBy(self.hashed.alias("hash"))
        counts = by_hash.agg(F.count(F.lit(1)).alias("rows")).toArrow()
        return _Counts(counts["hash"].to_numpy().view(np.uint64), counts["rows"].to_numpy())

    def plan(self, counts: _Counts) -> Plan:
        """Place the values on the tasks."""
        return plan_values(*counts, self.files, PlannedGrouping().bucket_count(self.files))


def _checked(df: DataFrame, by: str | Column | Sequence[str | Column], files: int) -> _Values:
    check_frame(df)
    columns = _columns(df, by)
    selected = df.select(*columns)
    check_types(selected, selected.columns, (MapType, VariantType), "maps have no hash", "by")
    check_own_names(df)
    whole_number("files", files, 1)
    if df.isStreaming:
        message = (
            "df is a stream: values are counted before rows are placed; call partition_for_write "
            "in foreachBatch, on its batch"
        )
        raise ConfigurationError(message)
    return _Values(df, columns, selected.columns, files)


def _columns(df: DataFrame, by: str | Column | Sequence[str | Column]) -> list[Column]:
    """Return the columns and expressions of `by`."""
    listed: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    if not any(isinstance(each, Column) for each in listed):
        return key_columns(df, column_names(by, "by"), "by")
    return [each if isinstance(each, Column) else key_columns(df, each, "by")[0] for each in listed]


def plan_values(values: NDArray[np.uint64], rows: NDArray[Any], files: int, buckets: int) -> Plan:
    """Place values on tasks; very small values are placed together, by the bucket of their hash.

    Parameters
    ----------
    values, rows
        Hashes of the values, and number of rows of each value, int64 or float64, above 0.
    files
        Number of tasks.
    buckets
        Number of buckets of hashes, a power of two.
    """
    mean = rows.sum() / files
    own = rows > rows.sum() / buckets
    order = np.argsort(values[own], kind="stable")
    values_of, rows_of = values[own][order], rows[own][order].astype(np.float64)
    parts = _parts(rows_of, mean, files)
    in_buckets = (values[~own] & np.uint64(buckets - 1)).astype(np.int64)
    sand = np.bincount(in_buckets, rows[~own], minlength=buckets).astype(np.float64)
    sizes = np.concatenate((rows_of / parts, sand))
    counts = np.concatenate((parts, np.ones(buckets, np.int64)))
    tasks, loads = heaviest_first(sizes, files, counts)
    return Plan(
        owners=tasks[parts.sum() :],
        keys=values_of,
        starts=np.concatenate(([0], np.cumsum(parts))).astype(np.int64),
        places=tasks[: parts.sum()],
        shares=np.repeat(1 / parts, parts),
        loads=loads,
    )


def _parts(rows: NDArray[np.float64], mean: float, files: int) -> NDArray[np.int64]:
    """Compute the number of equal parts of each value so that all parts fit into the tasks.

    Examples
    --------
    >>> _parts(np.array([30.0, 30.0, 30.0, 2.0]), mean=46.0, files=2).tolist()
    [1, 1, 2, 1]
    """
    parts = np.maximum(np.ceil(rows / (_FULL * mean)), 1).astype(np.int64)
    large = np.flatnonzero(rows > _SAND * mean)
    while True:
        placed, loads = heaviest_first(rows[large] / parts[large], files, parts[large])
        ends = np.cumsum(parts[large])
        over = loads > _FULL * mean
        largest: dict[int, tuple[float, int]] = {}
        for value, end in zip(large.tolist(), ends.tolist(), strict=True):
            size = (rows[value] / parts[value], value)
            for task in placed[end - parts[value] : end].tolist() if parts[value] < files else ():
                if over[task] and size > largest.get(task, (0.0, 0)):
                    largest[task] = size
        if not largest:
            return parts
        for value in {value for _, value in largest.values()}:
            parts[value] += 1
