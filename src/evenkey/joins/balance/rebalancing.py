"""Planners: where partitions should lie, given their loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenkey.core.metrics import max_load_distance
from evenkey.joins.balance.work import load_per_location

Planner: TypeAlias = Callable[
    [NDArray[np.int32], NDArray[np.float64], int],
    NDArray[np.int32],
]
"""Takes owners int32[P], loads float64[P] and the number of locations to new owners int32[P]."""

GOOD_ENOUGH = 0.15
"""MLDC below which the greedy planner moves nothing more: each move has its price."""

_WORTHWHILE = 0.01
"""A move that leaves the largest load as it is lowers the squared loads by this much, in
squared mean loads: where one partition is larger than the mean, the rest is not polished."""
_ROUNDING = 1e-9


def greedy(
    owners: NDArray[np.int32], loads: NDArray[np.float64], workers: int
) -> NDArray[np.int32]:
    """Move one partition after the other, each time the one whose move helps most.

    A move goes from anywhere to the least loaded location. It is taken if it lowers the
    largest load, or leaves that as it is and lowers the variance of the loads; of several,
    the one that lowers both most. So large partitions move first, and moves are few. The
    planner ends when MLDC is at most `GOOD_ENOUGH` or no move helps.

    Of equally loaded destinations that with the smallest partition is taken, since it can
    best pass on what is too much for it; of equal ones the last, as in Figure 2.

    Parameters
    ----------
    owners
        int32[P], location of each partition.
    loads
        float64[P], at least 0.
    workers
        How many locations, W.

    Returns
    -------
    int32[P]
        New owners; the input is untouched.

    Notes
    -----
    Marić et al., section 3.3. Each step takes O(P); there are at most P moves a run.

    Examples
    --------
    Figure 2: left 60, middle 20, right 20 percent of the load.

    >>> owners = np.array([0, 0, 1, 2, 2], dtype=np.int32)
    >>> loads = np.array([40.0, 20.0, 20.0, 10.0, 10.0])
    >>> new = greedy(owners, loads, 3)
    >>> [int(each) for each in new], load_per_location(new, loads, 3)
    ([0, 2, 1, 1, 2], array([40., 30., 30.]))
    """
    planned = owners.copy()
    for _ in range(len(planned)):
        totals = load_per_location(planned, loads, workers)
        if max_load_distance(totals) <= GOOD_ENOUGH:
            break
        destination = _destination(planned, loads, totals)
        partition = _best_move(planned, loads, totals, destination)
        if partition is None:
            break
        planned[partition] = destination
    return planned


def _destination(
    owners: NDArray[np.int32], loads: NDArray[np.float64], totals: NDArray[np.float64]
) -> int:
    smallest = np.full(len(totals), np.inf)
    moving = loads > 0
    np.minimum.at(smallest, owners[moving], loads[moving])
    lowest = np.flatnonzero(totals == totals.min())
    finest = lowest[smallest[lowest] == smallest[lowest].min()]
    return int(finest[-1])


def _best_move(
    owners: NDArray[np.int32],
    loads: NDArray[np.float64],
    totals: NDArray[np.float64],
    destination: int,
) -> int | None:
    """The partition to move to `destination`, or None where no move helps."""
    source = totals[owners]
    top, mean = totals.max(), totals.mean()
    # Where one location alone has the largest load, only a move away from it lowers that load.
    others = np.where(
        owners == totals.argmax(), np.delete(totals, totals.argmax()).max(initial=0), top
    )
    after = np.maximum(np.maximum(source - loads, totals[destination] + loads), others)
    # What the sum of squared loads falls by, which is W times what their variance falls by.
    gain = 2 * loads * (source - totals[destination] - loads)
    lowers = after < top - _ROUNDING * mean
    useful = gain > np.where(lowers, _ROUNDING, _WORTHWHILE) * mean**2
    if not useful.any():
        return None
    after[~useful] = np.inf
    best = np.flatnonzero(after <= after.min() + _ROUNDING * mean)
    return int(best[gain[best].argmax()])
