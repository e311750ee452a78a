"""Plans of joins: where each key's work goes, and which of its sides is dealt or copied."""

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
"""Rows that a side must have for each part it would be dealt into, or its key stays whole."""
_EVEN_PARTS = 64
"""Rows a part from which on parts come out even: nothing is won by dealing the other side."""
_HEAVY_TEST = 0.05
"""Of a worker's fair work, rows of one key on the right of a semi or anti join worth combining."""
_NO_ROOM = 1e-9


@dataclass(frozen=True, eq=False)
class JoinPlan:
    """What `join` does, and why; its text says so in a line.

    Parameters
    ----------
    how, weigh, workers
        Of the join.
    reason
        Why the join is left to Spark as it is; None: it is not.
    plan
        Where keys go; None where the join is left to Spark, or learns as a stream flows by.
    dealt_right
        uint64[n], hashes of the split keys whose right rows are dealt and left rows copied. Of all
        other split keys the left rows are dealt and the right rows copied.
    combines_right
        Whether of the right side only the distinct keys are joined, which a semi or anti join
        needs no more of, as one of them is heavy.
    heaviest
        Share of all work that the heaviest key makes, from 0 to 1.
    seconds
        What counting took; 0 where a plan that was kept is followed.

    Examples
    --------
    >>> str(JoinPlan("left", "rows", 8))
    'join (left) by 8 workers: plans are made epoch by epoch'

    What `join` says of its own, asked by a program; and kept, as `state` keeps it.

    >>> from evenkey.groupings.planned import make_plan
    >>> keys, loads = np.array([7], np.uint64), np.array([60.0])
    >>> placed = make_plan(keys, loads, np.full(4, 10.0), np.ones(4))
    >>> plan = JoinPlan("left", "rows", 4, plan=placed, dealt_right=np.empty(0, np.uint64))
    >>> plan.split.tolist(), plan.dealt_left.tolist(), round(plan.imbalance, 3)
    ([7], [7], 1.19)
    >>> kept = JoinPlan.from_arrays(plan.to_arrays(), "left", "rows", workers=4)
    >>> kept.split.tolist()
    [7]
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
        """Hashes of the split keys whose left rows are dealt and right rows copied."""
        return (
            self.split if self.dealt_right is None else np.setdiff1d(self.split, self.dealt_right)
        )

    @property
    def imbalance(self) -> float:
        """Work of the fullest worker over the mean, as planned; 1 where nothing is planned."""
        loads = None if self.plan is None else self.plan.loads
        return float(loads.max() / loads.mean()) if loads is not None and loads.any() else 1.0

    def __str__(self) -> str:
        if self.reason is not None:
            return f"join ({self.how}) is left to Spark: {self.reason}"
        if self.plan is None:
            return f"join ({self.how}) by {self.workers} workers: plans are made epoch by epoch"
        count = len(self.split)
        split = "1 key is split" if count == 1 else f"{count} keys are split"
        made = f"counted in {self.seconds:.1f} s" if self.seconds else "plan of before"
        return (
            f"join ({self.how}) by {self.workers} workers, weighed by {self.weigh}: "
            f"{split}, the heaviest has {self.heaviest:.1%} of the work; "
            f"fullest worker {self.imbalance:.3f} of the mean; {made}"
        )

    def to_arrays(self) -> Snapshot:
        """Give what is kept of a plan."""
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
        """Restore what `to_arrays` gave."""
        return cls(
            how,
            weigh,
            workers,
            plan=Plan.from_arrays(arrays),
            dealt_right=arrays["dealt_right"],
            combines_right=bool(arrays["combines_right"]),
            heaviest=float(arrays["heaviest"]),
        )


def make_join_plan(
    counts: JoinCounts, kind: Kind, weigh: Weigh, workers: int, seconds: float
) -> JoinPlan:
    """Plan a join: keys that cannot be split first, heaviest first, then all others as they fit.

    The side of a split key that has more rows is dealt, and the other one copied; but of a join
    that keeps one side, that one is dealt if its parts come out even. With p parts up to p copies
    are made of each row of the other side: these are p over the rows that are dealt of its output,
    and not counted. Parts of few rows come out uneven, so a key is split only if there are 2 a
    part.

    Guarantee: of keys that may be split no worker has more than 1.01 times its fair work and the
    heaviest bucket (`make_plan`); the others are placed heaviest first where there is least.
    """
    total = float(counts.bucket_work.sum())
    parts = np.ceil(counts.work * workers / total) + 1 if total else np.ones(len(counts.work))
    uneven = [rows < _EVEN_PARTS * parts for rows in (counts.left, counts.right)]
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
        combines_right=kind.tests_only and counts.most_right > _HEAVY_TEST * fair,
        heaviest=float(counts.work.max() / total) if total and len(counts.work) else 0.0,
        seconds=seconds,
    )


def _placed(counts: JoinCounts, splittable: NDArray[np.bool_], workers: int) -> Plan:
    """Make the plan; a key that is lighter than a usual bucket stays with its bucket."""
    buckets = len(counts.bucket_work)
    own = counts.work >= counts.bucket_work.sum() / buckets
    in_buckets = (counts.keys & np.uint64(buckets - 1)).astype(np.int64)
    rest = counts.bucket_work - np.bincount(in_buckets[own], counts.work[own], minlength=buckets)
    whole = own & ~splittable
    owners, loads = heaviest_first(counts.work[whole], workers)
    parted = own & splittable
    others = counts.work[parted].sum() + np.maximum(rest, 0.0).sum()
    level = _level(loads, others)
    capacities = np.maximum(level - loads, _NO_ROOM * max(level, 1.0))
    plan = make_plan(counts.keys[parted], counts.work[parted], np.maximum(rest, 0.0), capacities)
    return _with_whole(plan, counts.keys[whole], owners, loads)


def _level(loads: NDArray[np.float64], others: float) -> float:
    """Give the level that workers come to when `others` is filled in on top of what they have."""
    ascending = np.sort(loads)
    filled = (np.cumsum(ascending) + others) / np.arange(1, len(loads) + 1)
    # Of the lowest n workers all are below the level that they would come to.
    reached = np.flatnonzero(filled >= ascending)
    return float(filled[reached[-1]])


def _with_whole(
    plan: Plan, keys: NDArray[np.uint64], owners: NDArray[np.int32], loads: NDArray[np.float64]
) -> Plan:
    """Add keys that lie whole on one worker each."""
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
