"""Several aggregators in one pass, each under a name that the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.aggregators.base import Aggregator, Algebraic, Cast, Merge
from evenkey.aggregators.groups import check_names, number_groups
from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

_GROUP = "__group"


@dataclass(frozen=True)
class Several(Aggregator):
    """Several aggregators over the same messages, with one result column each.

    Result: a column for each aggregator, under the name that the user gives. If the result of an
    aggregator has several columns, as a fold's result can, its column is a struct. If it has
    several rows per group, as a tally's result does, its column is an array. State: the state
    columns of all aggregators. Each result is as exact as its aggregator. The groups are computed
    once for all aggregators.

    Parameters
    ----------
    members
        One pair per aggregator: the name of its result, and the aggregator.

    Examples
    --------
    >>> from evenkey.aggregators import parse
    >>> both = parse("orders=count,revenue=sum(column=amount)")
    >>> messages = pa.table({"key": ["a", "b", "a"], "amount": [5, None, 7]})
    >>> bound = both.bind(messages.schema)
    >>> bound.finish(bound.partial(messages, by=["key"]), by=["key"]).to_pylist()
    [{'key': 'a', 'orders': 2, 'revenue': 12}, {'key': 'b', 'orders': 1, 'revenue': None}]
    """

    name: ClassVar[str] = "several"
    members: tuple[tuple[str, Aggregator], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that any of the aggregators reads."""
        return tuple(dict.fromkeys(name for each in self._each for name in each.columns))

    @property
    def functions_digest(self) -> str:
        """Digests of the users' functions in the aggregators, each after its result's name."""
        digests = ((name, each.functions_digest) for name, each in self.members)
        return ",".join(f"{name}={digest}" for name, digest in digests if digest)

    @property
    def state(self) -> pa.Schema:
        """State columns of all aggregators; their names contain the number of the aggregator."""
        return pa.schema(
            [
                field.with_name(_state_name(number, field.name))
                for number, each in enumerate(self._each)
                for field in each.state
            ]
        )

    @property
    def result(self) -> pa.Schema:
        """One column for each aggregator."""
        return pa.schema([(name, _type(each)) for name, each in self.members])

    def bind(self, messages: pa.Schema) -> Self:
        """Bind each aggregator to the messages' schema."""
        super().bind(messages)
        return self._with(members=tuple((name, each.bind(messages)) for name, each in self.members))

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Aggregate the messages of each group with each aggregator."""
        return self._states(messages, by, lambda _, each, rows: each.partial(rows, [_GROUP]))

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge the states of each aggregator."""

        def merged(number: int, each: Aggregator, rows: pa.Table) -> pa.Table:
            return each.merge(_own(rows, number, each), [_GROUP])

        return self._states(partials, by, merged)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Compute the result column of each aggregator.

        Raises
        ------
        RunError
            An aggregator with ``rows = "one"`` did not return exactly one row per group.
        """
        check_names(merged, by, self.result.names)
        rows = merged.append_column(_GROUP, [np.arange(merged.num_rows)])
        columns = {name: merged[name] for name in by}
        for number, (name, each) in enumerate(self.members):
            finished = each.finish(_own(rows, number, each), [_GROUP])
            columns[name] = _result(name, each, finished, merged.num_rows)
        return pa.table(columns)

    def __str__(self) -> str:
        """Spell all aggregators: ``orders=count,revenue=sum(column=amount)``."""
        return ",".join(f"{name}={each}" for name, each in self.members)

    @property
    def _each(self) -> list[Aggregator]:
        return [each for _, each in self.members]

    def _states(
        self,
        rows: pa.Table,
        by: Sequence[str],
        work: Callable[[int, Aggregator, pa.Table], pa.Table],
    ) -> pa.Table:
        """Call `work` for each aggregator, and return the states of all groups as one table."""
        numbers, groups = number_groups(rows, by)
        numbered = rows.append_column(_GROUP, [numbers])
        columns = {name: groups[name] for name in groups.column_names}
        for number, each in enumerate(self._each):
            states = work(number, each, numbered)
            states = states.take(_order(states))
            for name in each.state.names:
                columns[_state_name(number, name)] = states[name]
        return pa.table(columns)


@dataclass(frozen=True)
class SeveralAlgebraic(Several, Algebraic):
    """Several aggregators that all merge column by column, so an engine can merge them."""

    @property
    def merges(self) -> Mapping[str, Merge]:
        """How the state columns of all aggregators merge."""
        return {
            _state_name(number, name): how
            for number, each in enumerate(self._algebraic)
            for name, how in each.merges.items()
        }

    @property
    def casts(self) -> Mapping[str, Cast] | None:
        """Casts of all aggregators; None if any needs `finish` or has several result columns."""
        casts: dict[str, Cast] = {}
        for number, (name, each) in enumerate(zip(self.result.names, self._algebraic, strict=True)):
            of_each = each.casts
            if of_each is None or len(of_each) != 1:
                return None
            ((state, values),) = of_each.values()
            counted = None if values is None else _state_name(number, values)
            casts[name] = Cast(_state_name(number, state), counted)
        return casts

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge all columns in one pass."""
        return Algebraic.merge(self, partials, by)

    @property
    def _algebraic(self) -> list[Algebraic]:
        return [each for each in self._each if isinstance(each, Algebraic)]


def _state_name(number: int, name: str) -> str:
    return f"state_{number}_{name}"


def _own(rows: pa.Table, number: int, each: Aggregator) -> pa.Table:
    """Return the states of one aggregator, under its own column names, and the group."""
    names = each.state.names
    columns = [rows[_state_name(number, name)] for name in names]
    return pa.Table.from_arrays([rows[_GROUP], *columns], names=[_GROUP, *names])


def _order(rows: pa.Table) -> NDArray[np.intp]:
    """Return the order that sorts rows by group and keeps the order within each group."""
    return np.argsort(rows[_GROUP].to_numpy(), kind="stable")


def _type(each: Aggregator) -> pa.DataType:
    fields = list(each.result)
    if each.rows == "several":
        return pa.list_(pa.struct(fields))
    return fields[0].type if len(fields) == 1 else pa.struct(fields)


def _result(name: str, each: Aggregator, finished: pa.Table, groups: int) -> pa.Array:
    """Convert the results of an aggregator to one column."""
    finished = finished.take(_order(finished))
    group = finished[_GROUP].to_numpy()
    fields = list(each.result)
    columns = [finished[field.name].combine_chunks() for field in fields]
    if each.rows == "several":
        ends = np.cumsum(np.bincount(group, minlength=groups))
        offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=fields))
    if not np.array_equal(group, np.arange(groups)):
        message = (
            f"{name} = {each}: it returned {len(group)} rows for {groups} groups; set "
            'rows = "several" in its class, so that the rows of a group become an array'
        )
        raise RunError(message)
    if len(fields) == 1:
        return columns[0]
    return pa.StructArray.from_arrays(columns, fields=fields)
