"""Number rows so that their numbers stay the same when a task runs again and the order changes.

A task that reads a shuffle gets rows in the order in which they arrive. If the task runs again,
because an executor was lost, rows may arrive in another order. A row that is placed by its position
could then go to another worker. When Spark notices this, it runs all tasks again that have read the
rows, or fails the job if this is impossible. So after a shuffle, rows are sorted by a hash of their
contents before they are numbered. The order of rows with equal contents does not matter. Spark's
own ``repartition`` sorts for the same reason. The setting that switches off Spark's sort (`SORTS`)
switches off this sort too.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from evenkey.spark.keys.contents import hashed_parts
from evenkey.spark.keys.given_columns import OWN, quoted, row_numbers
from evenkey.spark.sessions.access import is_remote
from evenkey.spark.sessions.printed_plans import printed_plan
from evenkey.spark.sessions.retries import SORTS, warn_of_unsafe_retries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

_SHUFFLE = re.compile(
    r"^[ :|+*()\d-]*(?:(?!Broadcast)\w*Exchange|CollectLimit|CollectTail|TakeOrderedAndProject)\b"
    r"|\bScan JDBC",
    re.MULTILINE,
)
"""Matches operators in a printed plan whose rows may change their order when a task runs again.

A plan prints no shuffle below ``CollectLimit`` and the like. But if other operators read their
rows, these go through a shuffle into one partition."""
_REPEATED = f"{OWN}repeated"
_RDD = re.compile(r"\bScan ExistingRDD\b")
"""Matches the scan of an RDD in a printed plan. An RDD is a checkpoint, Python objects or a
micro-batch, and a shuffle may have computed it."""


def numbered(
    df: DataFrame,
    source: DataFrame,
    names: Iterable[str] | None = None,
    where: Column | None = None,
) -> tuple[DataFrame, Column | None]:
    """Number rows so that a task which runs again gives equal rows the same numbers.

    A batch whose order is stable is numbered as it is; any other batch is sorted first. Spark does
    not number the rows of a stream. If the order of a stream is stable, its rows get no numbers;
    otherwise the number of a row is the hash of its contents.

    Parameters
    ----------
    df
        Rows to number: the rows of `source`, perhaps with further columns.
    source
        The user's DataFrame.
    names
        Columns that make up the contents of a row; None: all of the user's columns.
    where
        Condition for rows whose numbers matter; None: all rows.

    Returns
    -------
    tuple
        The rows, and the column of their numbers, which is None if the rows have no numbers.
    """
    if names is None:
        names = own_columns(source)
    if df.isStreaming:
        if _repeated(source, names) and order_may_change(source):
            warn_of_unsafe_retries(df.sparkSession, "several columns have the same name")
        return df, content_hash(source, names, where) if order_may_change(source) else None
    return in_stable_order(df, source, names, where=where), row_numbers()


def in_stable_order(
    df: DataFrame,
    source: DataFrame,
    names: Iterable[str],
    *,
    where: Column | None = None,
    after: Sequence[Column] = (),
) -> DataFrame:
    """Sort the rows of each partition by contents, unless they come in the same order each time.

    If the setting `SORTS` is false, this does not sort, and logs a warning.

    Parameters
    ----------
    df, source, names, where
        As for `numbered`.
    after
        The first columns to sort by; contents are compared where rows are equal in these.
    """
    if not order_may_change(source):
        return df
    if not _sorts(df.sparkSession):
        warn_of_unsafe_retries(df.sparkSession, f"{SORTS} is false")
        return df
    order = [*after, content_hash(source, names, where)]
    if not _repeated(source, names):
        return df.sortWithinPartitions(*order)
    with_hash = df.withColumn(_REPEATED, _hash_of_repeated(df, names, where))
    return with_hash.sortWithinPartitions(*order, _REPEATED).drop(_REPEATED)


def content_hash(df: DataFrame, names: Iterable[str], where: Column | None = None) -> Column:
    """Hash the contents of each row; the hash of a row that does not match `where` is 0.

    Columns with the same name cannot be referred to by name, so they are not hashed.
    """
    wanted = set(names)
    repeated = _repeated(df, wanted)
    parts = [
        part
        for number, field in enumerate(df.schema)
        if field.name in wanted and number not in repeated
        for part in hashed_parts(quoted(field.name), field.dataType)
    ]
    return _where(F.xxhash64(F.lit(len(wanted)), *parts), where)


def _repeated(df: DataFrame, names: Iterable[str]) -> list[int]:
    """Return the positions of those of the named columns whose name another column has, too."""
    wanted = set(names)
    folded = Counter(name.lower() for name in df.columns)
    return [
        number
        for number, name in enumerate(df.columns)
        if name in wanted and folded[name.lower()] > 1
    ]


def _hash_of_repeated(df: DataFrame, names: Iterable[str], where: Column | None) -> Column:
    """Hash the contents of columns with repeated names, for `DataFrame.withColumn`."""
    # A struct of all columns, whose fields are renamed by a cast. With `toDF` instead, users could
    # no longer refer to columns by their DataFrame.
    kinds = [field.dataType for field in df.schema]
    renamed = StructType([StructField(str(number), kind) for number, kind in enumerate(kinds)])
    row = F.struct("*").cast(renamed)
    parts = [
        part
        for number in _repeated(df, names)
        for part in hashed_parts(row.getField(str(number)), kinds[number])
    ]
    return _where(F.xxhash64(*parts), where)


def _where(content: Column, where: Column | None) -> Column:
    return content if where is None else F.when(where, content).otherwise(F.lit(0))


def own_columns(df: DataFrame) -> list[str]:
    """List the columns that evenkey has not added to a DataFrame."""
    return [name for name in df.columns if not name.startswith(OWN)]


def order_may_change(df: DataFrame) -> bool:
    """Return whether a task that runs again may get its rows in another order.

    This is the case after a shuffle, and if rows come from an RDD whose origin is unknown.
    """
    plan = printed_plan(df)
    if _SHUFFLE.search(plan):
        return True
    rdds = len(_RDD.findall(plan))
    return rdds > 0 and _stable_rdds(df) < rdds


def _sorts(session: SparkSession) -> bool:
    try:
        return str(session.conf.get(SORTS)).lower() != "false"
    except PySparkException:  # managed sessions may hide settings
        return True


def _stable_rdds(df: DataFrame) -> int:
    """Count the RDDs of a DataFrame that always give their rows in the same order."""
    if is_remote(df.sparkSession):
        return 0
    frame: Any = df
    execution = frame._jdf.queryExecution()  # noqa: SLF001 - Python has no name of it
    leaves = execution.optimizedPlan().collectLeaves()
    each = [leaves.apply(number) for number in range(leaves.size())]
    rdds = [leaf.rdd() for leaf in each if leaf.getClass().getSimpleName() == "LogicalRDD"]
    return sum(rdd.outputDeterministicLevel().toString() == "DETERMINATE" for rdd in rdds)
