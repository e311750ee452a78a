"""`over`: Spark's window functions, with hot keys cut into pieces that run in parallel."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.lookup import HASH
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.windows.neighbour_rows import neighbour_aggregates, with_copies
from evenkey.spark.windows.order_pieces import exchanged, is_hot, with_pieces
from evenkey.spark.windows.piece_tables import (
    HotRows,
    Pieces,
    ends_of,
    with_carries,
    with_totals,
)
from evenkey.spark.windows.served_columns import COPY, NO_COPY
from evenkey.spark.windows.window_plans import planned
from evenkey.spark.windows.window_request import WindowRequest, left_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from evenkey.core.stores import Store
    from evenkey.groupings import Snapshot
    from evenkey.spark.windows.order_cuts import Cuts
    from evenkey.spark.windows.served_columns import Served

logger = logging.getLogger(__name__)


def over(
    df: DataFrame,
    partition_by: str | Column | Sequence[str | Column],
    order_by: str | Column | Sequence[str | Column],
    columns: Mapping[str, Column],
    rows_between: tuple[int, int] | None = None,
    range_between: tuple[int, int] | None = None,
    workers: int | None = None,
    *,
    state: str | Path | Store | None = None,
    cost: str | Column | None = None,
    exact: bool = False,
) -> DataFrame:
    """Add window functions as ``function.over(window)`` does, without long tasks for hot keys.

    Spark sorts and scans all rows of a key in one task. evenkey counts the keys first and cuts each
    key with more rows than a task should have at values of the order. Spark's own window runs on
    each piece, and a small table carries over what the other pieces add: the rows before a piece,
    their sum, their last value. Spark's own expressions do all of this; no row goes through Python.
    Rows are shuffled once, into `workers` partitions, which adaptive execution does not change.

    Parameters
    ----------
    df
        A batch, also that of ``foreachBatch``.
    partition_by
        As for ``Window.partitionBy``: a name or a Column such as ``F.window("time", "1 hour")``, or
        a list of these; an empty list: all rows are one partition.
    order_by
        As for ``Window.orderBy``: a name or a Column such as ``F.desc("time")``, or a list.
    columns
        The new columns: for each name one function of Spark, such as ``F.row_number()``,
        ``F.sum("amount")`` or ``F.lag("amount", 1)``, without ``over``.
    rows_between
        Frame of the aggregate functions in rows, as for ``Window.rowsBetween``: a pair of bounds,
        such as ``(Window.unboundedPreceding, 0)``. Without this parameter and `range_between`, the
        frame is Spark's default, all rows up to the last one with the current order value. Ranking
        functions, `lag` and `lead` have frames of their own.
    range_between
        Frame of the aggregate functions in values of the order, as for ``Window.rangeBetween``: a
        pair of bounds, such as ``(-10, 0)``. Pass this or `rows_between`, not both.
    workers
        Number of tasks, at least 1; None: the number of the plan in `state`. If there is no plan,
        ``spark.sql.shuffle.partitions``, or 1 if the session runs one task at a time. With one
        task, Spark's own windows run, and nothing is counted.
    state
        Storage location of the plan: the hot keys, and where they are cut. A later call uses the
        plan, also for other rows. None: each call counts the keys.
    cost
        Column with the cost of each row, or its name; None: each row costs the same.
    exact
        Whether to count the rows of every key. By default they are estimated from a sample, as in
        `groupBy`; `explain` states the bound on the error. Costs are always summed over all rows.

    Returns
    -------
    DataFrame
        The columns of `df` and the new ones, rows in any order. The plan is logged, and `explain`
        returns its details.

    Raises
    ------
    ConfigurationError
        A column is missing or is not one window function, Spark refuses the window, another
        argument is invalid, `df` is a stream, or `state` has the plan of another window.
    RunError
        `state` cannot be read or written.

    Notes
    -----
    Values, types and nullability are those of Spark's own window under every plan, except where
    doubles are added up: sums and averages of floating-point numbers, averages of integers,
    variances and standard deviations. They are added up in another order, so rounding differs;
    where large positive and negative values cancel, the relative difference has no bound. In ANSI
    mode, a sum of integers or decimals also fails if that of a piece does not fit its type. As in
    Spark, functions that depend on the order of rows with equal order values may give either value.

    The call runs Spark jobs, which count the keys, by default in a sample, sample the rows of hot
    keys, and read these rows for what pieces carry. The result reads `df` again. If these reads
    return different rows, the result is wrong, which nothing detects: write rows that are random,
    or that a changing source returns, to a table or a checkpoint first. A cache is no guarantee,
    because Spark computes lost blocks again.

    Columns that cannot be computed on pieces are computed by Spark's own window, in this same call;
    `explain` names them, with the reason.

    Examples
    --------
    >>> from pyspark.sql import functions as F
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> columns = {"n": F.row_number(), "total": F.sum("id"), "before": F.lag("id", 1)}
    >>> numbered = over(clicks, "user", "id", columns, workers=4)
    >>> numbered.where("id > 97").sort("id").select(*columns).collect()
    [Row(n=80, total=3920, before=97), Row(n=20, total=1030, before=94)]
    """
    request = WindowRequest.of(
        df,
        partition_by,
        order_by,
        columns,
        rows_between,
        range_between,
        workers,
        state,
        cost,
        exact=exact,
    )
    return windowed(request)


def windowed(request: WindowRequest) -> DataFrame:
    """Return the rows with all columns of a request; the plan is logged.

    Raises
    ------
    ConfigurationError, RunError
        As for `over`.
    """
    plan = planned(request)
    logger.info("%s", plan)
    if plan.cuts is None:
        return request.plain
    return _piecewise(request, plan.memory, plan.cuts)


def _piecewise(request: WindowRequest, plan: Snapshot, cuts: Cuts) -> DataFrame:
    """Return the rows with all columns of a request.

    Parameters
    ----------
    request
        The checked arguments of `over`.
    plan
        Arrays of the plan of keys.
    cuts
        The pieces of the hot keys.
    """
    keys, served = request.keys, request.served
    arrays = cuts.columns(keys.frame, request.orders)
    hashed = keys.frame.withColumn(HASH, keys.hashed)
    rows, of_hot_keys = (
        with_pieces(each, request.orders, cuts, arrays)
        for each in (hashed, hashed.where(is_hot(cuts)))
    )
    hot = HotRows(of_hot_keys, keys.quoted_names, request.orders, arrays)
    parts = {name: part for each in served for name, part in each.parts.items()}
    aggregates = parts | neighbour_aggregates(hot, request.neighbours)
    ends = ends_of(served) | request.neighbours.ends
    pieces = Pieces(hot, len(cuts.workers), aggregates, ends)
    if request.neighbours:
        rows = with_copies(rows, pieces, request.frame, request.neighbours)
    rows = exchanged(rows, keys, Fixed(plan), cuts, request.workers)
    rows = rows.withColumns({name: own for each in served for name, own in each.own.items()})
    if request.neighbours:
        rows = rows.where(F.col(COPY) == NO_COPY)
    rows = with_totals(with_carries(rows, pieces, served), pieces, served)
    rows = rows.withColumns(
        {
            given.name: F.col(left_name(number))
            if isinstance(steps, str)
            else _as_declared(steps, given.field)
            for number, (given, steps) in enumerate(zip(request.given, request.steps, strict=True))
        }
    )
    return rows.drop(*(name for name in rows.columns if name.startswith(OWN)))


def _as_declared(steps: Served, field: StructField) -> Column:
    """Give a result the type and the nullability that Spark's own window has."""
    if steps.way == "neighbours":
        return steps.result
    result = steps.result.cast(field.dataType)
    # Numbers and counts are never null, but Spark would declare that they may be.
    return result if field.nullable else F.coalesce(result, F.lit(0).cast(field.dataType))
