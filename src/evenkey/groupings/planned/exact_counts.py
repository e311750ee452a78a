"""What one worker held in an epoch, by key: exact, and small enough to be handed on."""

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
"""Least number of keys kept: the smallest part of a split key must not be lost."""


@dataclass(frozen=True)
class KeyCounts:
    """The hottest keys of a worker with their loads, and the load of every bucket.

    A plan tracks a number of hot keys. If such a key is on one worker, it is among as many of that
    worker's hottest keys, so its count is exact. If it is on several workers, a part may be smaller
    than all keys that a worker lists; such a part has less than 1/16384 of that worker's load, and
    is counted in the key's bucket.

    Parameters
    ----------
    keys, loads
        uint64[k] and float64[k], each key once.
    bucket_loads
        float64[B], with those of `keys`.

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
        """Make the counts of distinct keys.

        Parameters
        ----------
        keys, loads
            uint64[n] and float64[n].
        empty
            Says how many keys are tracked, and the buckets.
        all_named
            Whether to list every key, not only the hottest: for counts that are not passed on.
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
        """Give the counts as named arrays."""
        return {"keys": self.keys, "loads": self.loads, "bucket_loads": self.bucket_loads}

    @classmethod
    def from_arrays(cls, arrays: Snapshot) -> Self:
        """Restore what `to_arrays` gave."""
        return cls(arrays["keys"], arrays["loads"], arrays["bucket_loads"])
