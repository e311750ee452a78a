"""The load of one worker in an epoch, by key: exact, and small enough to be reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.groupings.base import Snapshot
    from evenkey.groupings.planned.statistics import KeyStatistics

_LEAST_KEPT = 1 << 14
"""Minimum number of keys that a worker lists. It is so large that only tiny parts of split keys are
missing in a list."""


@dataclass(frozen=True)
class KeyCounts:
    """The hottest keys of a worker with their loads, and the load of every bucket.

    A worker lists at least as many keys as plans track. So if a tracked key is on one worker only,
    this worker lists the key with its exact load. If a tracked key is on several workers, its part
    on one of them may be smaller than all keys that this worker lists. Such a part is missing in
    the list. It has less than 1/16384 of the worker's load, and the load of the key's bucket
    includes it.

    Parameters
    ----------
    keys, loads
        uint64[k] and float64[k], distinct keys and their loads.
    bucket_loads
        float64[B], load of each bucket, including the load of `keys`.

    Examples
    --------
    >>> from evenkey.groupings.planned.statistics import KeyStatistics
    >>> empty = KeyStatistics(tracked=2, buckets=4)
    >>> counts = KeyCounts.of(np.array([9, 7], np.uint64), np.array([1.0, 3.0]), empty)
    >>> counts.keys.tolist(), counts.loads.tolist(), counts.bucket_loads.tolist()
    ([7, 9], [3.0, 1.0], [0.0, 1.0, 0.0, 3.0])
    """

    keys: NDArray[np.uint64]
    loads: NDArray[np.float64]
    bucket_loads: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        keys: NDArray[np.uint64],
        loads: NDArray[np.float64],
        empty: KeyStatistics,
        *,
        all_named: bool = False,
    ) -> Self:
        """Make the counts from the loads of distinct keys.

        Parameters
        ----------
        keys, loads
            uint64[n] and float64[n], distinct keys and their loads.
        empty
            Empty statistics, from which only the number of tracked keys and the number of buckets
            are used.
        all_named
            True: list every key, for counts that are not reported. False: list only the hottest
            keys.
        """
        buckets = len(empty.bucket_loads)
        in_buckets = np.bincount(
            (keys & np.uint64(buckets - 1)).astype(np.int64), loads, minlength=buckets
        )
        if all_named:
            return cls(keys, loads, in_buckets.astype(np.float64))
        # Ties go to the lowest hashes, so the order of arrival does not matter.
        order = np.lexsort((keys, -loads))[: max(empty.sketch.capacity, _LEAST_KEPT)]
        return cls(keys[order], loads[order], in_buckets.astype(np.float64))

    @property
    def total(self) -> float:
        """The load of all messages."""
        return float(self.bucket_loads.sum())

    def to_arrays(self) -> Snapshot:
        """Return the counts as named arrays."""
        return {"keys": self.keys, "loads": self.loads, "bucket_loads": self.bucket_loads}

    @classmethod
    def from_arrays(cls, arrays: Snapshot) -> Self:
        """Restore counts from the arrays of `to_arrays`."""
        return cls(arrays["keys"], arrays["loads"], arrays["bucket_loads"])
