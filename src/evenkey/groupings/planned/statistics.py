"""Statistics that plans are made from: the hottest keys, and the load of every bucket."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.sketches import SpaceSaving
from evenkey.groupings.tables.key_table import check_read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.groupings.base import Snapshot

_UNCERTAIN = 0.1


class KeyStatistics:
    """The hottest keys by SpaceSaving, and the exact load of every bucket.

    The memory depends on the number of tracked keys and the number of buckets, not on the number of
    all keys.

    Parameters
    ----------
    tracked
        Number of keys that can be tracked, at least 1.
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
        """int64[B], number of distinct keys in each bucket; None: not all keys were counted."""

    @property
    def total(self) -> float:
        """The load of all messages so far."""
        return float(self.bucket_loads.sum())

    @property
    def distinct(self) -> float:
        """Estimated number of distinct keys; infinite if no bucket is empty.

        The method is linear counting of empty buckets (Whang, Vander-Zanden and Taylor, ACM TODS
        15, 1990).
        """
        buckets = len(self.bucket_loads)
        empty = buckets - np.count_nonzero(self.bucket_loads)
        return buckets * math.log(buckets / empty) if empty else math.inf

    def add(self, keys: NDArray[np.uint64], loads: NDArray[np.float64] | None = None) -> None:
        """Add messages, given their keys and loads; None: each message has a load of 1."""
        self.bucket_loads += self._by_bucket(keys, loads)
        self.sketch.update(keys, loads)

    def add_counted(self, keys: NDArray[np.uint64], loads: NDArray[np.float64]) -> None:
        """Add distinct keys with known loads; the hottest keys are tracked with exact loads."""
        if not self.total:
            self.bucket_keys = self._by_bucket(keys, None).astype(np.int64)
        hottest = np.argsort(-loads, kind="stable")[: self.sketch.capacity]
        others = np.ones(len(keys), dtype=bool)
        others[hottest] = False
        counted = SpaceSaving.of_counts(self.sketch.capacity, keys[hottest], loads[hottest])
        self.sketch = self.sketch.merge(counted)
        self.bucket_loads += self._by_bucket(keys[hottest], loads[hottest])
        self.bucket_loads += self._by_bucket(keys[others], loads[others])

    def add_hottest(
        self,
        keys: NDArray[np.uint64],
        loads: NDArray[np.float64],
        bucket_loads: NDArray[np.float64],
    ) -> None:
        """Fill empty statistics with the hottest keys, and the load of each bucket from all keys.

        Parameters
        ----------
        keys, loads
            uint64[k], distinct keys, and float64[k], the load of each.
        bucket_loads
            float64[B], load of each bucket, which includes that of keys that are not listed.
        """
        self.add_counted(keys, loads)
        self.bucket_loads = bucket_loads
        if loads.sum() < self.total:
            self.bucket_keys = None

    def add_parts(
        self,
        keys: Sequence[NDArray[np.int64] | NDArray[np.uint64]],
        loads: Sequence[NDArray[np.float64]],
        bucket_loads: NDArray[np.float64],
    ) -> None:
        """Do as `add_hottest`, with keys in parts: the loads of a key in several parts are added.

        Parameters
        ----------
        keys, loads
            For each of at least one part: int64[k] or uint64[k], keys, and float64[k], their loads.
        bucket_loads
            As for `add_hottest`.
        """
        distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
        summed = np.bincount(places, np.concatenate(loads)).astype(np.float64)
        self.add_hottest(distinct.view(np.uint64), summed, bucket_loads)

    def merge(self, other: KeyStatistics) -> None:
        """Add the statistics of another source or epoch.

        Raises
        ------
        ConfigurationError
            The numbers of buckets differ.
        """
        if len(other.bucket_loads) != len(self.bucket_loads):
            message = (
                f"statistics of {len(other.bucket_loads)} buckets cannot be merged into statistics "
                f"of {len(self.bucket_loads)}: use the same number of buckets"
            )
            raise ConfigurationError(message)
        self.bucket_loads = self.bucket_loads + other.bucket_loads
        self.sketch = self.sketch.merge(other.sketch)

    def decay(self, factor: float) -> None:
        """Multiply all counts by a factor, so that later messages weigh more."""
        self.bucket_loads = self.bucket_loads * factor
        self.sketch.decay(factor)

    def items(
        self, at_least: float, also: NDArray[np.uint64] | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the keys that a plan places individually, and the remaining load of each bucket.

        The load of a key is its lower bound in the sketch, so that the loads of keys and buckets
        add up to the total. A key stays in its bucket if more than a tenth of its count may be
        error. The load of the bucket includes all messages of the key. If the key were placed
        individually, its worker would get messages that the plan does not know of.

        Parameters
        ----------
        at_least
            Least load of a key that is returned.
        also
            uint64[m], keys that are returned even if their load is less.

        Returns
        -------
        tuple
            uint64[k] keys, float64[k] loads of these keys, float64[B] load of each bucket without
            these keys.
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
        """Return the statistics as named arrays; each name starts with `prefix`."""
        sketch = np.frombuffer(self.sketch.to_bytes(), dtype=np.uint8)
        return {f"{prefix}_sketch": sketch, f"{prefix}_buckets": self.bucket_loads.copy()}

    @classmethod
    def from_arrays(cls, arrays: Snapshot, prefix: str) -> Self:
        """Restore statistics from the arrays that `to_arrays` returned for the same prefix.

        Raises
        ------
        RunError
            The arrays are not valid statistics.
        """
        bucket_loads = arrays[f"{prefix}_buckets"]
        check_read(
            sound=bucket_loads.ndim == 1
            and bool((np.isfinite(bucket_loads) & (bucket_loads >= 0)).all())
        )
        statistics = cls(1, len(bucket_loads))
        statistics.sketch = SpaceSaving.from_bytes(arrays[f"{prefix}_sketch"].tobytes())
        statistics.bucket_loads = bucket_loads.astype(np.float64)
        return statistics
