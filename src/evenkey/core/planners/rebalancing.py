"""The greedy planner: partitions leave the most loaded locations one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenkey.core.metrics import max_load_distance

Planner: TypeAlias = Callable[
    [NDArray[np.int32], NDArray[np.float64], int],
    NDArray[np.int32],
]
"""Function that takes owners int32[P], loads float64[P] and the number of locations, and returns
new owners int32[P]."""

GOOD_ENOUGH = 0.15
"""Once the maximum load distance coefficient (MLDC) is at most this value, the greedy planner moves
nothing more, because each move has a cost."""

_WORTHWHILE = 0.01
"""A move that does not lower the largest load must lower the sum of squared loads by more than this
times the squared mean load. So if one partition alone exceeds the mean load, small gains elsewhere
are not worth a move."""
_ROUNDING = 1e-9


def load_per_location(
    owners: NDArray[np.int32], loads: NDArray[np.float64], workers: int
) -> NDArray[np.float64]:
    """Sum the loads of partitions over their locations.

    Parameters
    ----------
    owners
        int32[P], location of each partition, 0 to `workers` - 1.
    loads
        float64[P], load of each partition.
    workers
        Number of locations, W.

    Returns
    -------
    float64[W]

    Examples
    --------
    >>> load_per_location(np.array([0, 1, 0], dtype=np.int32), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 2., 0.])
    """
    return np.bincount(owners, weights=loads, minlength=workers).astype(np.float64)


def greedy(
    owners: NDArray[np.int32], loads: NDArray[np.float64], workers: int
) -> NDArray[np.int32]:
    """Move partitions one after the other, each time the partition whose move helps most.

    A partition can move from any location to the least loaded one. A move helps if it lowers the
    largest load, or if it lowers the variance of the loads and leaves the largest load unchanged.
    The planner takes the move after which the largest load is smallest; in ties, the move after
    which the variance is smallest. So large partitions move first, and moves are few. The planner
    ends when MLDC is at most `GOOD_ENOUGH` or no move helps.

    If several locations have the least load, the destination is the location with the smallest
    partition, because it can best give up a little load again. In ties, the destination is the
    location with the highest number, as in Figure 2.

    Parameters
    ----------
    owners
        int32[P], location of each partition.
    loads
        float64[P], load of each partition, at least 0.
    workers
        Number of locations, W.

    Returns
    -------
    int32[P]
        New owners; the input is not modified.

    Notes
    -----
    Marić et al., section 3.3. Each step takes O(P), and there are at most P moves.

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
    """Find the partition whose move to `destination` helps most; None if no move helps."""
    source = totals[owners]
    top, mean = totals.max(), totals.mean()
    # If only one location has the largest load, only a move away from it lowers that load.
    others = np.where(
        owners == totals.argmax(), np.delete(totals, totals.argmax()).max(initial=0), top
    )
    after = np.maximum(np.maximum(source - loads, totals[destination] + loads), others)
    # Decrease of the sum of squared loads: W times the decrease of their variance.
    gain = 2 * loads * (source - totals[destination] - loads)
    lowers = after < top - _ROUNDING * mean
    useful = gain > np.where(lowers, _ROUNDING, _WORTHWHILE) * mean**2
    if not useful.any():
        return None
    after[~useful] = np.inf
    best = np.flatnonzero(after <= after.min() + _ROUNDING * mean)
    return int(best[gain[best].argmax()])
