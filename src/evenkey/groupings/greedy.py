"""Greedy placement: in descending order of load, each load goes to the least loaded worker."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def heaviest_first(
    loads: NDArray[np.float64], workers: int, parts: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Place loads in descending order, each on the least loaded worker so far.

    Of equal loads, the first is placed first. Of equally loaded workers, the one with the lowest
    number is chosen.

    Parameters
    ----------
    loads
        float64[k], the loads. With `parts`: the size of one part of each load.
    workers
        Number of workers, W.
    parts
        int64[k], number of equal parts of each load, 1 to W. The parts of a load go to different
        workers. None: 1 part each.

    Returns
    -------
    tuple
        int32[sum of parts], the worker of each part, in the order of `loads`; and float64[W], the
        load of each worker.

    Examples
    --------
    >>> placed, held = heaviest_first(np.array([1.0, 5.0, 3.0, 2.0]), workers=2)
    >>> placed.tolist(), held.tolist()
    ([0, 0, 1, 1], [6.0, 5.0])
    >>> heaviest_first(np.array([2.0, 3.0]), workers=2, parts=np.array([1, 2]))[0].tolist()
    [0, 0, 1]
    """
    least = [(0.0, worker) for worker in range(workers)]
    counts = np.ones(len(loads), dtype=np.int64) if parts is None else parts
    ends = np.cumsum(counts).tolist()
    placed = np.zeros(counts.sum(), dtype=np.int32)
    for number in np.argsort(-loads, kind="stable").tolist():
        load, end = float(loads[number]), ends[number]
        if counts[number] == 1:
            before, worker = least[0]
            heapq.heapreplace(least, (before + load, worker))
            placed[end - 1] = worker
            continue
        taken = [heapq.heappop(least) for _ in range(counts[number])]
        placed[end - len(taken) : end] = [worker for _, worker in taken]
        for before, worker in taken:
            heapq.heappush(least, (before + load, worker))
    held = np.zeros(workers)
    for load, worker in least:
        held[worker] = load
    return placed, held
