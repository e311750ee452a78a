"""Counts of messages by the value of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators.base import Aggregator
from evenkey.aggregators.groups import check_names, number_groups, reduce_groups

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

_STATE = ("values", "counts")


@dataclass(frozen=True)
class Tally(Aggregator):
    """Counts the messages of a group by the value of a column; the counts are exact.

    State of a group: lists ``values``, ascending, and ``counts`` (int64), with one entry per
    distinct value. So use `Tally` for categories, such as the classes of documents, and not for
    free text or measurements, which have many distinct values. Nulls are not counted.

    Result: a row for each group and value, with ``value`` and ``count`` (int64).

    Parameters
    ----------
    column
        Column whose values are counted, of any type that Arrow can group by.

    Raises
    ------
    ConfigurationError
        From `bind`: there is no such column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": ["a", "a", "b", "a"], "label": ["x", "y", "x", "x"]})
    >>> tally = Tally("label")
    >>> tally.finish(tally.partial(messages, by=["key"]), by=["key"]).to_pylist()
    [{'key': 'a', 'value': 'x', 'count': 2}, {'key': 'a', 'value': 'y', 'count': 1},
     {'key': 'b', 'value': 'x', 'count': 1}]
    """

    name: ClassVar[str] = "tally"
    rows: ClassVar[Literal["one", "several"]] = "several"
    column: str
    value_type: pa.DataType | None = field(default=None, init=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that is tallied."""
        return (self.column,)

    @property
    def state(self) -> pa.Schema:
        """Lists ``values`` and ``counts``; the type of the values comes from `bind`."""
        values = pa.list_(self._bound(self.value_type))
        return pa.schema([("values", values), ("counts", pa.list_(pa.int64()))])

    @property
    def result(self) -> pa.Schema:
        """``value`` and ``count``."""
        return pa.schema([("value", self._bound(self.value_type)), ("count", pa.int64())])

    def bind(self, messages: pa.Schema) -> Self:
        """Take the type of the column from the messages' schema."""
        super().bind(messages)
        return self._with(value_type=messages.field(self.column).type)

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Tally the messages of each group."""
        self.bind(messages.schema)
        check_names(messages, by, ["value", "count", *_STATE])
        numbers, groups = number_groups(messages, by)
        return _tallied(groups, numbers, messages[self.column], np.ones(len(numbers), np.int64))

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Add the tallies of each group."""
        numbers, groups = number_groups(partials, by)
        numbers = np.repeat(numbers, pc.list_value_length(partials["values"]))
        counts = pc.list_flatten(partials["counts"]).to_numpy()
        return _tallied(groups, numbers, pc.list_flatten(partials["values"]), counts)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Return a row for each value of each group."""
        rows = np.repeat(np.arange(merged.num_rows), pc.list_value_length(merged["values"]))
        columns = {column: merged[column].take(rows) for column in by}
        columns["value"] = pc.list_flatten(merged["values"])
        return pa.table({**columns, "count": pc.list_flatten(merged["counts"])})


def _tallied(
    groups: pa.Table,
    numbers: NDArray[np.int64],
    values: pa.ChunkedArray,
    counts: NDArray[np.int64],
) -> pa.Table:
    """Add up the counts of each value in each group, and return one row of lists per group."""
    size = int(numbers.max(initial=-1)) + 1 if not groups.num_columns else groups.num_rows
    entries = pa.table({"group": numbers, "value": values, "count": counts})
    entries = entries.filter(pc.is_valid(entries["value"]))
    added = reduce_groups(entries, ["group", "value"], {"count": ("count", "sum")})
    added = added.sort_by([("group", "ascending"), ("value", "ascending")])
    ends = np.cumsum(np.bincount(added["group"].to_numpy(), minlength=size))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    lists = {
        f"{name}s": pa.ListArray.from_arrays(offsets, added[name].combine_chunks())
        for name in ("value", "count")
    }
    return pa.table({**{name: groups[name] for name in groups.column_names}, **lists})
