"""Placement of keys whose frequencies are given, the most frequent first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.groupings.greedy import heaviest_first
from evenkey.groupings.tables.base import PLACE

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray


def descending(
    grouping: str, keys: ArrayLike, counts: ArrayLike
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Sort keys and their counts by descending count, ties by hash.

    Raises
    ------
    ConfigurationError
        A count is below 0, or there is not one count per key.
    """
    hashes, loads = np.asarray(keys, dtype=np.uint64), np.asarray(counts, dtype=np.float64)
    if len(hashes) != len(loads):
        message = f"{grouping}: {len(hashes)} keys but {len(loads)} counts: give one per key"
        raise ConfigurationError(message)
    if len(loads) and not loads.min() >= 0:
        message = f"{grouping}: a count of {loads.min():g}: counts are at least 0"
        raise ConfigurationError(message)
    order = np.lexsort((hashes, -loads))
    return hashes[order], loads[order]


def on_least_loaded(
    keys: NDArray[np.uint64], loads: NDArray[np.float64], workers: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Place keys, sorted by descending load, each on the worker with the least load so far.

    Returns
    -------
    tuple
        `PLACE`[k], one row per key, in the order of `keys`; and float64[W], the load of each
        worker.
    """
    placed, held = heaviest_first(loads, workers)
    items = np.zeros(len(keys), dtype=PLACE)
    for name, values in zip(items.dtype.names or (), (keys, 1, placed), strict=True):
        items[name] = values
    return items, held
