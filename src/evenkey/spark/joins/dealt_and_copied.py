"""Plans of joins: the workers of each key, and the side whose rows are dealt (the other is copied).

Rows of a split key are *dealt* on one side, each to one of the key's workers, and *copied* on the
other side, each to all of these workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings import Plan, heaviest_first, make_plan

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.groupings import Snapshot
    from evenkey.spark.joins.join_counts import JoinCounts
    from evenkey.spark.joins.join_kinds import Kind, Weigh

_ROWS_A_PART = 2
"""Rows that the dealt side of a key must have per part; a key with fewer rows is not split."""
_BALANCED_PARTS = 64
"""With this many rows per part, parts are balanced, so dealing the other side has no advantage."""
_HOT_TEST = 0.05
"""If a key has more right rows than this fraction of a worker's fair work, a semi or anti join
combines the right rows of each key into one."""
_LEAST_CAPACITY = 1e-9


@dataclass(frozen=True, eq=False)
class JoinPlan:
    """What `join` does and why; ``str`` returns it as one line, which `join` logs.

    Parameters
    ----------
    how, weigh, workers
        Arguments of the join.
    reason
        Why Spark's own join runs unchanged; None: evenkey's join runs.
    plan
        Plan with the workers of the keys. None: Spark's own join runs, or a stream makes a plan per
        epoch.
    dealt_right
        uint64[n], hashes of the split keys whose right rows are dealt and whose left rows are
        copied. For all other split keys, left rows are dealt and right rows are copied. None: there
        is no `plan`.
    combines_right
        Whether the right side is reduced to its distinct keys before the join, because one of its
        keys is hot. Distinct keys are enough for a semi or anti join.
    heaviest
        Share of the hottest key in all work, from 0 to 1.
    seconds
        Seconds that counting took; 0: a stored plan is used.
    """

    how: str
    weigh: Weigh
    workers: int
    reason: str | None = None
    plan: Plan | None = None
    dealt_right: NDArray[np.uint64] | None = None
    combines_right: bool = False
    heaviest: float = 0.0
    seconds: float = 0.0

    @property
    def split(self) -> NDArray[np.uint64]:
        """Hashes of the keys that are split."""
        if self.plan is None:
            return np.empty(0, np.uint64)
        return self.plan.keys[np.diff(self.plan.starts) > 1]

    @property
    def dealt_left(self) -> NDArray[np.uint64]:
        """Hashes of the split keys whose left rows are dealt, and whose right rows are copied."""
        return (
            self.split if self.dealt_right is None else np.setdiff1d(self.split, self.dealt_right)
        )

    @property
    def imbalance(self) -> float:
        """Maximum work of a worker over the mean, as planned; 1 if nothing is planned."""
        loads = None if self.plan is None else self.plan.loads
        return float(loads.max() / loads.mean()) if loads is not None and loads.any() else 1.0

    def copies(self, counts: JoinCounts) -> int:
        """Compute the number of copies: n - 1 for each copied row of a key on n workers."""
        if self.plan is None or self.dealt_right is None:
            return 0
        known = np.isin(counts.keys, self.split)
        dealt_right = np.isin(counts.keys, self.dealt_right)[known]
        right = np.minimum(counts.right, 1) if self.combines_right else counts.right
        copied = np.where(dealt_right, counts.left[known], right[known])
        spread = np.array([self.plan.spread_of(key) for key in counts.keys[known]], dtype=np.int64)
        return int(((spread - 1) * copied).sum())

    def __str__(self) -> str:
        if self.reason is not None:
            return f"join ({self.how}) is left to Spark: {self.reason}"
        if self.plan is None:
            return f"join ({self.how}) by {self.workers} workers: plans are made epoch by epoch"
        count = len(self.split)
        split = "1 key is split" if count == 1 else f"{count} keys are split"
        made = f"counted in {self.seconds:.1f} s" if self.seconds else "previous plan"
        return (
            f"join ({self.how}) by {self.workers} workers, weighed by {self.weigh}: "
            f"{split}, the hottest has {self.heaviest:.1%} of the work; "
            f"max/mean load {self.imbalance:.3f}; {made}"
        )

    def to_arrays(self) -> Snapshot:
        """Convert the plan to arrays, for `state`; empty if there is no plan."""
        if self.plan is None or self.dealt_right is None:
            return {}
        return {
            **self.plan.to_arrays(),
            "dealt_right": self.dealt_right,
            "combines_right": np.array(self.combines_right),
            "heaviest": np.array(self.heaviest),
        }

    @classmethod
    def from_arrays(cls, arrays: Snapshot, how: str, weigh: Weigh, workers: int) -> Self:
        """Restore a plan from the arrays of `to_arrays`.

        Raises
        ------
        RunError
            The arrays are not a valid plan for this number of workers.
        """
        return cls(
            how,
            weigh,
            workers,
            plan=Plan.from_arrays(arrays, workers),
            dealt_right=arrays["dealt_right"],
            combines_right=bool(arrays["combines_right"]),
            heaviest=float(arrays["heaviest"]),
        )


def make_join_plan(
    counts: JoinCounts, kind: Kind, weigh: Weigh, workers: int, seconds: float
) -> JoinPlan:
    """Plan a join: place the keys that cannot be split first, hottest first, then all others.

    For a split key, the side on which the key has more rows is dealt, and the other side is copied.
    There is one exception: if the join keeps the unmatched rows of one side only, that side is
    dealt if the key's parts on it would be balanced. If a key has p parts, each row of the copied
    side has up to p copies. As a share of the key's output, these copies are p divided by the
    number of dealt rows. Copies are not counted as work. Parts of few rows are not balanced. So a
    key is split only if each part gets 2 rows of the dealt side.

    Guarantee: from the keys that may be split, no worker gets more work than 1.01 times its fair
    work plus the work of the hottest bucket (`make_plan`). Each key that may not be split goes to
    the least loaded worker, hottest first.
    """
    total = float(counts.bucket_work.sum())
    parts = np.ceil(counts.work * workers / total) + 1 if total else np.ones(len(counts.work))
    uneven = [rows < _BALANCED_PARTS * parts for rows in (counts.left, counts.right)]
    if kind.tests_only:
        right = np.zeros(len(parts), dtype=bool)
    elif kind.keeps_left == kind.keeps_right:
        right = counts.right > counts.left
    elif kind.keeps_left:
        right = uneven[0] & (counts.right > counts.left)
    else:
        right = ~(uneven[1] & (counts.left > counts.right))
    splittable = np.where(right, counts.right, counts.left) >= _ROWS_A_PART * parts
    plan = JoinPlan(kind.name, weigh, workers, plan=_placed(counts, splittable, workers))
    fair = total / workers
    return replace(
        plan,
        dealt_right=np.intersect1d(plan.split, counts.keys[right & splittable]),
        combines_right=kind.tests_only and counts.most_right > _HOT_TEST * fair,
        heaviest=float(counts.work.max() / total) if total and len(counts.work) else 0.0,
        seconds=seconds,
    )


def _placed(counts: JoinCounts, splittable: NDArray[np.bool_], workers: int) -> Plan:
    """Place keys on workers; keys with less work than an average bucket follow their bucket."""
    own = counts.work >= counts.bucket_work.sum() / len(counts.bucket_work)
    rest = counts.rest(own)
    whole = own & ~splittable
    owners, loads = heaviest_first(counts.work[whole], workers)
    parted = own & splittable
    others = counts.work[parted].sum() + rest.sum()
    load = _balanced_load(loads, others)
    capacities = np.maximum(load - loads, _LEAST_CAPACITY * max(load, 1.0))
    plan = make_plan(counts.keys[parted], counts.work[parted], rest, capacities)
    return _with_whole(plan, counts.keys[whole], owners, loads)


def _balanced_load(loads: NDArray[np.float64], others: float) -> float:
    """Return the load that the least loaded workers reach when they share the load `others`."""
    ascending = np.sort(loads)
    filled = (np.cumsum(ascending) + others) / np.arange(1, len(loads) + 1)
    # Use the largest n for which the n least loaded workers are all below the load that they reach.
    reached = np.flatnonzero(filled >= ascending)
    return float(filled[reached[-1]])


def _with_whole(
    plan: Plan, keys: NDArray[np.uint64], owners: NDArray[np.int32], loads: NDArray[np.float64]
) -> Plan:
    """Add keys that are not split to a plan: the worker of each key, and the workers' loads.

    `owners` are the workers of these keys. `loads` is the load of each worker from these keys.
    """
    lengths = np.concatenate((np.diff(plan.starts), np.ones(len(keys), dtype=np.int64)))
    every = np.concatenate((plan.keys, keys))
    numbers = np.repeat(np.arange(len(every)), lengths)
    order = np.argsort(every, kind="stable")
    rank = np.empty(len(every), dtype=np.int64)
    rank[order] = np.arange(len(every))
    rows = np.argsort(rank[numbers], kind="stable")
    return Plan(
        plan.owners,
        every[order],
        np.concatenate(([0], np.cumsum(lengths[order]))).astype(np.int64),
        np.concatenate((plan.places, owners))[rows].astype(np.int32),
        np.concatenate((plan.shares, np.ones(len(keys))))[rows],
        plan.loads + loads,
    )
