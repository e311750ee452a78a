"""Loads of keys that are known before a batch is read, such as those of a profile."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.profiles import SampledRows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

_LEAST_OTHERS = 0.001
"""Least share of the keys that are not known: new keys may come, and each needs a worker."""


class KnownLoads(NamedTuple):
    """The rows of hot keys and of all other keys, from which a plan is made without counting.

    Parameters
    ----------
    keys
        uint64[k], hashes of the hot keys, ascending.
    rows
        float64[k], number of rows of each hot key.
    others
        Number of rows of all other keys together, above 0.
    """

    keys: NDArray[np.uint64]
    rows: NDArray[np.float64]
    others: float

    @classmethod
    def of(cls, inputs: Sequence[SampledRows], runs: float = 1.0) -> Self:
        """Return the loads of an operation in one run, from its inputs in all recorded runs.

        Parameters
        ----------
        inputs
            The inputs of the operation whose rows are placed together, at least one.
        runs
            Number of runs in which these rows were recorded.

        Examples
        --------
        >>> from evenkey.core.profiles import HotKey
        >>> loads = KnownLoads.of([SampledRows(100.0, (HotKey(9, 60.0), HotKey(7, 20.0)))], runs=2)
        >>> loads.keys.tolist(), loads.rows.tolist(), loads.others
        ([7, 9], [10.0, 30.0], 10.0)
        """
        rows = functools.reduce(SampledRows.merged, inputs).faded(1 / runs)
        hot = sorted(rows.keys, key=lambda key: key.hashed)
        counts = np.array([key.rows for key in hot], dtype=np.float64)
        total = max(rows.rows, float(counts.sum()), 1.0)
        others = max(total - float(counts.sum()), _LEAST_OTHERS * total)
        return cls(np.array([key.hashed for key in hot], dtype=np.uint64), counts, others)

    @property
    def total(self) -> float:
        """Number of rows of all keys."""
        return float(self.rows.sum()) + self.others

    def of_keys(self, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the rows of some keys, float64 like `keys`; 0 for each key that is not hot."""
        known = dict(zip(self.keys.tolist(), self.rows.tolist(), strict=True))
        return np.array([known.get(key, 0.0) for key in keys.tolist()], dtype=np.float64)

    def in_buckets(self, buckets: int) -> NDArray[np.float64]:
        """Return the rows of all other keys, spread over buckets: float64[buckets]."""
        return np.full(buckets, self.others / buckets)
