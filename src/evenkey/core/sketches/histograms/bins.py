"""The bins of many histograms in flat arrays, which the histogram aggregator turns into tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

MOST_BINS = 1 << 20
_LARGEST = 2.0**1022  # maximum size of a value; differences of values remain finite
_ROWS = 4


class Bins(NamedTuple):
    """Bins of several histograms, one histogram after the other.

    Histogram i has the bins ``offsets[i]`` to ``offsets[i + 1] - 1``, in ascending order of their
    positions; no two bins have the same position.
    """

    offsets: NDArray[np.int64]
    """int64[histograms + 1], the index of each histogram's first bin, then the number of all
    bins."""
    positions: NDArray[np.float64]
    """float64[bins], the mean of the values in each bin."""
    weights: NDArray[np.float64]
    """float64[bins], the weight of each bin, above 0."""
    lows: NDArray[np.float64]
    """float64[bins], the lowest value in each bin."""
    highs: NDArray[np.float64]
    """float64[bins], the highest value in each bin."""

    @classmethod
    def summarize(
        cls,
        capacity: int,
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
        groups: NDArray[np.int64],
        count: int,
    ) -> Self:
        """Make `count` histograms, one per group; each group's values are added in their order.

        Parameters
        ----------
        capacity
            Maximum number of bins of a histogram.
        values, weights
            float64[n], as `check_values` returns them.
        groups
            int64[n], the group of each value, 0 to `count` - 1.
        """
        from evenkey.core.sketches.histograms import _kernels

        bins, starts, held = allocated(np.bincount(groups, minlength=count), capacity)
        _kernels.update(bins, starts, held, groups, values, weights)
        return cls.used(bins, starts, held)

    def merged(self, capacity: int, groups: NDArray[np.int64], count: int) -> Bins:
        """Merge the histograms of each of `count` groups; histogram i is in group ``groups[i]``."""
        from evenkey.core.sketches.histograms import _kernels

        group = np.repeat(groups, np.diff(self.offsets))
        order = np.lexsort((self.weights, self.positions, group))
        parts = np.stack(self[1:])[:, order]
        part_starts = np.searchsorted(group[order], np.arange(count + 1))
        bins, starts, held = allocated(np.diff(part_starts), capacity)
        _kernels.reduce(parts, part_starts, bins, starts, held)
        return self.used(bins, starts, held)

    @classmethod
    def used(
        cls, bins: NDArray[np.float64], starts: NDArray[np.int64], held: NDArray[np.int64]
    ) -> Self:
        """Copy the bins in use out of arrays that have the layout of the kernels."""
        sizes = np.diff(starts)
        place = np.arange(bins.shape[1]) - np.repeat(starts[:-1], sizes)
        inside = place < np.repeat(held, sizes)
        return cls(np.concatenate([[0], np.cumsum(held)]), *bins[:, inside])


def allocated(
    counts: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Allocate empty histograms; return the arrays ``bins``, ``starts``, ``held`` of the kernels.

    `counts` is the number of values that each histogram will get. A histogram with fewer values
    than `capacity` needs only one bin per value. This saves much memory, because there can be very
    many such histograms.
    """
    starts = np.concatenate([[0], np.cumsum(np.minimum(counts, capacity))])
    return np.zeros((_ROWS, starts[-1])), starts, np.zeros(len(counts), dtype=np.int64)


def check_capacity(bins: int) -> None:
    """Raise a ConfigurationError if a histogram cannot have this number of bins."""
    whole_number("bins", bins)
    if not 2 <= bins <= MOST_BINS:  # noqa: PLR2004  what the message says
        message = f"bins = {bins}: must be from 2 to {MOST_BINS} bins"
        raise ConfigurationError(message)


def check_values(
    values: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check values and weights, and return them as float64 arrays; by default, each weight is 1.

    Raises
    ------
    ConfigurationError
        A value is not finite or above 2**1022 in size, a weight is negative or not finite, or the
        numbers of values and weights differ.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if weights is None:
        weights = np.ones(values.shape)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != values.shape:
        message = f"{values.size} values but {weights.size} weights: give one weight per value"
        raise ConfigurationError(message)
    wrong = values[~(np.abs(values) <= _LARGEST)]
    if wrong.size:
        message = (
            f"value {wrong[0]:g}: a value must be finite and at most 2^1022 in size; leave it out"
        )
        raise ConfigurationError(message)
    wrong = weights[~((weights >= 0) & (weights < np.inf))]
    if wrong.size:
        message = f"weight {wrong[0]:g}: a weight must be finite and not negative"
        raise ConfigurationError(message)
    return values, weights
