"""What the partitions of a join cost in an epoch, and which of it counts as load."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LoadMetric", "PartitionWork", "items", "load_per_location", "seconds"]


class PartitionWork(NamedTuple):
    """What was done for each of the P partitions.

    Parameters
    ----------
    items
        int64[P], items of the stream that came to the partition.
    seconds
        float64[P], seconds of computing for them: the join and what follows it, not the
        loading of static data.
    """

    items: NDArray[np.int64]
    seconds: NDArray[np.float64]


LoadMetric: TypeAlias = Callable[[PartitionWork], NDArray[np.float64]]
"""Takes the work of an epoch to the load of each partition, float64[P], in any unit."""


def items(work: PartitionWork) -> NDArray[np.float64]:
    """Data-based load (DB): how many items came; right where all items cost the same."""
    return work.items.astype(np.float64)


def seconds(work: PartitionWork) -> NDArray[np.float64]:
    """Load-based load (LB): how long the items took, whatever each of them cost."""
    return work.seconds


def load_per_location(
    owners: NDArray[np.int32], loads: NDArray[np.float64], workers: int
) -> NDArray[np.float64]:
    """Sum the loads of partitions over their locations.

    Parameters
    ----------
    owners
        int32[P], location of each partition, 0 to `workers` - 1.
    loads
        float64[P].
    workers
        How many locations, W.

    Returns
    -------
    float64[W]

    Examples
    --------
    >>> load_per_location(np.array([0, 1, 0], dtype=np.int32), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 2., 0.])
    """
    return np.bincount(owners, weights=loads, minlength=workers).astype(np.float64)
