"""`join`: spread the rows of a hot key over several workers, and join with Spark's own join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.spark.joins.join_request import JoinRequest
from evenkey.spark.joins.join_strategy import JoinStrategy, strategy_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.joins.join_kinds import Weigh


def join(
    left: DataFrame,
    right: DataFrame,
    on: str | Column | Sequence[str | Column],
    how: str = "inner",
    workers: int | None = None,
    *,
    weigh: Weigh = "output",
    state: str | Path | Store | None = None,
    exact: bool = False,
) -> DataFrame:
    """Join as ``left.join(right, on, how)`` does, without long tasks for hot keys.

    Spark sends all rows of a key to one task. evenkey counts the keys first and splits keys with
    more work than a task should have. The rows of a split key on one side are distributed over
    several tasks, and its rows on the other side are copied to each of these tasks. Spark's own
    expressions and its own join do all of this; no row goes through Python. Both sides are shuffled
    once, into `workers` partitions, which adaptive execution does not change.

    Parameters
    ----------
    left
        Batch or streaming: the left side.
    right
        Batch or streaming: the right side. At most one side is a stream.
    on
        Name of the key column, or a list of names, the same on both sides. Or an equality of a
        column of each side, such as ``left.id == right.number``, or several equalities in a list or
        joined by ``&``. With equalities, the result has the columns of both sides, as in Spark's
        own join.
    how
        ``inner``, ``left``, ``right``, ``full``, ``semi``, ``anti``, or any other name that Spark
        has for one of these.
    workers
        Number of tasks of the join, at least 1; None: the number of the plan in `state`. If there
        is no plan, ``spark.sql.shuffle.partitions``, or 1 if the session runs one task at a time.
    weigh
        What counts as work in a join of two batches. ``output``: each row of the result counts 1
        and each row of either side 0.1, so a key with 5,000 left rows and 10,000 right rows counts
        50,001,500. ``rows``: each row of either side counts 1. In a join with a stream, each row
        of the stream counts 1.
    state
        Storage location of plans. The plan for two batches is made and stored once, and then used
        again. The plans for a stream are stored too, in addition to the query's checkpoint. None:
        every call counts the batches, and a restarted stream learns again.
    exact
        Whether to count all rows of both batches. By default the work of keys is estimated from a
        sample of the rows of one side, and all rows of the other side. The side whose unmatched
        rows the result has is sampled; in an inner join, the larger one; in a full join, neither.
        The size of the sample depends on `workers` and on the number of partitions; the first
        20,000 rows of each partition or more are all counted. The error is a matter of balance
        only: results are exact. `explain` states its bound.

    Returns
    -------
    DataFrame
        The columns and rows of ``left.join(right, on, how)``, rows in any order. The plan is
        logged, and `explain` returns its details.

    Raises
    ------
    ConfigurationError
        A column is missing, a condition is not an equality, an argument is invalid, both sides are
        streams, Spark does not support this kind of join with a stream, or `state` has the plan of
        another join.
    RunError
        `state` cannot be read or written.

    Notes
    -----
    The result is exact under every plan: each pair of a left and a right row of one key is in
    exactly one task. Which side of a split key is distributed, and which is copied:

    - ``inner`` and ``full``: the side on which the key has more rows is distributed.
    - ``left``, ``semi`` and ``anti``: the left side is distributed, unless it has too few rows of
      the key.
    - ``right``: the right side is distributed, unless it has too few rows of the key.

    What this costs besides the shuffle:

    - Counting reads both sides one more time, in one job. If a key is hot on the side that is not
      sampled, and has few rows on the other, a second job counts its rows on that other side.
    - If the result keeps unmatched rows of the copied side, as every ``full`` join with split keys
      does, the hashes of the other side's keys go through Python. They show which keys have a
      match, so that no copy counts as an unmatched row.
    - If a side follows a shuffle and its rows are distributed, these rows are sorted by their
      contents within each task, so that a lost executor does not fail the job.

    Rows with a null in the key are spread over all workers.

    Spark's own join runs unchanged in these cases; `explain` gives the reason:

    - No key is hot, and neither `state` nor a number of workers other than
      ``spark.sql.shuffle.partitions`` was passed.
    - Spark broadcasts a side; such a join needs no balancing.
    - There is one worker.
    - The keys are of a type that Spark converts before it compares keys, such as CHAR on both
      sides.

    Only in the first of these cases are keys counted.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> people = spark.createDataFrame([("ann", 30), ("bob", 40)], "user string, age int")
    >>> older = join(clicks, people.where("age > 30"), "user", "left", workers=4)
    >>> older.columns, older.count(), older.where("age is null").count()
    (['user', 'id', 'age'], 100, 80)

    Columns of other names, and several conditions:

    >>> members = people.withColumnRenamed("user", "name")
    >>> joined = join(clicks, members, (clicks.user == members.name) & (clicks.id == members.age))
    >>> joined.columns, joined.collect()
    (['user', 'id', 'name', 'age'], [Row(user='ann', id=30, name='ann', age=30)])
    """
    request = JoinRequest.of(left, right, on, how, workers, weigh, state, exact=exact)
    strategy: JoinStrategy = strategy_of(request)
    return strategy.joined()
