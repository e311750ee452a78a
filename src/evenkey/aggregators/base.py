"""What every aggregator is: a commutative monoid over messages, Arrow in and Arrow out."""

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
"""How a state column merges, see `Algebraic.merges`."""


class Cast(NamedTuple):
    """A result column that is a merged state column, cast to the type of the result.

    Parameters
    ----------
    state
        The state column.
    values
        State column that counts the values in it: without any the result is null. None: there is
        none.
    """

    state: str
    values: str | None = None


WORKER = "__worker"
"""Column with the worker of each routed message, for aggregators that need it."""


@dataclasses.dataclass(frozen=True)
class Aggregator(ABC):
    """What workers compute on their messages, and how their partial results become one.

    Workers call `partial` on the messages that they hold, the process that collects the partial
    aggregates calls `merge` on them, any number of times and in any order, and `finish`
    turns the merged state into the result. A key can be split over workers because `merge` is
    associative and commutative (PKG paper, section 3.1).

    An aggregator is a value: frozen, comparable, cheap to pickle. All tables have one row per
    group, and a group exists only if a message belongs to it: no messages, no rows, also
    when `by` is empty and the whole table is one group. Columns of `by` may be of any type
    that Arrow can group by, and structs of these (such as Spark's windows).

    Examples
    --------
    >>> from evenkey.aggregators import Count
    >>> days = [pa.table({"key": ["ann", "bob"]}), pa.table({"key": ["ann"]})]
    >>> partials = pa.concat_tables(Count().partial(day, by=["key"]) for day in days)
    >>> merged = Count().merge(partials, by=["key"])
    >>> Count().finish(merged, by=["key"]).to_pylist()
    [{'key': 'ann', 'count': 2}, {'key': 'bob', 'count': 1}]

    Its schemas list inputs and outputs; `bind` takes types from the messages.

    >>> from evenkey.aggregators import Sum
    >>> total = Sum("amount").bind(pa.schema({"key": pa.string(), "amount": pa.int32()}))
    >>> total.columns, total.state.names, total.result.field("sum").type
    (('amount',), ['sum', 'count'], DataType(int64))
    """

    name: ClassVar[str]
    """How it is spelled on the command line and in configuration."""
    scope: ClassVar[Literal["key", "window"]] = "key"
    """One result for each (window, key), or one for each window over all its keys."""
    rows: ClassVar[Literal["one", "several"]] = "one"
    """How many rows `finish` gives per group. Among several aggregators of one pass the rows of a
    group become one array."""
    column_types: ClassVar[Mapping[str, pa.DataType]] = MappingProxyType({})
    """Types of columns that it takes no others for; `bind` refuses others (units and time zones
    may differ), and the checks of `evenkey.checks` make messages of these types."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def columns(self) -> tuple[str, ...]:
        """Message columns that it reads besides the key."""
        return ()

    @property
    def functions_digest(self) -> str:
        """A digest of users' functions in it, by which a stream notices that they changed."""
        return ""

    @property
    @abstractmethod
    def state(self) -> pa.Schema:
        """Columns of a partial aggregate besides the group's.

        Raises
        ------
        ConfigurationError
            They depend on the messages' types: `bind` first.
        """

    @property
    @abstractmethod
    def result(self) -> pa.Schema:
        """Columns of the result besides the group's; raises as `state` does."""

    def bind(self, messages: pa.Schema) -> Self:
        """Check the messages' schema, and take from it the types that `state` needs.

        `partial` binds by itself; only `state` and `result` need a bound aggregator, where
        types of the messages show in them.

        Parameters
        ----------
        messages
            Schema with ``"key"``, `columns` and any other columns of the messages.

        Returns
        -------
        Aggregator
            This one, or a copy that knows its types.

        Raises
        ------
        ConfigurationError
            A column is missing, of another type than `column_types` says, or of one that cannot
            be aggregated.
        """
        for column in self.columns:
            if column not in messages.names:
                has = columns_listed(messages.names)
                message = f"{self}: the messages have no column {column!r}; they have: {has}"
                raise ConfigurationError(message)
        for column, kind in self.column_types.items():
            if column in messages.names and messages.field(column).type.id != kind.id:
                message = (
                    f"{self}: column {column!r} is of type {messages.field(column).type}; it takes "
                    f"{kind}: cast it"
                )
                raise ConfigurationError(message)
        return self

    @abstractmethod
    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Aggregate messages: the columns `by` and `state`, one row per group.

        Parameters
        ----------
        messages
            One row per message; has the columns `by`, ``"key"`` and `columns`.
        by
            What makes a group: ``("window", "key")``, ``("window",)``, ``("key",)`` or
            ``()``, which is all messages together.
        """

    @abstractmethod
    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge partial aggregates to one row per group; associative and commutative."""

    @abstractmethod
    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Turn merged partial aggregates into the columns `by` and `result`."""

    def __str__(self) -> str:
        """Spell the aggregator with the parameters that differ from their defaults."""
        return spell_changed(self)

    def _with(self, **fields: object) -> Self:
        """Copy, with fields that the constructor does not take."""
        bound = copy.copy(self)
        for name, value in fields.items():
            object.__setattr__(bound, name, value)
        return bound

    def _bound(self, value: pa.DataType | None) -> pa.DataType:
        """Give a type that `bind` found out, or say that it has not run yet."""
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

    An engine can merge such partial aggregates with its own sum, min and max, instead of
    `merge`; it casts the outcome to `state`'s types. Where `result` is other than `state`,
    subclasses override `finish`.

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

        ``"sum"``, ``"min"`` and ``"max"`` skip nulls, and give null if there is nothing else.
        ``"exact"`` is a sum that is null where one of its parts is, or where it does not fit the
        column: a key whose values add up to too much has no sum, and stops nothing.
        """

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge partial aggregates to one row per group, each column as `merges` says.

        Raises
        ------
        RunError
            An integer or decimal column that merges by ``"sum"`` does not fit.
        """
        reductions = {column: (column, how) for column, how in self.merges.items()}
        types = {column: partials.schema.field(column).type for column in reductions}
        return reduce_groups(partials, by, reductions, types)

    @property
    def casts(self) -> Mapping[str, Cast] | None:
        """How an engine makes each result column of a merged one, and may leave out `finish`.

        None where only `finish` can, as in classes that have a `finish` of their own.
        """
        if type(self).finish is not Algebraic.finish:
            return None
        return {column: Cast(column) for column in self.merges}

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Give the merged state back as it is."""
        return merged.select([*by, *self.merges])
