"""Replication: the number of workers that hold each key, counted message by message."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.checking import check_workers
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

_STEP = 1 << 14
_SMALLEST = 1 << 10
_IMBALANCE = 0.05
_UNCOUNTED = np.empty(0, dtype=np.int64)
_UNCOUNTED.flags.writeable = False


def dist_cost_lower_bound(counts: ArrayLike, workers: int, imbalance: float = _IMBALANCE) -> float:
    """Compute a lower bound of DistCost if each load exceeds the mean by at most `imbalance`.

    DistCost is the mean number of workers per key. A worker takes at most ``(1 + imbalance) / W``
    of all messages. So a key with the share p of all messages needs at least ``ceil(p W / (1 +
    imbalance))`` workers. The bound is the mean of this number over all keys.

    Parameters
    ----------
    counts
        Number of messages of each key, above 0, shape [k].
    workers
        Number of workers, W, at least 1.
    imbalance
        How much a load may exceed the mean load, as a fraction of the mean load, at least 0.

    Returns
    -------
    float
        The bound; 1 if there are no keys.

    Raises
    ------
    ConfigurationError
        An argument is out of range.

    Examples
    --------
    >>> dist_cost_lower_bound([80, 5, 5, 5, 5], workers=10)
    2.4
    """
    checked = np.asarray(counts, dtype=np.float64)
    check_workers(workers)
    if not imbalance >= 0:
        message = f"imbalance = {imbalance}: must be at least 0"
        raise ConfigurationError(message)
    if not (checked > 0).all():
        message = f"a count is {checked.min():g}: every count must be above 0"
        raise ConfigurationError(message)
    if not len(checked):
        return 1.0
    return _lower_bound(checked, len(checked), workers, imbalance)


def _lower_bound(
    counts: NDArray[np.number], keys: int, workers: int, imbalance: float = _IMBALANCE
) -> float:
    """Compute the bound for `keys` keys; a 0 in `counts` is an empty entry, not a key."""
    # Rounding must not add a worker to a key whose share fits its workers exactly.
    most = counts.sum() * (1 + imbalance) / workers * (1 + 1e-12)
    # Few keys have more than `most` messages. Every other key needs one worker.
    more = np.ceil(counts[counts > most] / most) - 1
    return float(1 + more.sum() / max(1, keys))


class LoadCounts:
    """Counts the messages of each worker, batch by batch.

    Parameters
    ----------
    workers
        Number of workers, W.

    Raises
    ------
    ConfigurationError
        `workers` is not a whole number of at least 1.

    Examples
    --------
    >>> counts = LoadCounts(workers=3)
    >>> counts.add(np.array([0, 1, 0, 2]), np.array([7, 7, 7, 8], dtype=np.uint64))
    >>> counts.loads.tolist(), counts.pairs
    ([2, 1, 1], nan)
    """

    def __init__(self, workers: int) -> None:
        check_workers(workers)
        self.workers = workers
        self._loads = np.zeros(workers, dtype=np.int64)

    def of_next_epoch(self) -> Self:
        """Return empty counts of the epoch that follows these."""
        return type(self)(self.workers)

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
            int[n], the worker of each message, 0 to W - 1.
        keys
            uint64[n], the hash of the key of each message.
        counts
            int64[n], how many messages each entry stands for, at least 1. None: each entry is 1
            message.

        Raises
        ------
        ConfigurationError
            A worker is not in 0 to W - 1, a count is below 1, or the lengths differ.
        """
        self._check(workers, keys, counts)
        if counts is None:
            self._loads += np.bincount(workers, minlength=self.workers)
        else:
            np.add.at(self._loads, workers, counts)

    def merge(self, other: Self) -> None:
        """Add the counts of `other`, which has the same number of workers.

        Raises
        ------
        ConfigurationError
            The numbers of workers differ.
        """
        if other.workers != self.workers:
            message = f"counts of {other.workers} workers cannot be merged into {self.workers}"
            raise ConfigurationError(message)
        self._loads += other._loads

    @property
    def loads(self) -> NDArray[np.int64]:
        """int64[W], number of messages of each worker."""
        return self._loads.copy()

    @property
    def pairs(self) -> float:
        """Number of distinct (worker, key) pairs; NaN if they are not counted."""
        return math.nan

    @property
    def keys(self) -> float:
        """Number of distinct keys; NaN if they are not counted."""
        return math.nan

    @property
    def moved_keys(self) -> float:
        """Number of pairs of a known key and a new worker; NaN if pairs are not counted."""
        return math.nan

    @property
    def moved_load(self) -> float:
        """Load of these pairs as a fraction of all load; NaN if pairs are not counted."""
        return math.nan

    @property
    def keys_held(self) -> NDArray[np.number]:
        """Number of distinct keys of each worker, shape [W]; NaN if they are not counted."""
        return np.full(self.workers, math.nan)

    @property
    def dist_cost(self) -> float:
        """Mean number of workers per key; NaN if pairs are not counted."""
        return math.nan

    @property
    def dist_cost_lower_bound(self) -> float:
        """Lower bound of DistCost; NaN if keys are not counted."""
        return math.nan

    def _check(
        self,
        workers: NDArray[np.integer],
        keys: NDArray[np.uint64],
        counts: NDArray[np.int64] | None,
    ) -> None:
        if len(workers) != len(keys) or (counts is not None and len(counts) != len(keys)):
            message = f"{len(workers)} workers for {len(keys)} keys: give one worker per key"
            if counts is not None:
                message += f", and one count ({len(counts)} given)"
            raise ConfigurationError(message)
        if len(workers) and not 0 <= workers.min() <= workers.max() < self.workers:
            message = (
                f"messages are on workers {workers.min()} to {workers.max()}: with workers = "
                f"{self.workers} they must be 0 to {self.workers - 1}"
            )
            raise ConfigurationError(message)
        if counts is not None and len(counts) and counts.min() < 1:
            message = f"count {counts.min()}: the count of a message must be at least 1"
            raise ConfigurationError(message)


class Fingerprints:
    """A set of fingerprints in an open-addressing table that is at most three quarters full."""

    def __init__(self) -> None:
        self.table = np.zeros(_SMALLEST, dtype=np.uint64)
        self.held = 0

    def reserve(self, more: int) -> None:
        """Grow the table, if needed, so that `more` further fingerprints fit."""
        size = len(self.table)
        while self.held + more > size * 3 // 4:
            size *= 2
        if size > len(self.table):
            self._grow(size)

    def _grow(self, size: int) -> None:
        from evenkey.core.metrics import _kernels

        grown = np.zeros(size, dtype=np.uint64)
        _kernels.insert_all(grown, self.table)
        self.table = grown

    def update(self, other: Fingerprints) -> None:
        """Add all fingerprints of `other`."""
        from evenkey.core.metrics import _kernels

        self.reserve(other.held)
        self.held += int(_kernels.insert_all(self.table, other.table))


class CountedFingerprints(Fingerprints):
    """A set with an int64 count for each fingerprint, stored in the slot with the same index."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = np.zeros(_SMALLEST, dtype=np.int64)

    def _grow(self, size: int) -> None:
        from evenkey.core.metrics import _kernels

        table, counts = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int64)
        _kernels.add_all(table, counts, self.table, self.counts)
        self.table, self.counts = table, counts

    def add(self, other: CountedFingerprints) -> None:
        """Add the counts of `other`."""
        from evenkey.core.metrics import _kernels

        self.reserve(other.held)
        self.held += int(_kernels.add_all(self.table, self.counts, other.table, other.counts))


class PairCounts(LoadCounts):
    """Counts the messages of each worker and the distinct (worker, key) pairs, batch by batch.

    A 64-bit fingerprint identifies each pair, and a 64-bit hash identifies each key. Among 62
    million pairs, the chance that any two have the same fingerprint is about 1 in 10,000. (The
    upper bits of a fingerprint hold the worker, so only pairs of the same worker can be confused.)
    Memory is 11 to 22 bytes per pair and 22 to 44 bytes per key. While a table grows, it takes 50 %
    more.

    Parameters
    ----------
    workers
        Number of workers, W.
    earlier
        Counts of all earlier epochs, if these are the counts of one epoch. A key that occurred in
        earlier epochs has moved to each worker that did not have it. Counts of epochs that are
        merged add up what has moved. None: no key has moved.

    Raises
    ------
    ConfigurationError
        `workers` is not a whole number of at least 1.

    Examples
    --------
    >>> counts = PairCounts(workers=3)
    >>> counts.add(np.array([0, 1, 0, 2]), np.array([7, 7, 7, 8], dtype=np.uint64))
    >>> counts.loads.tolist(), counts.pairs, counts.keys, counts.dist_cost
    ([2, 1, 1], 3, 2, 1.5)
    >>> counts.workers_of(np.array([7, 8, 9], dtype=np.uint64)).tolist()
    [2, 1, 0]

    In the next epoch key 8 moves to worker 0, with half of the load:

    >>> epoch = PairCounts(workers=3, earlier=counts)
    >>> epoch.add(np.array([0, 0, 1, 2]), np.array([8, 8, 7, 9], dtype=np.uint64))
    >>> epoch.moved_keys, epoch.moved_load
    (1, 0.5)
    """

    def __init__(self, workers: int, earlier: PairCounts | None = None) -> None:
        super().__init__(workers)
        self._pairs, self._keys = Fingerprints(), CountedFingerprints()
        none = Fingerprints()
        self._earlier = (
            (none, none) if earlier is None else (earlier._pairs, earlier._keys)  # noqa: SLF001
        )
        self._moved_pairs = self._moved_load = 0
        self._bits = np.uint64(max(1, (workers - 1).bit_length()))

    def of_next_epoch(self) -> Self:
        """Return empty counts of the epoch that follows these, with these as the earlier ones."""
        return type(self)(self.workers, self)

    def add(
        self,
        workers: NDArray[np.integer],
        keys: NDArray[np.uint64],
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        """Add messages, as `LoadCounts.add` does."""
        super().add(workers, keys, counts)
        for start in range(0, len(keys), _STEP):
            step = slice(start, start + _STEP)
            self._add(workers[step], keys[step], _UNCOUNTED if counts is None else counts[step])

    def merge(self, other: Self) -> None:
        """Add the counts of `other`, as `LoadCounts.merge` does."""
        super().merge(other)
        self._moved_pairs += other._moved_pairs
        self._moved_load += other._moved_load
        self._pairs.update(other._pairs)
        self._keys.add(other._keys)

    @property
    def pairs(self) -> int:
        """Number of distinct (worker, key) pairs."""
        return self._pairs.held

    @property
    def keys(self) -> int:
        """Number of distinct keys."""
        return self._keys.held

    @property
    def moved_keys(self) -> int:
        """Number of pairs whose key occurred in earlier epochs, but not on their worker."""
        return self._moved_pairs

    @property
    def moved_load(self) -> float:
        """Load of the pairs in `moved_keys` as a fraction of all load; 0 without load."""
        return self._moved_load / max(1, int(self._loads.sum()))

    @property
    def keys_held(self) -> NDArray[np.int64]:
        """int64[W], number of distinct keys of each worker."""
        from evenkey.core.metrics import _kernels

        held = np.zeros(self.workers, dtype=np.int64)
        _kernels.keys_of_workers(self._pairs.table, self._bits, held)
        return held

    def workers_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return on how many workers each key is, int64[n]; 0 for a key without messages.

        `keys` is uint64[n], the hashes of the keys.
        """
        from evenkey.core.metrics import _kernels

        found = np.empty(len(keys), dtype=np.int64)
        _kernels.workers_of_keys(self._pairs.table, self._bits, self.workers, keys, found)
        return found

    @property
    def dist_cost(self) -> float:
        """Mean number of workers per key (DistCost, DKG paper, equation 8); 1 without keys."""
        return self.pairs / self.keys if self.pairs else 1.0

    @property
    def dist_cost_lower_bound(self) -> float:
        """Lower bound of DistCost at an imbalance of 5 %; see `dist_cost_lower_bound`."""
        return _lower_bound(self._keys.counts, self.keys, self.workers)

    def _add(
        self,
        workers: NDArray[np.integer],
        keys: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> None:
        from evenkey.core.metrics import _kernels

        self._pairs.reserve(len(keys))
        self._keys.reserve(len(keys))
        earlier_pairs, earlier_keys = self._earlier
        pairs, new, moved_pairs, moved_load = _kernels.insert_pairs(
            self._pairs.table,
            self._keys.table,
            self._keys.counts,
            workers,
            keys,
            counts,
            self._bits,
            (earlier_pairs.table, earlier_keys.table),
        )
        self._moved_pairs += moved_pairs
        self._moved_load += moved_load
        self._pairs.held += pairs
        self._keys.held += new
