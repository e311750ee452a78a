"""What docs/planned-reference.md says of every epoch of planned grouping, whatever its keys do."""

from __future__ import annotations

import math


def most_uneven(messages: int, workers: int, sources: int) -> float:
    """Largest max over mean of an epoch of so many messages."""
    chance = 1.01 + 4.5 * math.sqrt(2 * workers / messages)
    return max(chance, 1.09 + 84 * sources * workers / messages)
