"""The sum of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators.base import Algebraic, Cast, Merge
from evenkey.aggregators.groups import Reduction, fitting, reduce_groups
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

_DECIMAL_DIGITS = 38
_EXTRA_DIGITS = 10


def sum_type(aggregator: object, column: str, kind: pa.DataType) -> pa.DataType:
    """Return the type of the sum of a column of type `kind`, as in Spark.

    Integers give int64, floating point gives float64, decimal(p, s) gives
    decimal(min(p + 10, 38), s).

    Raises
    ------
    ConfigurationError
        Values of this type cannot be summed.
    """
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_decimal128(kind):
        return pa.decimal128(min(kind.precision + _EXTRA_DIGITS, _DECIMAL_DIGITS), kind.scale)
    message = (
        f"{aggregator}: column {column!r} is of type {kind}; it must be integer, floating "
        "point or decimal (up to 38 digits): cast it"
    )
    raise ConfigurationError(message)


def summed(column: str) -> dict[str, tuple[str, Reduction]]:
    """Return the reductions that compute the sum of a column and the number of its values."""
    return {"sum": (column, "total"), "count": (column, "values")}


def known(merged: pa.Table) -> pa.ChunkedArray:
    """Return the sum of each group; null for a group without values."""
    nothing = pa.scalar(None, merged["sum"].type)
    return pc.if_else(pc.equal(merged["count"], 0), nothing, merged["sum"])


@dataclass(frozen=True)
class Sum(Algebraic):
    """The sum of the values of a column that are not null, like Spark's ``sum``.

    Result: ``sum``, of type int64 for integers, float64 for floating point numbers, and
    decimal(min(p + 10, 38), s) for decimal(p, s); `bind` finds the type. The sum of no values is
    null. Sums of integers and decimals are exact; the last digits of floating point sums depend
    on the order of addition, as in Spark.

    A sum that does not fit its type is null, and the run continues, because no single row is at
    fault (decision 091). Spark in ANSI mode would stop. State: ``sum`` and ``count`` (int64, the
    number of values that are not null). The ``sum`` of integers is a decimal of 38 digits in the
    state, so that the order of addition does not matter.

    Parameters
    ----------
    column
        The column to sum.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": ["a", "b", "a", "c", "c"], "n": [5, None, 7, 1 << 62, 1 << 62]})
    >>> total = Sum("n").bind(messages.schema)
    >>> total.finish(total.partial(messages, by=["key"]), by=["key"]).to_pylist()
    [{'key': 'a', 'sum': 12}, {'key': 'b', 'sum': None}, {'key': 'c', 'sum': None}]
    """

    name: ClassVar[str] = "sum"
    column: str
    type: pa.DataType | None = field(default=None, init=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The summed column."""
        return (self.column,)

    @property
    def state(self) -> pa.Schema:
        """Columns ``sum`` and ``count``; the type of the sum comes from `bind`."""
        kind = self._bound(self.type)
        wide = pa.decimal128(_DECIMAL_DIGITS) if pa.types.is_integer(kind) else kind
        return pa.schema([("sum", wide), ("count", pa.int64())])

    @property
    def result(self) -> pa.Schema:
        """One column, ``sum``; its type comes from `bind`."""
        return pa.schema([("sum", self._bound(self.type))])

    @property
    def merges(self) -> Mapping[str, Merge]:
        """The sum merges by ``exact``, the count by ``sum``."""
        return {"sum": "exact", "count": "sum"}

    @property
    def casts(self) -> Mapping[str, Cast]:
        """The sum, cast to its type; null if it does not fit or if there is no value."""
        return {"sum": Cast("sum", values="count")}

    def bind(self, messages: pa.Schema) -> Self:
        """Take the type of the sum from the messages' schema."""
        super().bind(messages)
        return self._with(type=sum_type(self, self.column, messages.field(self.column).type))

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Sum the column in each group."""
        types = {"sum": self.bind(messages.schema).state.field("sum").type}
        return reduce_groups(messages, by, summed(self.column), types)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Return the sums; a sum is null if there are no values or if it does not fit its type.

        Raises
        ------
        ConfigurationError
            The type of the sums is not known: call `bind` first.
        """
        found = fitting(known(merged), self._bound(self.type))
        return merged.select([*by, "sum"]).set_column(len(by), "sum", found)
