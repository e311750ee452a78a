"""Base classes of aggregators, which take and return Arrow tables."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping  # noqa: TC003 - spellings read the hints
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

import pyarrow as pa  # noqa: TC002 - spellings read the hints of an aggregator

from evenkey.aggregators.groups import reduce_groups
from evenkey.core.checking import check_fields, columns_listed
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import spell_changed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

Merge: TypeAlias = Literal["sum", "min", "max", "exact"]
"""How a state column merges; `Algebraic.merges` explains the values."""


class Cast(NamedTuple):
    """How to get a result column: cast a merged state column to the type of the result.

    Parameters
    ----------
    state
        The state column.
    values
        State column with the number of values that `state` was computed from. Where this number
        is 0, the result is null. None: the result does not depend on the number of values.
    """

    state: str
    values: str | None = None


WORKER = "__worker"
"""Column with the worker of each routed message, for aggregators that need it."""


@dataclasses.dataclass(frozen=True)
class Aggregator(ABC):
    """What workers compute on their messages, and how their partial results merge.

    Workers call `partial` on their messages. The process that collects the partial aggregates
    calls `merge` on them, any number of times and in any order. `finish` turns the merged state
    into the result. A key can be split over workers because `merge` is associative and
    commutative (PKG paper, section 3.1).

    Aggregators are immutable, comparable and cheap to pickle. All tables have one row per group.
    A group exists only if a message belongs to it: without messages there are no rows, even when
    `by` is empty and the whole table is one group. Columns of `by` may have any type that Arrow
    can group by, or be structs of such types (such as Spark's windows).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from evenkey.aggregators import Count
    >>> days = [pa.table({"key": ["ann", "bob"]}), pa.table({"key": ["ann"]})]
    >>> partials = pa.concat_tables(Count().partial(day, by=["key"]) for day in days)
    >>> merged = Count().merge(partials, by=["key"])
    >>> Count().finish(merged, by=["key"]).to_pylist()
    [{'key': 'ann', 'count': 2}, {'key': 'bob', 'count': 1}]

    `columns`, `state` and `result` describe inputs and outputs; `bind` takes the types from the
    schema of the messages.

    >>> from evenkey.aggregators import Sum
    >>> total = Sum("amount").bind(pa.schema({"key": pa.string(), "amount": pa.int32()}))
    >>> total.columns, total.state.names, total.result.field("sum").type
    (('amount',), ['sum', 'count'], DataType(int64))
    """

    name: ClassVar[str]
    """Name of the aggregator on the command line and in configurations."""
    scope: ClassVar[Literal["key", "window"]] = "key"
    """``key``: one result for each (window, key). ``window``: one for all keys of a window."""
    rows: ClassVar[Literal["one", "several"]] = "one"
    """Number of rows that `finish` returns per group. When several aggregators are computed in
    one pass, the rows of a group are put into one array."""
    column_types: ClassVar[Mapping[str, pa.DataType]] = MappingProxyType({})
    """Required types, by column; by default there are none. `bind` raises `ConfigurationError` for
    a column of another type; it does not compare units and time zones. The checks of
    `evenkey.checks` generate messages of these types."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the messages that the aggregator reads besides the key."""
        return ()

    @property
    def functions_digest(self) -> str:
        """Digest of the user's functions, by which a stream detects that they changed."""
        return ""

    @property
    @abstractmethod
    def state(self) -> pa.Schema:
        """Columns of a partial aggregate, without the columns of the group.

        Raises
        ------
        ConfigurationError
            The columns depend on the types of the messages: call `bind` first.
        """

    @property
    @abstractmethod
    def result(self) -> pa.Schema:
        """Columns of the result, without the columns of the group; raises as `state` does."""

    def bind(self, messages: pa.Schema) -> Self:
        """Check the messages' schema, and take from it the types that `state` needs.

        `partial` calls `bind` itself. Call `bind` before you read `state` or `result`, if their
        types depend on the types of the messages.

        Parameters
        ----------
        messages
            Schema with ``"key"``, `columns` and any other columns of the messages.

        Returns
        -------
        Aggregator
            This aggregator, or a copy that knows the types.

        Raises
        ------
        ConfigurationError
            A column is missing, does not have its type in `column_types`, or has a type that
            cannot be aggregated.
        """
        for column in self.columns:
            if column not in messages.names:
                has = columns_listed(messages.names)
                message = f"{self}: the messages have no column {column!r}; they have: {has}"
                raise ConfigurationError(message)
        for column, kind in self.column_types.items():
            if column in messages.names and messages.field(column).type.id != kind.id:
                message = (
                    f"{self}: column {column!r} is of type {messages.field(column).type}; it must "
                    f"be {kind}: cast it"
                )
                raise ConfigurationError(message)
        return self

    @abstractmethod
    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Aggregate messages to one row per group, with the columns `by` and `state`.

        Parameters
        ----------
        messages
            One row per message; has the columns `by`, ``"key"`` and `columns`.
        by
            Columns by which messages are grouped: ``("window", "key")``, ``("window",)``,
            ``("key",)``, or ``()`` if all messages are one group.
        """

    @abstractmethod
    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge partial aggregates to one row per group; associative and commutative.

        Parameters
        ----------
        partials
            Table with the columns `by` and `state`, any number of rows per group.
        by
            As for `partial`.
        """

    @abstractmethod
    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Turn merged partial aggregates into the columns `by` and `result`.

        Parameters
        ----------
        merged
            Table with the columns `by` and `state`, one row per group.
        by
            As for `partial`.
        """

    def __str__(self) -> str:
        """Spell the aggregator with the parameters that differ from their defaults."""
        return spell_changed(self)

    def _with(self, **fields: object) -> Self:
        """Return a copy with changed fields, which the constructor need not accept."""
        bound = copy.copy(self)
        for name, value in fields.items():
            object.__setattr__(bound, name, value)
        return bound

    def _bound(self, value: pa.DataType | None) -> pa.DataType:
        """Return a type that `bind` has set; raise `ConfigurationError` if it is not set yet."""
        if value is None:
            message = (
                f"{self}: its columns depend on the types of the messages; call "
                "bind(schema of the messages) first"
            )
            raise ConfigurationError(message)
        return value


@dataclasses.dataclass(frozen=True)
class Algebraic(Aggregator):
    """An aggregator whose state columns merge column by column.

    An engine such as Spark can merge the partial aggregates with its own sum, min and max instead
    of `merge`. The engine then casts the merged columns to the types of `state`. Subclasses whose
    `result` differs from `state` override `finish`.

    Examples
    --------
    >>> from evenkey.aggregators import Mean
    >>> dict(Mean("amount").merges)
    {'sum': 'exact', 'count': 'sum'}

    >>> Mean("amount").casts is None, Mean("amount").finish is not Algebraic.finish
    (True, True)
    """

    @property
    @abstractmethod
    def merges(self) -> Mapping[str, Merge]:
        """How each state column merges.

        ``"sum"``, ``"min"`` and ``"max"`` skip nulls; their result is null if all values are
        null. ``"exact"`` is a sum that does not skip nulls. It is null if one of the added values
        is null, or if the sum does not fit the type of the column. So a key whose sum is too
        large gets null, and the run continues.
        """

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge partial aggregates to one row per group, each column as `merges` says.

        Raises
        ------
        RunError
            The sum of an integer or decimal column that merges by ``"sum"`` does not fit the type
            of the column.
        """
        reductions = {column: (column, how) for column, how in self.merges.items()}
        types = {column: partials.schema.field(column).type for column in reductions}
        return reduce_groups(partials, by, reductions, types)

    @property
    def casts(self) -> Mapping[str, Cast] | None:
        """How to compute each result column from merged state columns, without `finish`.

        None: only `finish` can compute the result. This is the default of subclasses that
        override `finish`.
        """
        if type(self).finish is not Algebraic.finish:
            return None
        return {column: Cast(column) for column in self.merges}

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Return the merged state unchanged."""
        return merged.select([*by, *self.merges])
