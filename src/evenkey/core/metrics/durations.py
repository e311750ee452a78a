"""How long tasks take on a number of slots, and how many messages this is per second."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

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


def messages_per_second(messages: int, seconds: float) -> float:
    """Compute the throughput, `messages` divided by `seconds`, in messages per second.

    The throughput is 0 if both arguments are 0.

    Raises
    ------
    ConfigurationError
        An argument is negative, or `seconds` is 0 and `messages` is above 0.

    Examples
    --------
    >>> messages_per_second(200_000, 40.0)
    5000.0
    """
    if messages == 0 and seconds == 0:
        return 0.0
    if messages < 0 or seconds <= 0:
        message = f"{messages} messages in {seconds:g} s: give messages >= 0 and seconds > 0"
        raise ConfigurationError(message)
    return messages / seconds
