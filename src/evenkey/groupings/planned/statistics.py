"""Statistics that plans are made from: the hottest keys, and the load of every bucket."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.sketches import SpaceSaving

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.groupings.base import Snapshot

_UNCERTAIN = 0.1


class KeyStatistics:
    """The hottest keys by SpaceSaving, and the exact load of every bucket.

    Memory is bounded by the numbers of tracked keys and buckets, not of all keys.

    Parameters
    ----------
    tracked
        Keys that can be tracked, at least 1.
    buckets
        Number of buckets, a power of two.

    Examples
    --------
    >>> statistics = KeyStatistics(tracked=2, buckets=4)
    >>> statistics.add(np.array([7, 7, 7, 8, 9, 7], dtype=np.uint64))
    >>> keys, counts, rest = statistics.items(at_least=2.0)
    >>> keys.tolist(), counts.tolist(), rest.tolist()
    ([7], [4.0], [1.0, 1.0, 0.0, 0.0])
    """

    def __init__(self, tracked: int, buckets: int) -> None:
        self.sketch = SpaceSaving(tracked)
        self.bucket_loads = np.zeros(buckets)
        self.bucket_keys: NDArray[np.int64] | None = None
        """int64[B], distinct keys of each bucket, if all were counted; None: unknown."""

    @property
    def total(self) -> float:
        """The load of all messages so far."""
        return float(self.bucket_loads.sum())

    @property
    def distinct(self) -> float:
        """About how many keys there were, by the buckets that have none; infinite if all have one.

        Linear counting (Whang, Vander-Zanden and Taylor, ACM TODS 15, 1990).
        """
        buckets = len(self.bucket_loads)
        empty = buckets - np.count_nonzero(self.bucket_loads)
        return buckets * math.log(buckets / empty) if empty else math.inf

    def add(self, keys: NDArray[np.uint64], loads: NDArray[np.float64] | None = None) -> None:
        """Add messages, or keys with their loads; None is 1 each."""
        self.bucket_loads += self._by_bucket(keys, loads)
        self.sketch.update(keys, loads)

    def add_counted(self, keys: NDArray[np.uint64], loads: NDArray[np.float64]) -> None:
        """Add distinct keys whose loads are known: the hottest are tracked, exactly."""
        if not self.total:
            self.bucket_keys = self._by_bucket(keys, None).astype(np.int64)
        hottest = np.argsort(-loads, kind="stable")[: self.sketch.capacity]
        others = np.ones(len(keys), dtype=bool)
        others[hottest] = False
        self.add(keys[hottest], loads[hottest])
        self.bucket_loads += self._by_bucket(keys[others], loads[others])

    def merge(self, other: KeyStatistics) -> None:
        """Add what others saw.

        Raises
        ------
        ConfigurationError
            The sizes differ.
        """
        if len(other.bucket_loads) != len(self.bucket_loads):
            message = (
                f"statistics of {len(other.bucket_loads)} buckets do not merge into "
                f"{len(self.bucket_loads)}: use one number of buckets"
            )
            raise ConfigurationError(message)
        self.bucket_loads = self.bucket_loads + other.bucket_loads
        self.sketch = self.sketch.merge(other.sketch)

    def decay(self, factor: float) -> None:
        """Scale everything, so that later messages weigh more."""
        self.bucket_loads = self.bucket_loads * factor
        self.sketch.decay(factor)

    def items(
        self, at_least: float, also: NDArray[np.uint64] | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
        """Give the keys that a plan is to place one by one.

        A key counts with its lower bound, so that keys and rests add up to the total. A key
        of which a tenth or more is uncertain is left with its bucket, where all of it is counted:
        with a place of its own it would bring load there that the plan does not know of.

        Parameters
        ----------
        at_least
            Load from which on a key is given.
        also
            uint64[m], keys that are given however light they are.

        Returns
        -------
        tuple
            uint64[k] keys, float64[k] their loads, float64[B] the load of each bucket
            without these keys.
        """
        items = self.sketch.items()
        loads = items["count"] - items["error"]
        given = loads >= at_least
        if also is not None:
            given |= np.isin(items["key"], also)
        given &= (loads > 0) & (items["error"] <= _UNCERTAIN * items["count"])
        keys, loads = items["key"][given].astype(np.uint64), loads[given]
        rests = self.bucket_loads - self._by_bucket(keys, loads)
        return keys, loads, np.maximum(rests, 0.0)

    def _by_bucket(
        self, keys: NDArray[np.uint64], loads: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        buckets = (keys & np.uint64(len(self.bucket_loads) - 1)).astype(np.int64)
        return np.bincount(buckets, loads, minlength=len(self.bucket_loads)).astype(np.float64)

    def to_arrays(self, prefix: str) -> Snapshot:
        """Give the statistics as named arrays."""
        sketch = np.frombuffer(self.sketch.to_bytes(), dtype=np.uint8)
        return {f"{prefix}_sketch": sketch, f"{prefix}_buckets": self.bucket_loads.copy()}

    @classmethod
    def from_arrays(cls, arrays: Snapshot, prefix: str) -> Self:
        """Restore what `to_arrays` gave."""
        bucket_loads = arrays[f"{prefix}_buckets"]
        statistics = cls(1, len(bucket_loads))
        statistics.sketch = SpaceSaving.from_bytes(arrays[f"{prefix}_sketch"].tobytes())
        statistics.bucket_loads = bucket_loads.astype(np.float64)
        return statistics
