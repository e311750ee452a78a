"""The aggregator of a decision tree: histograms by leaf and class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators import Aggregator, Histogram, check_names, number_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL = ("leaf", "label")


@dataclass(frozen=True)
class LeafHistograms(Aggregator):
    """One histogram of ``value`` for each leaf and class in each group.

    If the key is the number of a feature, these are the histograms by (attribute, leaf, class) in
    section 4.1 of the PKG paper.

    State and result of a group: ``histograms``, a list with one cell per (leaf, class), in order
    of leaf and class. A cell has ``leaf`` (int32), ``label`` (string) and the four lists that are
    the state of `evenkey.aggregators.Histogram`. The guarantees of `Histogram` hold for each cell.

    Parameters
    ----------
    bins
        Maximum number of bins of a histogram, at least 2.

    Examples
    --------
    >>> messages = pa.table({"key": ["0", "0"], "leaf": pa.array([1, 1], pa.int32()),
    ...                      "label": ["x", "y"], "value": [0.5, 2.0]})
    >>> LeafHistograms(8).partial(messages, by=["key"])["histograms"].to_pylist()[0][0]
    {'leaf': 1, 'label': 'x', 'positions': [0.5], 'weights': [1.0], 'lows': [0.5], 'highs': [0.5]}
    """

    name: ClassVar[str] = "leaf-histograms"
    bins: int

    @property
    def inner(self) -> Histogram:
        """The aggregator of the values of a cell."""
        return Histogram("value", self.bins, parts=1)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns with the leaf, class and value of a message."""
        return (*_CELL, "value")

    @property
    def state(self) -> pa.Schema:
        """One list of structs, ``histograms``."""
        cell = pa.struct([("leaf", pa.int32()), ("label", pa.string()), *self.inner.state])
        return pa.schema([("histograms", pa.list_(cell))])

    @property
    def result(self) -> pa.Schema:
        """The same column as the state."""
        return self.state

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Add each value to the histogram of its cell."""
        check_names(messages, by, self.state.names)
        return self._nested(self.inner.partial(messages, [*by, *_CELL]), by)

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge the histograms of each cell."""
        return self._nested(self.inner.merge(self.cells(partials, by), [*by, *_CELL]), by)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Return the histograms unchanged."""
        return merged.select([*by, *self.state.names])

    def cells(self, table: pa.Table, by: Sequence[str]) -> pa.Table:
        """Return states or results as one row per cell: `by`, leaf, label and the lists of bins."""
        lists = table["histograms"].combine_chunks()
        parents = pc.list_parent_indices(lists)
        cells = pa.Table.from_struct_array(pc.list_flatten(lists))
        groups = {name: table[name].take(parents) for name in by}
        return pa.table({**groups, **{name: cells[name] for name in cells.column_names}})

    def _nested(self, cells: pa.Table, by: Sequence[str]) -> pa.Table:
        numbers, groups = number_groups(cells, by)
        order = ["group", *_CELL]
        cells = cells.append_column("group", pa.array(numbers))
        cells = cells.sort_by([(name, "ascending") for name in order]).combine_chunks()
        count = int(numbers.max(initial=-1)) + 1
        offsets = np.searchsorted(cells["group"].to_numpy(), np.arange(count + 1))
        cell = self.state.field("histograms").type.value_type
        names = [field.name for field in cell]
        arrays = [_whole(cells[name]) for name in names]
        structs = pa.StructArray.from_arrays(arrays, fields=list(cell))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
        return pa.table({**{name: groups[name] for name in by}, "histograms": lists})


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of a column into one array, even if there are no chunks."""
    return pa.concat_arrays([pa.array([], column.type), *column.chunks])
