"""What the partitions of a join cost in an epoch, and which of it counts as load."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

LoadClock = Literal["processor", "wall"]
"""What the seconds of a load are of: the joining thread's computing, or time that passed."""

CLOCKS: dict[str, Callable[[], float]] = {"processor": thread_time, "wall": perf_counter}


class PartitionWork(NamedTuple):
    """What was done for each of the P partitions.

    Parameters
    ----------
    items
        int64[P], items of the stream that came to the partition.
    seconds
        float64[P], seconds spent on them: the join and what follows it in the joining task,
        not the loading of static data.
    distinct
        Items of the stream, each once, however many partitions it came to; None where every
        item comes to one.
    """

    items: NDArray[np.int64]
    seconds: NDArray[np.float64]
    distinct: int | None = None

    @property
    def total(self) -> int:
        """How many items of the stream came to the join."""
        return int(self.items.sum()) if self.distinct is None else self.distinct


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
