"""Work of the partitions of a join in an epoch, and the metrics that compute load from it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

LoadClock = Literal["processor", "wall"]
"""Clock that measures the seconds of work: processor time of the joining thread, or elapsed
time."""

CLOCKS: dict[str, Callable[[], float]] = {"processor": thread_time, "wall": perf_counter}


class PartitionWork(NamedTuple):
    """Work that was done for each of the P partitions.

    Parameters
    ----------
    items
        int64[P], items of the stream that came to the partition.
    seconds
        float64[P], seconds of work on these items: the join, and what follows the join in the same
        task, but not the loading of static data.
    distinct
        Number of items of the stream; an item that came to several partitions counts once. None:
        each item comes to only one partition.
    """

    items: NDArray[np.int64]
    seconds: NDArray[np.float64]
    distinct: int | None = None

    @property
    def total(self) -> int:
        """Number of items of the stream that came to the join."""
        return int(self.items.sum()) if self.distinct is None else self.distinct


LoadMetric: TypeAlias = Callable[[PartitionWork], NDArray[np.float64]]
"""Function that computes the load of each partition, float64[P], in any unit, from the work of an
epoch."""


def items(work: PartitionWork) -> NDArray[np.float64]:
    """Return the data-based load (DB): the number of items. Use it if all items cost the same."""
    return work.items.astype(np.float64)


def seconds(work: PartitionWork) -> NDArray[np.float64]:
    """Return the load-based load (LB): the seconds of work on the items, whose costs may differ."""
    return work.seconds
