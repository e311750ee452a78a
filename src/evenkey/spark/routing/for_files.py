"""`partition_for_write`: give each value few files, and each writing task the same work."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql.types import MapType, VariantType

from evenkey.core.checking import check_one_of, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping
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
from evenkey.spark.plans.costly_inputs import costly_part
from evenkey.spark.plans.lookup import with_planned_worker
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.routing.file_plans import plan_files
from evenkey.spark.routing.to_workers import place
from evenkey.spark.sessions.task_slots import shuffle_partitions, slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from evenkey.spark.routing.file_plans import FilePlan

logger = logging.getLogger(__name__)

_FILE = "__evenkey_file"


def partition_for_write(
    df: DataFrame,
    by: str | Column | Sequence[str | Column],
    files: int,
    *,
    exact: bool = False,
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
    exact
        Whether to count all rows. By default the rows of values are estimated from a sample, as in
        `groupBy`; `explain` states the bound on the error.

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
    Guarantee: let m be the mean number of rows per task. The plan gives no task more than
    ``1.08 * m`` rows. A value of up to ``0.08 * m`` rows has one file. A value of n rows has
    ``ceil(n / (1.08 * m))`` files, and more only if values would not fit otherwise, such as three
    values of equal size in two tasks. The plan divides a value into equal parts. All of this holds
    for the counted rows: unless `exact` is true, it may be off by the error of the sample. If
    Spark's own hash of the values gives no task more than ``1.08 * m`` rows, Spark places the
    values, one file for each.

    Rows of a divided value are distributed by their position. In the worst case this is like a
    random draw, which adds a deviation of about ``1 / sqrt(rows of the file)``. With 1,000 rows per
    file or more, no task has more than 1.1 times the mean, and the files of one value differ by at
    most a factor of 1.2.

    Null is a value. Counting reads the input one more time, unless there is one task. If the input
    follows a shuffle and a value is divided, rows are sorted by their contents within each task, so
    that a lost executor does not fail the job.
    ``spark.sql.execution.sortBeforeRepartition=false`` switches the sort off.

    Examples
    --------
    >>> from pyspark.sql import functions as F
    >>> sales = spark.range(90).selectExpr("if(id % 3 < 2, 'mon', 'tue') as day", "id")
    >>> tasks = partition_for_write(sales, "day", files=3).groupBy("day", F.spark_partition_id())
    >>> sorted(row["day"] for row in tasks.count().collect())
    ['mon', 'mon', 'tue']

    By an expression:

    >>> by_hundred = partition_for_write(sales, F.floor(F.col("id") / 100), files=3)
    >>> sorted(row["day"] for row in by_hundred.groupBy("day").count().collect())
    ['mon', 'tue']
    """
    values = _checked(df, by, files, exact=exact)
    found = values.planned()
    logger.info("%s", found)
    if found.plan is None or found.reason is not None:
        return df.repartition(files, *values.columns)
    numbered = with_planned_worker(
        df, values.hashed, PlannedGrouping(), files, Fixed(found.plan.to_arrays()), _FILE
    )
    return place(numbered, files, column=_FILE).drop(_FILE)


def explain_files(
    df: DataFrame,
    by: str | Column | Sequence[str | Column],
    files: int,
    *,
    exact: bool = False,
) -> Explanation:
    """Explain `partition_for_write`; this counts the values in the same way.

    Raises
    ------
    ConfigurationError
        As `partition_for_write` does.
    """
    values = _checked(df, by, files, exact=exact)
    found = values.planned([shuffle_partitions(df.sparkSession)])
    operator = f"partition_for_write({', '.join(values.shown)})"
    work = "write.partitionBy"
    if found.plan is None or found.sample is None:
        return Explanation(operator, files, (Placement(work, f"Spark's own ({found.reason})"),))
    costly = costly_part(df.select(*values.columns))
    cost = f"cost: {counted(found.seconds, 'the input', found.sample.error, costly)}"
    if found.reason is not None:
        placement = Placement(work, f"Spark's own ({found.reason})", notes=(cost,))
        return Explanation(operator, files, (placement,))
    statistics = found.sample.statistics
    keys, rows, _ = statistics.items(0.0)
    names = KeyNames([NamedRows(df, values.columns, values.shown, values.hashed)], "a value")
    placement = Placement(
        work,
        "a value gets few files, and a large one is distributed over several tasks",
        hot_keys=hottest(found.plan, keys, rows, statistics.total, names.of),
        loads=found.plan.loads,
        spark_loads=found.sample.spark_loads[1],
        slots=slots_of(df.sparkSession),
        notes=(f"files: {found.more}", cost),
    )
    return Explanation(operator, files, (placement,))


class _Values(NamedTuple):
    """The values by which a batch is written: columns or expressions, and the number of tasks."""

    df: DataFrame
    columns: list[Column]
    shown: list[str]
    files: int
    exact: bool

    @property
    def hashed(self) -> Column:
        """The hash of a row's value."""
        return hash_of(self.columns, nulls_apart=True)

    def planned(self, others: Sequence[int] = ()) -> FilePlan:
        """Count the values and place them; `others` as for `plan_files`."""
        return plan_files(
            self.df,
            self.hashed,
            self.columns,
            f"partition_for_write({', '.join(self.shown)})",
            self.files,
            exact=self.exact,
            others=others,
        )


def _checked(
    df: DataFrame, by: str | Column | Sequence[str | Column], files: int, *, exact: bool
) -> _Values:
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
    check_one_of("exact", exact, (True, False))
    return _Values(df, columns, selected.columns, files, exact)


def _columns(df: DataFrame, by: str | Column | Sequence[str | Column]) -> list[Column]:
    """Return the columns and expressions of `by`."""
    listed: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    if not any(isinstance(each, Column) for each in listed):
        return key_columns(df, column_names(by, "by"), "by")
    return [each if isinstance(each, Column) else key_columns(df, each, "by")[0] for each in listed]
