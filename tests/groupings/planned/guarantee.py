"""The bound of docs/planned.md for every epoch under planned grouping, with any keys."""

from __future__ import annotations

import math


def most_uneven(messages: int, workers: int, sources: int) -> float:
    """Return the largest max over mean that an epoch of this size may have."""
    chance = 1.01 + 4.5 * math.sqrt(2 * workers / messages)
    return max(chance, 1.09 + 84 * sources * workers / messages)
