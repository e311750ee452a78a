"""The distribution of the values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators.base import Aggregator
from evenkey.aggregators.groups import check_names, number_groups
from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.sketches import ApproximateHistogram, Bins, check_capacity, check_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from numpy.typing import NDArray

_STATE = ("positions", "weights", "lows", "highs")


@dataclass(frozen=True)
class Histogram(Aggregator):
    """The distribution and the quantiles of a column's values, from histograms that merge.

    State of a group: the bins of a histogram, as lists ``positions``, ``weights``, ``lows`` and
    ``highs`` (float64). Each value first gets its own bin, and while there are more than `bins`
    bins, the two closest are joined at their weighted mean (Ben-Haim and Tom-Tov, A Streaming
    Parallel Decision Tree Algorithm, JMLR 11, 2010). Nulls are not counted.

    Result: the columns of the state, and three lists. ``points`` (float64[parts - 1]) are the
    values that cut all values into parts of equal weight. With ``parts=2`` the only point is the
    median; by default the points are the quartiles. ``points`` is empty if there are no values.
    ``ranks_from`` and ``ranks_to`` have one entry per point: the weight of the values at or below
    the point is certainly between these two numbers. Each value weighs 1.

    Guarantees, for every division of the messages into parts and every order of merging:

    - the bounds of ranks are certain;
    - points are exact while there are at most `bins` distinct values;
    - merging is commutative, and associative within the bounds.

    Parameters
    ----------
    column
        Column of numbers: integers, decimals or floating point.
    bins
        Maximum number of bins in the state, at least 2.
    parts
        Number of parts of equal weight into which the points cut the values, at least 1.

    Raises
    ------
    ConfigurationError
        `bins` or `parts` is out of range. From `bind`: the column is missing or not numeric.
    RunError
        From `partial`: a value is not finite.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": ["a", "a", "a", "b"], "amount": [1, 2, 9, 5]})
    >>> median = Histogram("amount", parts=2)
    >>> result = median.finish(median.partial(messages, by=["key"]), by=["key"])
    >>> result.select(["key", "points"]).to_pylist()
    [{'key': 'a', 'points': [2.0]}, {'key': 'b', 'points': [5.0]}]

    >>> (of_a, of_b) = median.histograms(result)
    >>> of_a.sum([2.0]).tolist(), of_b.total
    ([2.0], 1.0)
    """

    name: ClassVar[str] = "histogram"
    rows: ClassVar[Literal["one", "several"]] = "several"
    column: str
    bins: int = 64
    parts: int = 4

    def __post_init__(self) -> None:
        check_fields(self)
        check_capacity(self.bins)
        if self.parts < 1:
            message = f"histogram: parts = {self.parts}: must be at least 1 part of equal weight"
            raise ConfigurationError(message)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of values."""
        return (self.column,)

    @property
    def state(self) -> pa.Schema:
        """Lists ``positions``, ``weights``, ``lows`` and ``highs``."""
        return pa.schema([(name, pa.list_(pa.float64())) for name in _STATE])

    @property
    def result(self) -> pa.Schema:
        """The lists of the state, ``points``, ``ranks_from`` and ``ranks_to``."""
        names = ("points", "ranks_from", "ranks_to")
        return pa.schema([*self.state, *((name, pa.list_(pa.float64())) for name in names)])

    def bind(self, messages: pa.Schema) -> Self:
        """Check that the column holds numbers."""
        super().bind(messages)
        kind = messages.field(self.column).type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        ):
            message = f"{self}: column {self.column!r} is of type {kind}; it must hold numbers"
            raise ConfigurationError(message)
        return self

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Add the values of each group, in order, to the histogram of the group."""
        self.bind(messages.schema)
        check_names(messages, by, self.result.names)
        numbers, groups = number_groups(messages, by)
        column = messages[self.column]
        present = pc.is_valid(column).to_numpy()
        try:
            values, weights = check_values(
                column.drop_null().cast(pa.float64(), safe=False).to_numpy(), None
            )
        except ConfigurationError as error:
            message = f"{self}: {error}"
            raise RunError(message) from None
        made = Bins.summarize(self.bins, values, weights, numbers[present], _count(numbers))
        return _table(groups, by, made)

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge the histograms of each group."""
        numbers, groups = number_groups(partials, by)
        merged = _bins(partials).merged(self.bins, numbers, _count(numbers))
        return _table(groups, by, merged)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Cut the values of each group into parts of equal weight."""
        found = [_quantiles(histogram, self.parts) for histogram in self.histograms(merged)]
        columns = {name: merged[name] for name in (*by, *_STATE)}
        for place, name in enumerate(("points", "ranks_from", "ranks_to")):
            lists = [row[place] for row in found]
            columns[name] = pa.array(lists, pa.list_(pa.float64()))
        return pa.table(columns)

    def histograms(self, merged: pa.Table) -> Iterator[ApproximateHistogram]:
        """Yield the histogram of each row of `merged`, a state or result, for further queries."""
        bins = _bins(merged)
        return (
            ApproximateHistogram.of(self.bins, bins, number) for number in range(merged.num_rows)
        )


def _count(numbers: NDArray[np.int64]) -> int:
    """Count the groups, from the group number of each row."""
    return int(numbers.max(initial=-1)) + 1


def _bins(table: pa.Table) -> Bins:
    lengths = pc.list_value_length(table["positions"]).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Bins(offsets, *(pc.list_flatten(table[name]).to_numpy() for name in _STATE))


def _table(groups: pa.Table, by: Sequence[str], bins: Bins) -> pa.Table:
    offsets = pa.array(bins.offsets, pa.int32())
    lists = (pa.ListArray.from_arrays(offsets, pa.array(values)) for values in bins[1:])
    columns = {name: groups[name] for name in by}
    return pa.table({**columns, **dict(zip(_STATE, lists, strict=True))})


def _quantiles(histogram: ApproximateHistogram, parts: int) -> tuple[NDArray[np.float64], ...]:
    points = histogram.uniform(parts)
    return points, *histogram.bounds(points)
