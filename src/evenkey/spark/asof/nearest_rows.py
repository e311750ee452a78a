"""`asof_join`: for each left row the nearest right row in time, without long tasks for hot keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.spark.asof.match_request import MatchRequest
from evenkey.spark.windows.ordered_window import windowed

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence
    from decimal import Decimal
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.asof.match_rule import Direction


def asof_join(  # noqa: PLR0913 - all options of a join, most of them by name only
    left: DataFrame,
    right: DataFrame,
    on: str | Column | Sequence[str | Column],
    left_time: str | Column,
    right_time: str | Column,
    how: str = "left",
    workers: int | None = None,
    *,
    direction: Direction = "backward",
    tolerance: float | Decimal | dt.timedelta | None = None,
    allow_exact_matches: bool = True,
    right_order: str | Column | Sequence[str | Column] | None = None,
    state: str | Path | Store | None = None,
    cost: str | Column | None = None,
    exact: bool = False,
) -> DataFrame:
    """Add to each left row the right row of its key that is nearest in time.

    The rows of both sides are sorted together by key and time, and a window of Spark keeps the last
    right row. So a row is matched in constant time, however many rows its key has. evenkey counts
    the keys of both sides first. Each key with more rows than a task should have is cut at values
    of the time, and the last right row of a piece is carried over to the next piece. Spark's own
    expressions do all of this; no row goes through Python. Rows are shuffled once, into `workers`
    partitions, which adaptive execution does not change.

    Parameters
    ----------
    left
        A batch, also that of ``foreachBatch``: the rows to which columns are added.
    right
        A batch with the rows among which the nearest is found.
    on
        As for `join`: name of the key column, or a list of names, the same on both sides. Or an
        equality of a column of each side, or several of them. An empty list: all rows have one key.
    left_time
        Column with the time of the left rows, or its name: numbers, dates or timestamps.
    right_time
        Column with the time of the right rows, or its name; of the same kind as `left_time`.
        Numbers of different types are compared as numbers.
    how
        ``left``: all left rows, with nulls if there is no match. ``inner``: left rows with a match.
    workers
        Number of tasks, at least 1; None: the number of the plan in `state`. If there is no plan,
        ``spark.sql.shuffle.partitions``, or 1 if the session runs one task at a time.
    direction
        ``backward``: the last right row at or before the time of the left row. ``forward``: the
        first right row at or after it. ``nearest``: the nearer of both; if they are equally far
        away, the earlier one.
    tolerance
        The largest distance of the times of a match: a timedelta for dates and timestamps, else a
        number, at least 0. None: any distance.
    allow_exact_matches
        Whether rows with equal times match.
    right_order
        Order of right rows with equal times, as for ``Window.orderBy``: a name or a Column such as
        ``F.desc("version")``, or a list of these. Backward takes the last of them, forward the
        first. None: one of them, which only depends on the values of the rows.
    state
        Storage location of the plan: the hot keys, and where they are cut. A later call uses the
        plan, also for other rows. None: each call counts the keys.
    cost
        Column of the left side with the cost of each row, or its name; a right row costs 1. None:
        each row of both sides costs the same.
    exact
        Whether to count the rows of every key; as for `over`.

    Returns
    -------
    DataFrame
        The columns of ``left.join(right, on, how)``, all nullable, and one row for each left row,
        or for each with a match; rows in any order. Columns of one name stay. The plan is logged,
        and `explain` returns its details.

    Raises
    ------
    ConfigurationError
        A column is missing, the types of keys or times differ or do not suit, another argument is
        invalid, a side is a stream, or `state` has the plan of another join.
    RunError
        `state` cannot be read or written.

    Notes
    -----
    The matches are those of ``pandas.merge_asof`` under every plan. pandas takes the last or the
    first of several right rows with equal times in the order of its rows, which Spark does not
    have: pass `right_order`. A row whose time or key is null, or whose time is NaN, matches
    nothing; with an equality ``<=>``, null keys match each other, as they always do in pandas.

    The call runs Spark jobs, and the result reads both sides several times. If these reads return
    different rows, the result is wrong, as for `over`.

    Examples
    --------
    >>> trades = spark.range(100).selectExpr("if(id % 5 < 4, 'A', 'B') as symbol", "id as time")
    >>> quotes = [("A", 0, 7.0), ("A", 60, 7.5), ("B", 99, 2.0)]
    >>> quotes = spark.createDataFrame(quotes, "symbol string, at long, bid double")
    >>> priced = asof_join(trades, quotes, "symbol", "time", "at", workers=4)
    >>> priced.where("time in (53, 63, 64)").sort("time").show()
    +------+----+----+----+
    |symbol|time|  at| bid|
    +------+----+----+----+
    |     A|  53|   0| 7.0|
    |     A|  63|  60| 7.5|
    |     B|  64|NULL|NULL|
    +------+----+----+----+
    <BLANKLINE>
    """
    request = MatchRequest.of(
        left,
        right,
        on,
        left_time,
        right_time,
        how,
        workers,
        direction=direction,
        tolerance=tolerance,
        allow_exact_matches=allow_exact_matches,
        right_order=right_order,
        state=state,
        cost=cost,
        exact=exact,
    )
    return request.result(windowed(request.windows))
