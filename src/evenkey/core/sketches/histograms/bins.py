"""The bins of many histograms in one array, as the aggregator of histograms moves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

MOST_BINS = 1 << 20
_LARGEST = 2.0**1022  # so that a difference of two values is finite
_ROWS = 4


class Bins(NamedTuple):
    """Bins of several histograms, one histogram behind the other.

    Histogram i has the bins ``offsets[i]`` to ``offsets[i + 1] - 1``, in ascending order of
    their positions, no two at the same.
    """

    offsets: NDArray[np.int64]
    """int64[histograms + 1]."""
    positions: NDArray[np.float64]
    """float64[bins], the mean of the values in each bin."""
    weights: NDArray[np.float64]
    """float64[bins], above 0."""
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
        """Make `count` histograms, each of the values of its group in their order.

        Parameters
        ----------
        capacity
            Bins of a histogram at most.
        values, weights
            float64[n], as `check_values` gives them.
        groups
            int64[n], 0 to `count` - 1.
        """
        from evenkey.core.sketches.histograms import _kernels

        bins, starts, held = allocated(np.bincount(groups, minlength=count), capacity)
        _kernels.update(bins, starts, held, groups, values, weights)
        return cls.used(bins, starts, held)

    def merged(self, capacity: int, groups: NDArray[np.int64], count: int) -> Bins:
        """Make `count` histograms, each of the histograms of its group, in any order."""
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
        """Take the bins in use out of arrays as kernels have them."""
        sizes = np.diff(starts)
        place = np.arange(bins.shape[1]) - np.repeat(starts[:-1], sizes)
        inside = place < np.repeat(held, sizes)
        return cls(np.concatenate([[0], np.cumsum(held)]), *bins[:, inside])


def allocated(
    counts: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Allocate histograms of the given numbers of values: bins, starts and held, as in the kernels.

    A histogram with fewer values than bins never merges any, so it gets no more bins than values.
    There can be very many of these.
    """
    starts = np.concatenate([[0], np.cumsum(np.minimum(counts, capacity))])
    return np.zeros((_ROWS, starts[-1])), starts, np.zeros(len(counts), dtype=np.int64)


def check_capacity(bins: int) -> None:
    """Raise a ConfigurationError unless there can be that many bins."""
    whole_number("bins", bins)
    if not 2 <= bins <= MOST_BINS:  # noqa: PLR2004  what the message says
        message = f"bins = {bins}: a histogram has 2 to {MOST_BINS} bins"
        raise ConfigurationError(message)


def check_values(
    values: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read values and their weights, 1 each if left out.

    Raises
    ------
    ConfigurationError
        A value is not finite, a weight is not finite or negative, or there is not one per value.
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
        message = f"value {wrong[0]:g}: values are finite, at most 2^1022 in size; leave it out"
        raise ConfigurationError(message)
    wrong = weights[~((weights >= 0) & (weights < np.inf))]
    if wrong.size:
        message = f"weight {wrong[0]:g}: weights are finite and not negative"
        raise ConfigurationError(message)
    return values, weights
