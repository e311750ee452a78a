"""The planner of keyed state: which state partitions move to which worker between two epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLACK = 0.03
"""A worker keeps its partitions while its load is at most this share above the limit."""
SLACK_OF_SECONDS = 0.1
"""The same if loads are seconds of work, which vary from epoch to epoch."""
_REQUEST = 0.1
"""Cost of a move in addition to the size of the state, as a share of the mean size."""
_GAIN = 0.001
"""Partitions are exchanged if this lowers the load of the worker by this share."""


def moved(
    owners: NDArray[np.int32],
    loads: NDArray[np.float64],
    sizes: NDArray[np.float64],
    workers: int,
    slack: float = SLACK,
) -> NDArray[np.int32]:
    """Choose the worker of each partition, and move as little state as balance needs.

    The limit of a worker is the mean load or the load of the most loaded partition, whichever is
    larger. Nothing moves while no worker is above ``1 + slack`` times the limit. The loads are
    compared with this bound and not with the loads at the last move, so a slow drift does not
    accumulate. A worker above the bound gives up partitions, until its load is at most the limit or
    no move lowers it. Of the partitions that fit into its excess load, it gives up those with most
    load for the size of their state; if none fits, the one with least load. Each partition goes to
    the worker with least load. A worker that stays above the bound exchanges partitions with
    others, one for one: those with least state of all that bring both workers below the bound, or
    else those that lower the higher of the two loads most.

    Parameters
    ----------
    owners
        int32[P], worker of each partition. The partitions of a worker that does not exist any more
        move in any case.
    loads
        float64[P], load of each partition, at least 0.
    sizes
        float64[P], size of the state of each partition, in any unit, at least 0.
    workers
        Number of workers, W.
    slack
        How far above the limit the load of a worker may be, as a share of the limit.

    Returns
    -------
    int32[P]

    Examples
    --------
    Worker 0 has load 9 of 12. The partition with little state moves.

    >>> owners, loads = np.array([0, 0, 0, 1], dtype=np.int32), np.array([3.0, 3.0, 3.0, 3.0])
    >>> moved(owners, loads, np.array([50.0, 50.0, 10.0, 10.0]), 2).tolist()
    [0, 0, 1, 1]

    A partition with more load than the mean stays; the others leave its worker.

    >>> moved(owners, np.array([20.0, 1.0, 1.0, 1.0]), np.ones(4), 2).tolist()
    [0, 1, 1, 1]
    """
    planned = owners.astype(np.int32, copy=True)
    stays = planned < workers
    totals = np.bincount(planned[stays], loads[stays], minlength=workers).astype(np.float64)
    limit = max(loads.sum() / workers, loads.max(initial=0.0))
    bound = (1 + slack) * limit
    moves = _Moves(planned, totals, loads, sizes + _REQUEST * sizes.mean() + 1.0, limit, bound)
    for partition in sorted(np.flatnonzero(~stays).tolist(), key=lambda each: (-loads[each], each)):
        moves.place(partition)
    while totals.max() > bound:
        worker = int(totals.argmax())
        before = totals[worker]
        while totals[worker] > limit and moves.give(worker):
            pass
        if totals[worker] > bound and not moves.exchange(worker) and totals[worker] == before:
            break
    return planned


@dataclass(frozen=True)
class _Moves:
    """Changes the workers of partitions, and with them the loads of the workers."""

    planned: NDArray[np.int32]
    totals: NDArray[np.float64]
    loads: NDArray[np.float64]
    costs: NDArray[np.float64]
    limit: float
    bound: float

    def place(self, partition: int) -> None:
        """Give a partition to the worker with least load."""
        least = int(self.totals.argmin())
        self.planned[partition] = least
        self.totals[least] += self.loads[partition]

    def give(self, worker: int) -> bool:
        """Move a partition of a worker to that with least load; return whether this helps."""
        loads = self.loads
        mine = np.flatnonzero((self.planned == worker) & (loads > 0))
        helping = mine[loads[mine] + self.totals.min() < self.totals[worker]]
        helping = helping[helping != mine[loads[mine].argmax()]]
        if not len(helping):
            return False
        fitting = helping[loads[helping] <= self.totals[worker] - self.limit]
        if len(fitting):
            partition = int(fitting[(loads[fitting] / self.costs[fitting]).argmax()])
        else:
            partition = int(helping[loads[helping].argmin()])
        self.totals[worker] -= loads[partition]
        self.place(partition)
        return True

    def exchange(self, worker: int) -> bool:
        """Exchange a partition of a worker for one of another; return whether this helps."""
        others = np.flatnonzero(self.planned != worker)
        of_others = self.totals[self.planned[others]]
        found: list[tuple[float, float, int, int]] = []
        for mine in np.flatnonzero(self.planned == worker).tolist():
            less = self.loads[mine] - self.loads[others]
            # Below the bound, the least state counts; above it, the least load.
            higher = np.maximum(self.totals[worker] - less, of_others + less).clip(self.bound)
            state = np.where(higher > self.bound, 0.0, self.costs[mine] + self.costs[others])
            best = np.lexsort((state, higher))[0]
            found.append((float(higher[best]), float(state[best]), mine, int(others[best])))
        load, _, mine, other = min(found)
        if load > (1 - _GAIN) * self.totals[worker]:
            return False
        less = self.loads[mine] - self.loads[other]
        self.totals[worker] -= less
        self.totals[self.planned[other]] += less
        self.planned[[mine, other]] = self.planned[[other, mine]]
        return True
