"""The planner of keyed state: which state partitions move to which worker between two epochs."""

from __future__ import annotations

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
    for partition in sorted(np.flatnonzero(~stays).tolist(), key=lambda each: (-loads[each], each)):
        _place(planned, totals, partition, loads)
    limit = max(loads.sum() / workers, loads.max(initial=0.0))
    costs = sizes + _REQUEST * sizes.mean() + 1.0
    bound = (1 + slack) * limit
    while True:
        worker = int(totals.argmax())
        if totals[worker] <= bound:
            return planned
        gave = False
        while totals[worker] > limit and _give(planned, totals, worker, loads, costs, limit):
            gave = True
        if totals[worker] <= bound:
            continue
        if not _exchange(planned, totals, worker, loads, costs, bound) and not gave:
            return planned


def _give(
    planned: NDArray[np.int32],
    totals: NDArray[np.float64],
    worker: int,
    loads: NDArray[np.float64],
    costs: NDArray[np.float64],
    limit: float,
) -> bool:
    """Move a partition of a worker to that with least load; return whether this lowers its load."""
    mine = np.flatnonzero((planned == worker) & (loads > 0))
    helping = mine[loads[mine] + totals.min() < totals[worker]]
    helping = helping[helping != mine[loads[mine].argmax()]]
    if not len(helping):
        return False
    fitting = helping[loads[helping] <= totals[worker] - limit]
    if len(fitting):
        partition = int(fitting[(loads[fitting] / costs[fitting]).argmax()])
    else:
        partition = int(helping[loads[helping].argmin()])
    totals[worker] -= loads[partition]
    _place(planned, totals, partition, loads)
    return True


def _exchange(
    planned: NDArray[np.int32],
    totals: NDArray[np.float64],
    worker: int,
    loads: NDArray[np.float64],
    costs: NDArray[np.float64],
    bound: float,
) -> bool:
    """Exchange a partition of a worker for one of another; return whether this lowers its load."""
    others = np.flatnonzero(planned != worker)
    best: tuple[float, float] | None = None
    pair = (-1, -1)
    for mine in np.flatnonzero(planned == worker).tolist():
        less = loads[mine] - loads[others]
        higher = np.maximum(totals[worker] - less, totals[planned[others]] + less)
        # Below the bound, the least state counts; above it, the least load.
        above = np.maximum(higher, bound)
        for_state = np.where(above > bound, 0.0, costs[mine] + costs[others])
        found = np.lexsort((for_state, above))[0]
        if best is None or (above[found], for_state[found]) < best:
            best, pair = (float(above[found]), float(for_state[found])), (mine, int(others[found]))
    if best is None or best[0] > (1 - _GAIN) * totals[worker]:
        return False
    mine, other = pair
    totals[worker] += loads[other] - loads[mine]
    totals[planned[other]] += loads[mine] - loads[other]
    planned[mine], planned[other] = planned[other], planned[mine]
    return True


def _place(
    planned: NDArray[np.int32],
    totals: NDArray[np.float64],
    partition: int,
    loads: NDArray[np.float64],
) -> None:
    least = int(totals.argmin())
    planned[partition] = least
    totals[least] += loads[partition]
