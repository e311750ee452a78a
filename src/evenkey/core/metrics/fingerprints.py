"""Growing sets of 64-bit fingerprints, with or without a count each."""

from __future__ import annotations

import numpy as np

_SMALLEST = 1 << 10


class Fingerprints:
    """A set in an open-addressing table, at most three quarters of which are full."""

    def __init__(self) -> None:
        self.table = np.zeros(_SMALLEST, dtype=np.uint64)
        self.held = 0

    def reserve(self, more: int) -> None:
        """Grow the table, if needed, until `more` fit."""
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
        """Add all of `other`."""
        from evenkey.core.metrics import _kernels

        self.reserve(other.held)
        self.held += int(_kernels.insert_all(self.table, other.table))


class CountedFingerprints(Fingerprints):
    """A set whose members have counts, int64, in the slots of the table."""

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
