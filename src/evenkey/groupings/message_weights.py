"""Weights of messages: a message counts as 1, or as its weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

By: TypeAlias = Literal["messages", "weights"]
"""Unit of loads: the number of messages, or the sum of their weights."""

MOST_WEIGHT = 1 << 32
"""Largest weight that a message adds to a load. A larger weight counts as this number, so that 64
bits hold the load of two billion such messages. Results do not change, because aggregators use the
true weights."""


def limited(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weights as they are added to loads, int64[n]: at most `MOST_WEIGHT` each."""
    if not len(weights) or weights.max() <= MOST_WEIGHT:
        return weights
    return np.minimum(weights, MOST_WEIGHT)
