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
    the worker with least load.

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
    for worker in np.argsort(-totals, kind="stable").tolist():
        if totals[worker] <= (1 + slack) * limit:
            break
        while totals[worker] > limit:
            mine = np.flatnonzero((planned == worker) & (loads > 0))
            helping = mine[loads[mine] + totals.min() < totals[worker]]
            helping = helping[helping != mine[loads[mine].argmax()]]
            if not len(helping):
                break
            fitting = helping[loads[helping] <= totals[worker] - limit]
            if len(fitting):
                partition = int(fitting[(loads[fitting] / costs[fitting]).argmax()])
            else:
                partition = int(helping[loads[helping].argmin()])
            totals[worker] -= loads[partition]
            _place(planned, totals, partition, loads)
    return planned


def _place(
    planned: NDArray[np.int32],
    totals: NDArray[np.float64],
    partition: int,
    loads: NDArray[np.float64],
) -> None:
    least = int(totals.argmin())
    planned[partition] = least
    totals[least] += loads[partition]
