"""On how many workers keys lie: replication, counted message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PairCounts"]

_STEP = 1 << 14


class PairCounts:
    """Messages by worker, and distinct (worker, key) pairs, added up batch by batch.

    Pairs are told apart by 64-bit fingerprints, as keys are by their 64-bit hashes: among 62
    million pairs the chance that any two are taken for one is about 1 in 10,000. Memory is 11
    to 22 bytes a pair and as much a key, and half as much again while it grows.

    Parameters
    ----------
    workers
        How many workers there are, W.

    Raises
    ------
    ConfigurationError
        There is no worker.

    Examples
    --------
    >>> counts = PairCounts(workers=3)
    >>> counts.add(np.array([0, 1, 0, 2]), np.array([7, 7, 7, 8], dtype=np.uint64))
    >>> counts.loads.tolist(), counts.pairs, counts.keys, counts.dist_cost
    ([2, 1, 1], 3, 2, 1.5)
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            message = f"workers = {workers}: there must be at least 1 worker"
            raise ConfigurationError(message)
        self.workers = workers
        self._loads = np.zeros(workers, dtype=np.int64)
        self._pairs = _Fingerprints()
        self._keys = _Fingerprints()

    def add(
        self,
        workers: NDArray[np.integer],
        keys: NDArray[np.uint64],
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        """Add messages.

        Parameters
        ----------
        workers
            int[n], where each lies, 0 to W - 1.
        keys
            uint64[n], hashes of keys.
        counts
            int64[n], how many messages each stands for, at least 1; None is one each.

        Raises
        ------
        ConfigurationError
            A worker is not one of the W, a count is below 1, or the lengths differ.
        """
        self._check(workers, keys, counts)
        if counts is None:
            self._loads += np.bincount(workers, minlength=self.workers)
        else:
            np.add.at(self._loads, workers, counts)
        for start in range(0, len(keys), _STEP):
            self._add(workers[start : start + _STEP], keys[start : start + _STEP])

    def merge(self, other: PairCounts) -> None:
        """Add all that `other`, of as many workers, holds.

        Raises
        ------
        ConfigurationError
            The numbers of workers differ.
        """
        if other.workers != self.workers:
            message = f"counts of {other.workers} workers cannot be merged into {self.workers}"
            raise ConfigurationError(message)
        self._loads += other._loads
        self._pairs.update(other._pairs)
        self._keys.update(other._keys)

    @property
    def loads(self) -> NDArray[np.int64]:
        """int64[W], messages per worker."""
        return self._loads.copy()

    @property
    def pairs(self) -> int:
        """Distinct (worker, key) pairs."""
        return self._pairs.held

    @property
    def keys(self) -> int:
        """Distinct keys."""
        return self._keys.held

    @property
    def dist_cost(self) -> float:
        """Mean number of workers a key lies on (DistCost, DKG paper, equation 8); 1 if none."""
        return self.pairs / self.keys if self.pairs else 1.0

    def _check(
        self,
        workers: NDArray[np.integer],
        keys: NDArray[np.uint64],
        counts: NDArray[np.int64] | None,
    ) -> None:
        if len(workers) != len(keys) or (counts is not None and len(counts) != len(keys)):
            message = f"{len(workers)} workers for {len(keys)} keys: give one worker a key"
            if counts is not None:
                message += f", and one count ({len(counts)} given)"
            raise ConfigurationError(message)
        if len(workers) and not 0 <= workers.min() <= workers.max() < self.workers:
            message = (
                f"messages lie on workers {workers.min()} to {workers.max()}: with workers = "
                f"{self.workers} they must be 0 to {self.workers - 1}"
            )
            raise ConfigurationError(message)
        if counts is not None and len(counts) and counts.min() < 1:
            message = f"a message counts {counts.min()}: it must count at least 1"
            raise ConfigurationError(message)

    def _add(self, workers: NDArray[np.integer], keys: NDArray[np.uint64]) -> None:
        from evenkey.metrics import _kernels

        self._pairs.make_room(len(keys))
        self._keys.make_room(len(keys))
        pairs, new = _kernels.insert_pairs(self._pairs.table, self._keys.table, workers, keys)
        self._pairs.held += pairs
        self._keys.held += new


class _Fingerprints:
    """A growing set of 64-bit fingerprints; at most three quarters of its table are full."""

    def __init__(self) -> None:
        self.table = np.zeros(1 << 10, dtype=np.uint64)
        self.held = 0

    def make_room(self, more: int) -> None:
        """Grow, where it takes that, until `more` fit in."""
        from evenkey.metrics import _kernels

        size = len(self.table)
        while self.held + more > size * 3 // 4:
            size *= 2
        if size > len(self.table):
            grown = np.zeros(size, dtype=np.uint64)
            _kernels.insert_all(grown, self.table)
            self.table = grown

    def update(self, other: _Fingerprints) -> None:
        from evenkey.metrics import _kernels

        self.make_room(other.held)
        self.held += int(_kernels.insert_all(self.table, other.table))
