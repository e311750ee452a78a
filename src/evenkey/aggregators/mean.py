"""The mean of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators.base import Algebraic, Merge
from evenkey.aggregators.groups import fitting, reduce_groups
from evenkey.aggregators.sum import known, sum_type, summed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

_DECIMAL_DIGITS = 38
# As in Spark, the mean of decimal(p, s) has precision p + 4 and scale s + 4; the sum in the state
# has precision p + 10.
_RESULT_DIGITS = 4
_STATE_DIGITS = 10
_LONG_DIGITS = 19


@dataclass(frozen=True)
class Mean(Algebraic):
    """The mean of the values of a column that are not null, like Spark's ``avg``.

    State: ``sum`` and ``count`` (int64, the number of values that are not null). Result: ``mean``,
    null if there are no values. As in Spark, integers and floating point numbers are summed and
    divided as float64, so sums of integers are exact up to 2**53 and never overflow. Values of
    decimal(p, s) are summed as decimal(min(p + 10, 38), s); their mean has four more decimal
    places and is rounded half up. If the sum or the mean of decimals does not fit its type, the
    mean is null (decision 091).

    Parameters
    ----------
    column
        The column to average.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": ["a", "b", "a"], "amount": [5, None, 8]})
    >>> mean = Mean("amount")
    >>> partial = mean.partial(messages, by=["key"])
    >>> partial.to_pylist()
    [{'key': 'a', 'sum': 13.0, 'count': 2}, {'key': 'b', 'sum': 0.0, 'count': 0}]
    >>> mean.finish(partial, by=["key"]).to_pylist()
    [{'key': 'a', 'mean': 6.5}, {'key': 'b', 'mean': None}]
    """

    name: ClassVar[str] = "mean"
    column: str
    type: pa.DataType | None = field(default=None, init=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The averaged column."""
        return (self.column,)

    @property
    def state(self) -> pa.Schema:
        """Columns ``sum`` and ``count``; the type of the sum comes from `bind`."""
        return pa.schema([("sum", self._bound(self.type)), ("count", pa.int64())])

    @property
    def result(self) -> pa.Schema:
        """One column, ``mean``; its type comes from `bind`."""
        return pa.schema([("mean", _mean_type(self._bound(self.type)))])

    @property
    def merges(self) -> Mapping[str, Merge]:
        """The sum merges by ``exact``, the count by ``sum``."""
        return {"sum": "exact", "count": "sum"}

    def bind(self, messages: pa.Schema) -> Self:
        """Take the types of sum and mean from the messages' schema."""
        super().bind(messages)
        kind = sum_type(self, self.column, messages.field(self.column).type)
        return self._with(type=pa.float64() if pa.types.is_integer(kind) else kind)

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Sum and count the values of each group."""
        types = {"sum": self.bind(messages.schema).state.field("sum").type}
        return reduce_groups(messages, by, summed(self.column), types)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Divide sums by counts; rows stay in order."""
        means = _divide(known(merged), merged["count"])
        means = fitting(means, _mean_type(merged["sum"].type))
        return merged.select([*by, "sum"]).set_column(len(by), "mean", means)


def _mean_type(summed: pa.DataType) -> pa.DataType:
    if not pa.types.is_decimal(summed):
        return pa.float64()
    digits = summed.precision - _STATE_DIGITS + _RESULT_DIGITS
    if summed.precision == _DECIMAL_DIGITS:
        digits = _DECIMAL_DIGITS
    return pa.decimal128(digits, min(summed.scale + _RESULT_DIGITS, _DECIMAL_DIGITS))


def _divide(sums: pa.ChunkedArray, counts: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_decimal(sums.type):
        return pc.divide(sums, counts.cast(pa.float64()))
    # Arrow computes 20 more decimal places of the quotient and truncates the rest. Rounding half
    # up depends only on the first digit after the kept places, and truncating does not change
    # that digit. So the result is that of rounding the exact quotient.
    wide = sums.cast(pa.decimal256(sums.type.precision, sums.type.scale))
    counts = pc.if_else(pc.equal(counts, 0), None, counts).cast(pa.decimal256(_LONG_DIGITS))
    places = _mean_type(sums.type).scale
    return pc.round(pc.divide(wide, counts), ndigits=places, round_mode="half_towards_infinity")
