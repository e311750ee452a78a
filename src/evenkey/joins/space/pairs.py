"""Digest of joined pairs: a number that is equal for equal sets of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.hashing import hash_longs, mix

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class PairsDigest:
    """Counts pairs and adds up their hashes, in any order and in any number of parts.

    A pair that occurs twice counts twice, so the digest detects repeated as well as lost pairs.
    Two different sets of pairs have the same digest with a probability of about 2 to the -64.

    Examples
    --------
    >>> one, other = PairsDigest(), PairsDigest()
    >>> one.add(np.array([1, 2]), np.array([7, 8]))
    >>> other.add(np.array([2]), np.array([8]))
    >>> other.add(np.array([1]), np.array([7]))
    >>> str(one), one == other
    ('2-0b1dfefdfc12b556', True)
    """

    pairs: int = 0
    total: int = 0

    def add(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Add pairs of ids, int64[n] each."""
        hashes = mix(hash_longs(left) ^ mix(hash_longs(right), 1), 2)
        self.pairs += len(left)
        self.total = (self.total + int(hashes.sum(dtype=np.uint64))) % (1 << 64)

    def __str__(self) -> str:
        """Return the number of pairs and the sum of hashes, as shown in results."""
        return f"{self.pairs}-{self.total:016x}"
