"""The approximate histogram of Ben-Haim and Tom-Tov."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.sketches.base import Sketch
from evenkey.core.sketches.histograms.bins import Bins, allocated, check_capacity, check_values

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

_ITEM = np.dtype([("position", "<f8"), ("weight", "<f8"), ("low", "<f8"), ("high", "<f8")])
_HEADER = struct.Struct("<8sqq")
_MAGIC = b"evenkeyH"


class ApproximateHistogram(Sketch):
    """Summarizes the distribution of a weighted stream of numbers in at most `capacity` bins.

    Each new value gets its own bin. If there is then one bin too many, the two closest bins are
    joined at their weighted mean. If several pairs of bins are equally close, the leftmost pair is
    joined first, so that the histogram depends only on the values and their order. The algorithms
    are those of Ben-Haim and Tom-Tov, A Streaming Parallel Decision Tree Algorithm, JMLR 11, 2010:
    `update` is Algorithm 1, `merge` Algorithm 2, `sum` Algorithm 3, `uniform` Algorithm 4.

    Each bin also keeps the lowest and the highest value that went into the bin, which the paper
    does not do (decision 070). With these two values, `sum` treats a bin with a single value as a
    step instead of a trapezoid, and `bounds` returns limits for all estimates.

    Guarantees, for any division of the values among histograms and any order of merging:

    - the true weight at or below a point is within `bounds`, and so is the estimate `sum`;
    - all results are exact while there are at most `capacity` distinct values;
    - `merge` is commutative; it is associative within the bounds.

    The error of `sum` depends on the distribution, and the paper proves no bound. Measured
    (`tests/sketches/test_histogram_accuracy.py`): with 64 bins it is less than 3 % of the weight
    for normal, uniform, exponential, log-normal and two-peaked values, both for one histogram and
    for a merge of 16 histograms.

    Parameters
    ----------
    capacity
        Maximum number of bins, at least 2. Each bin takes 32 bytes.

    Raises
    ------
    ConfigurationError
        The capacity is out of range.

    Examples
    --------
    Seven values in five bins, as in the paper's appendix.

    >>> histogram = ApproximateHistogram(5)
    >>> histogram.update([23, 19, 10, 16, 36, 2, 9])
    >>> histogram.bins()[["position", "weight"]].tolist()
    [(2.0, 1.0), (9.5, 2.0), (17.5, 2.0), (23.0, 1.0), (36.0, 1.0)]
    >>> histogram.sum([9.5, 10, 20]).tolist()
    [2.0, 3.0, 5.0]
    >>> [bound.tolist() for bound in histogram.bounds([9.5, 10, 20])]
    [[1.0, 3.0, 5.0], [3.0, 3.0, 5.0]]
    >>> histogram.uniform(2).tolist()
    [16.0]

    Histograms of parts can be merged and serialized.

    >>> other = ApproximateHistogram(histogram.capacity)
    >>> other.update([30, 45])
    >>> both = histogram.merge(ApproximateHistogram.from_bytes(other.to_bytes()))
    >>> both.total, len(both)
    (9.0, 5)

    One of several histograms that are stored as arrays:

    >>> from evenkey.core.sketches.histograms import Bins
    >>> one, four = np.ones(2), np.array([4.0, 8.0])
    >>> ApproximateHistogram.of(5, Bins(np.array([0, 2]), four, one, four, four)).sum([5]).tolist()
    [1.0]
    """

    def __init__(self, capacity: int) -> None:
        check_capacity(capacity)
        self._bins, self._starts, self._held = allocated(np.array([capacity]), capacity)

    @property
    def capacity(self) -> int:
        """Maximum number of bins."""
        return int(self._bins.shape[1])

    @property
    def total(self) -> float:
        """Weight of all values so far."""
        return float(self._used()[1].sum())

    def __len__(self) -> int:
        """Return the number of bins in use."""
        return int(self._held[0])

    def update(self, values: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add a batch of values.

        Parameters
        ----------
        values
            float64[n], finite.
        weights
            float64[n], not negative. None: each weight is 1. A value of weight 0 changes nothing.

        Raises
        ------
        ConfigurationError
            A value is not finite, a weight is negative or not finite, or the numbers of values and
            weights differ.
        """
        from evenkey.core.sketches.histograms import _kernels

        values, weights = check_values(values, weights)
        groups = np.zeros(len(values), dtype=np.int64)
        _kernels.update(self._bins, self._starts, self._held, groups, values, weights)

    def merge(self, other: ApproximateHistogram) -> ApproximateHistogram:
        """Return the histogram of both streams together; merging is commutative.

        Raises
        ------
        ConfigurationError
            The capacities differ.
        """
        self.check_capacity_of(other)
        both = np.concatenate([self._used(), other._used()], axis=1)
        offsets = np.array([0, len(self), both.shape[1]])
        groups = np.zeros(2, dtype=np.int64)
        return self.of(self.capacity, Bins(offsets, *both).merged(self.capacity, groups, 1))

    def sum(self, points: ArrayLike) -> NDArray[np.float64]:
        """Estimate the weight of the values at or below each point.

        Parameters
        ----------
        points
            float64[n].

        Returns
        -------
        float64[n]
            The result of Algorithm 3, limited to `bounds`.
        """
        return self._sums(points)[0]

    def bounds(self, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a lower and an upper bound, float64[n], of the weight at or below each point."""
        _, least, most = self._sums(points)
        return least, most

    def uniform(self, parts: int) -> NDArray[np.float64]:
        """Return the points, in ascending order, that cut the values into parts of equal weight.

        Parameters
        ----------
        parts
            Number of parts, at least 1.

        Returns
        -------
        float64[parts - 1]
            The result of Algorithm 4, the inverse of `sum`. Several points are equal if one value
            weighs more than a part. The array is empty if the histogram is empty.

        Raises
        ------
        ConfigurationError
            `parts` is below 1.
        """
        from evenkey.core.sketches.histograms import _kernels

        if parts < 1:
            message = f"parts = {parts}: must be at least 1 part of equal weight"
            raise ConfigurationError(message)
        points = np.empty(parts - 1 if len(self) else 0)
        if len(points):
            used = np.ascontiguousarray(self._used())
            weights = used[_kernels.WEIGHT]
            lows = _accumulated(used[_kernels.LOW], weights)
            highs = _accumulated(used[_kernels.HIGH], weights)
            _kernels.uniform(used, *lows, *highs, points)
        return points

    def bins(self) -> NDArray[np.void]:
        """Return all bins in ascending order of their positions.

        Returns
        -------
        structured[held]
            ``position``, ``weight``, ``low`` and ``high``, all float64.
        """
        items = np.empty(len(self), dtype=_ITEM)
        for name, row in zip(_ITEM.names or (), self._used(), strict=True):
            items[name] = row
        return items

    @classmethod
    def of(cls, capacity: int, bins: Bins, number: int = 0) -> Self:
        """Make a histogram from the histogram that has the index `number` in `bins`."""
        histogram = cls(capacity)
        begin, end = bins.offsets[number : number + 2]
        histogram._held[0] = end - begin
        for row, values in enumerate(bins[1:]):
            histogram._bins[row, : end - begin] = values[begin:end]
        return histogram

    def to_bytes(self) -> bytes:
        """Serialize the histogram; equal histograms have equal bytes."""
        return _HEADER.pack(_MAGIC, self.capacity, len(self)) + self.bins().tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a histogram from the bytes of `to_bytes`.

        Raises
        ------
        RunError
            The bytes are not those of a histogram.
        """
        if len(data) >= _HEADER.size:
            magic, capacity, held = _HEADER.unpack_from(data)
            complete = len(data) == _HEADER.size + held * _ITEM.itemsize
            if magic == _MAGIC and complete and 0 <= held <= capacity:
                items = np.frombuffer(data, dtype=_ITEM, offset=_HEADER.size)
                columns = (items[name] for name in _ITEM.names or ())
                return cls.of(capacity, Bins(np.array([0, held]), *columns))
        message = (
            f"a stored histogram ({len(data)} bytes) is corrupt: delete what it was read from, "
            "such as a run's output or a query's state, and start again"
        )
        raise RunError(message)

    def _used(self) -> NDArray[np.float64]:
        return self._bins[:, : len(self)]

    def _sums(
        self, points: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        from evenkey.core.sketches.histograms import _kernels

        points = np.ascontiguousarray(points, dtype=np.float64)
        found = (np.zeros(len(points)), np.zeros(len(points)), np.zeros(len(points)))
        if len(self):
            _kernels.sums(np.ascontiguousarray(self._used()), points, *found)
        return found


def _accumulated(
    ends: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sort the ends of bins; return the ends, and the weight of all bins up to each end."""
    order = np.argsort(ends)
    return ends[order], np.cumsum(weights[order])
