"""The sum of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import pyarrow as pa

from evenkey.aggregators.base import Algebraic
from evenkey.aggregators.groups import reduce_groups
from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

__all__ = ["Sum"]

_DECIMAL_DIGITS = 38
_EXTRA_DIGITS = 10


def sum_type(aggregator: object, column: str, kind: pa.DataType) -> pa.DataType:
    """Type of the sum of values of a type, as Spark has it.

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


@dataclass(frozen=True)
class Sum(Algebraic):
    """The sum of a column, nulls left out, as Spark's ``sum``.

    State and result are one column, ``sum``: int64 for integers, float64 for floating
    point, decimal(min(p + 10, 38), s) for decimal(p, s); `bind` finds the type. The sum of
    no values is null. Exact for integers and decimals; floating point sums depend on the
    order of addition in their last digits, as they do in Spark.

    Parameters
    ----------
    column
        The column to sum.

    Raises
    ------
    RunError
        From `partial` and `merge`: an integer or decimal sum does not fit its type (Spark
        in its ANSI mode raises too).

    Examples
    --------
    >>> messages = pa.table({"key": ["a", "b", "a"], "amount": [5, None, 7]})
    >>> Sum("amount").partial(messages, by=["key"]).to_pylist()
    [{'key': 'a', 'sum': 12}, {'key': 'b', 'sum': None}]
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
        """One column, ``sum``; its type comes from `bind`."""
        return pa.schema([("sum", self._bound(self.type))])

    @property
    def result(self) -> pa.Schema:
        """One column, ``sum``; its type comes from `bind`."""
        return self.state

    @property
    def merges(self) -> Mapping[str, Literal["sum", "min", "max"]]:
        """Sums add up."""
        return {"sum": "sum"}

    def bind(self, messages: pa.Schema) -> Self:
        """Take the type of the sum from the messages' schema."""
        super().bind(messages)
        return self._with(type=sum_type(self, self.column, messages.field(self.column).type))

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Sum the column in each group."""
        types = {"sum": self.bind(messages.schema).type}
        return reduce_groups(messages, by, {"sum": (self.column, "sum")}, types)
