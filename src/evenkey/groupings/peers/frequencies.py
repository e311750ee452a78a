"""Frequencies as the peers are given them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def descending(
    grouping: str, keys: ArrayLike, counts: ArrayLike
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Give keys and counts by descending count, of equals by hash.

    Raises
    ------
    ConfigurationError
        A count is below 0, or there is not one a key.
    """
    hashes, loads = np.asarray(keys, dtype=np.uint64), np.asarray(counts, dtype=np.float64)
    if len(hashes) != len(loads):
        message = f"{grouping}: {len(hashes)} keys but {len(loads)} counts: give one a key"
        raise ConfigurationError(message)
    if len(loads) and not loads.min() >= 0:
        message = f"{grouping}: a count of {loads.min():g}: counts are at least 0"
        raise ConfigurationError(message)
    order = np.lexsort((hashes, -loads))
    return hashes[order], loads[order]
