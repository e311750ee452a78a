"""What a message counts for: as one, or as much as it weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

By: TypeAlias = Literal["messages", "weights"]
"""Whether loads are counted in messages, or in what these weigh."""

MOST_WEIGHT = 1 << 32
"""A heavier message counts for this much in loads, so that 64 bits hold the loads of two billion
of them. Results, which aggregators compute from the weights themselves, do not change by it."""


def limited(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give weights, int64[n], as they count in loads: none above `MOST_WEIGHT`."""
    if not len(weights) or weights.max() <= MOST_WEIGHT:
        return weights
    return np.minimum(weights, MOST_WEIGHT)
