"""The makespan of tasks on a number of slots."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def makespan(seconds: Sequence[float], slots: int) -> float:
    """Compute the makespan of tasks that start in order, each on the slot that is free first.

    Parameters
    ----------
    seconds
        Duration of each task, in the order in which they start.
    slots
        Number of tasks that run at the same time, at least 1.

    Returns
    -------
    float
        Seconds until the last task has ended; 0 without tasks.

    Examples
    --------
    >>> makespan([1, 1, 1, 4], 2)
    5.0
    """
    free = [0.0] * max(1, min(slots, len(seconds)))
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)
