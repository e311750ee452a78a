"""Loads placed one by one, each whole, where there is least so far."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def least_loaded(
    loads: NDArray[np.float64], workers: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Place loads in their order, each on the worker with the least so far, the lowest of equals.

    Returns
    -------
    tuple
        int32[k], the worker of each load; and float64[W], what each worker has.

    Examples
    --------
    >>> placed, held = least_loaded(np.array([5.0, 3.0, 2.0, 1.0]), workers=2)
    >>> placed.tolist(), held.tolist()
    ([0, 1, 1, 0], [6.0, 5.0])
    """
    least = [(0.0, worker) for worker in range(workers)]
    placed = np.zeros(len(loads), dtype=np.int32)
    held = np.zeros(workers)
    for number, load in enumerate(loads.tolist()):
        before, worker = least[0]
        placed[number] = worker
        held[worker] = before + load
        heapq.heapreplace(least, (before + load, worker))
    return placed, held
