"""Growing sets of 64-bit fingerprints, with or without a count for each fingerprint."""

from __future__ import annotations

import numpy as np

_SMALLEST = 1 << 10


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
