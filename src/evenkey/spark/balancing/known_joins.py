"""Plan a join from known loads of both sides, so that no key is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.dealt_and_copied import JoinPlan, make_join_plan
from evenkey.spark.joins.join_counts import JoinCounts, work_of_input
from evenkey.spark.joins.join_kinds import kind_of
from evenkey.spark.joins.join_request import JoinRequest
from evenkey.spark.joins.join_strategy import joined_by

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from evenkey.spark.joins.join_kinds import Kind
    from evenkey.spark.plans.known_loads import KnownLoads

_LEAST = 1.0
"""Rows of a hot key on a side on which it is not hot: as in a join with a table of dimensions."""


class KnownJoin(NamedTuple):
    """A join that is planned from known loads.

    Parameters
    ----------
    plan
        The plan.
    counts
        The loads that it was made from: work is rows of the result and a tenth of the input rows.
    rows
        float64[W], number of rows that each task reads, copies included.
    copies
        Rows that tasks read over rows of both sides, at least 1.
    """

    plan: JoinPlan
    counts: JoinCounts
    rows: NDArray[np.float64]
    copies: float

    @classmethod
    def of(cls, left: KnownLoads, right: KnownLoads, how: str, workers: int) -> KnownJoin:
        """Plan a join of a kind for a number of workers.

        A key is assumed to have one row on each side on which it is not hot, and each row of the
        cold keys to match once.

        Raises
        ------
        ConfigurationError
            `how` is not a kind of join on columns.
        """
        kind = kind_of(how)
        counts = _counts(left, right, kind, PlannedGrouping().bucket_count(workers))
        plan = make_join_plan(counts, kind, "output", workers, 0.0)
        rows = _rows_by_task(plan, counts, left.others + right.others)
        return cls(plan, counts, rows, max(1.0, float(rows.sum()) / (left.total + right.total)))

    def joined(self, left: DataFrame, right: DataFrame, on: object) -> DataFrame:
        """Join two batches as `join` does, by the plan.

        Raises
        ------
        ConfigurationError
            evenkey cannot place rows by these keys, or the join is left to Spark.
        """
        plan = self.plan
        request = JoinRequest.of(left, right, on, plan.how, plan.workers, plan.weigh, None)  # type: ignore[arg-type]
        return joined_by(request, plan)


def _counts(left: KnownLoads, right: KnownLoads, kind: Kind, buckets: int) -> JoinCounts:
    keys = np.union1d(left.keys, right.keys)
    of_left, of_right = (np.maximum(each.of_keys(keys), _LEAST) for each in (left, right))
    # The right side of a semi or anti join is only tested: all its rows of a key count as one.
    tested = np.minimum(of_right, 1.0) if kind.tests_only else of_right
    work = work_of_input(of_left + tested) + _output(kind, of_left, of_right)
    others = np.array([left.others, 0.0 if kind.tests_only else right.others])
    rest = work_of_input(others).sum() + (0.0 if kind.name == "anti" else others.max())
    owners = (keys & np.uint64(buckets - 1)).astype(np.int64)
    own = np.bincount(owners, work, minlength=buckets).astype(np.float64)
    return JoinCounts(
        keys,
        np.rint(of_left).astype(np.int64),
        np.rint(of_right).astype(np.int64),
        work,
        own + rest / buckets,
        int(of_right.max(initial=0)),
        np.empty(0),
    )


def _output(
    kind: Kind, left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the result rows of keys that both sides have."""
    if kind.tests_only:
        return left if kind.name == "semi" else np.zeros(len(left))
    return left * right


def _rows_by_task(plan: JoinPlan, counts: JoinCounts, others: float) -> NDArray[np.float64]:
    """Return the number of rows that each task reads: its part of dealt rows, and all copies."""
    if plan.plan is None or plan.dealt_right is None:
        raise AssertionError
    placed, buckets = plan.plan, len(plan.plan.owners)
    left = counts.left.astype(np.float64)
    right = np.minimum(counts.right, 1 if plan.combines_right else counts.right).astype(np.float64)
    split, dealt_right = (np.isin(counts.keys, each) for each in (plan.split, plan.dealt_right))
    dealt = np.where(split, np.where(dealt_right, right, left), left + right)
    rows = placed.loads_of(counts.keys, dealt, np.full(buckets, others / buckets))
    copied = np.where(dealt_right, left, right)
    for key, count in zip(counts.keys[split], copied[split], strict=True):
        row = int(np.searchsorted(placed.keys, key))
        rows[placed.places[placed.starts[row] : placed.starts[row + 1]]] += count
    return rows
