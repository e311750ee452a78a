"""How long tasks take on slots."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def makespan(seconds: Sequence[float], slots: int) -> float:
    """Play tasks on slots: each goes, in its turn, to the slot that is free first.

    Parameters
    ----------
    seconds
        Of the tasks in the order in which they begin.
    slots
        How many run at a time, at least 1.

    Returns
    -------
    float
        Seconds until the last has ended; 0 without tasks.

    Examples
    --------
    >>> makespan([1, 1, 1, 4], 2)
    5.0
    """
    free = [0.0] * max(1, min(slots, len(seconds)))
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)
