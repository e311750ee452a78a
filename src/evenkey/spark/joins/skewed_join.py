"""`join`: spread the rows of a hot key over several workers, and join with Spark's own join."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.join_request import JoinRequest
from evenkey.spark.joins.placing import SPLIT, Side, place_side
from evenkey.spark.joins.stream_join import joined_in_stream
from evenkey.spark.joins.witnesses import LEFT, RIGHT, without_more
from evenkey.spark.keys.given_columns import quoted
from evenkey.spark.plans.lookup import HASH, plan_words
from evenkey.spark.plans.plan_source import Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.joins.dealt_and_copied import JoinPlan
    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_kinds import Kind, Weigh

logger = logging.getLogger(__name__)


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
    plan, keys, _ = request.planned()
    logger.info("%s", plan)
    if keys is None:
        return request.plain
    if not request.streams:
        return joined_by_plan(request, keys, plan)
    joined = joined_in_stream(
        request.left, request.right, keys, request.kind, request.workers, state
    )
    return joined.drop(*request.own)


def joined_by_plan(request: JoinRequest, keys: JoinKeys, plan: JoinPlan) -> DataFrame:
    """Join two batches by a plan."""
    joined = _joined(request.left, request.right, keys, request.kind, plan)
    return joined.drop(*request.own)


def _joined(
    left: DataFrame, right: DataFrame, keys: JoinKeys, kind: Kind, plan: JoinPlan
) -> DataFrame:
    if plan.plan is None or plan.dealt_right is None:
        raise AssertionError
    buckets = len(plan.plan.owners)
    dealt_left, dealt_right = (
        hashes.view(np.int64).tolist() for hashes in (plan.dealt_left, plan.dealt_right)
    )
    splits = len(plan.split) > 0
    is_dealt_right = F.col(HASH).isin(dealt_right)
    sides = (
        Side(
            keys.left,
            copied=is_dealt_right if dealt_right else False,
            kept=kind.keeps_left,
            witnessed=tuple(dealt_left) if kind.keeps_right else (),
            splits=splits,
            mark=LEFT,
        ),
        Side(
            keys.right,
            copied=~is_dealt_right if dealt_left and dealt_right else bool(dealt_left),
            kept=kind.keeps_right,
            witnessed=tuple(dealt_right) if kind.keeps_left else (),
            splits=splits,
            mark=RIGHT,
        ),
    )
    asked = any(side.witnessed for side in sides)
    if not asked:
        sides = (replace(sides[0], mark=None), replace(sides[1], mark=None))
    if plan.combines_right:
        right = right.select(*(quoted(name) for name in keys.names)).distinct()
    placed = []
    for frame, side in zip((left, right), sides, strict=True):
        fixed = Fixed(plan.plan.to_arrays())
        _, words = plan_words(frame, PlannedGrouping(), plan.workers, fixed)
        placed.append(place_side(frame, side, words, buckets, plan.workers))
    joined = placed[0].join(placed[1], [*keys.names, SPLIT], kind.name).drop(SPLIT)
    return without_more(joined) if asked else joined
