"""Grouped reductions of Arrow tables that `pyarrow.Table.group_by` does not support.

They can group by structs (Spark's windows are structs) and by no column at all. Sums that overflow
become null or raise an error instead of wrapping around.
"""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.checking import columns_listed
from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

Reduction: TypeAlias = Literal["sum", "min", "max", "values", "messages", "total", "exact"]

_OPTIONS: dict[Reduction, tuple[str, pc.FunctionOptions]] = {
    "sum": ("sum", pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)),
    "min": ("min", pc.ScalarAggregateOptions(skip_nulls=True)),
    "max": ("max", pc.ScalarAggregateOptions(skip_nulls=True)),
    "values": ("count", pc.CountOptions(mode="only_valid")),
    "messages": ("count", pc.CountOptions(mode="all")),
    "total": ("sum", pc.ScalarAggregateOptions(skip_nulls=True, min_count=0)),
    "exact": ("sum", pc.ScalarAggregateOptions(skip_nulls=False, min_count=0)),
}
# A sum over fewer than 10^19 rows has at most this many digits more than its values.
_SUM_DIGITS = 19
_DECIMAL_DIGITS = 38
_SUMS = ("sum", "total", "exact")


def reduce_groups(
    table: pa.Table,
    by: Sequence[str],
    reductions: Mapping[str, tuple[str, Reduction]],
    types: Mapping[str, pa.DataType] = MappingProxyType({}),
) -> pa.Table:
    """Reduce each group of a table to one row; the order of the rows is undefined.

    Parameters
    ----------
    table
        Any table.
    by
        Columns whose values make the groups; they may be structs. Without columns, all rows are
        one group.
    reductions
        Maps each result column to (column, reduction). ``"sum"``, ``"min"`` and ``"max"`` skip
        nulls; their result is null if all values are null. ``"values"`` counts the values that
        are not null, ``"messages"`` counts all rows. ``"total"`` is a sum that skips nulls. A
        total is 0 if all values are null, and null if it does not fit its type. ``"exact"`` adds
        up totals; the result is null if one of the totals is null or if the result does not fit
        its type.
    types
        Types to which result columns are cast; by default none is cast. A sum of type float64 is
        also computed in float64.

    Raises
    ------
    ConfigurationError
        A column does not exist, or a result column is named like a column of `by`.
    RunError
        A result of ``"sum"`` does not fit its type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"key": ["a", "b", "a"], "amount": [1, 5, 3]})
    >>> reduce_groups(table, ["key"], {"most": ("amount", "max")}).to_pylist()
    [{'key': 'a', 'most': 3}, {'key': 'b', 'most': 5}]
    """
    check_names(table, [column for column, _ in reductions.values()])
    check_names(table, by, reductions)
    columns = _group_columns(table, by)
    group_names = list(columns)
    wanted = []
    for name, (column, how) in reductions.items():
        columns[f"out {name}"] = table[column]
        if how in _SUMS:
            columns[f"out {name}"] = _summable(table[column], types.get(name))
        wanted.append((f"out {name}", *_OPTIONS[how]))
    reduced = pa.table(columns).group_by(group_names, use_threads=False).aggregate(wanted)
    output = _rebuild(table, by, reduced)
    for name, (_, how) in reductions.items():
        values = reduced[f"out {name}_{_OPTIONS[how][0]}"]
        kind = types.get(name, values.type)
        output[name] = cast_or_raise(values, name, kind) if how == "sum" else fitting(values, kind)
    return pa.table(output)


def number_groups(table: pa.Table, by: Sequence[str]) -> tuple[NDArray[np.int64], pa.Table]:
    """Number the groups of a table; the order of the numbers is undefined.

    Returns
    -------
    int64[rows]
        The number of each row's group.
    Table
        The columns `by` of each group; row i is group i. If `by` is empty, the table has no
        columns.

    Raises
    ------
    ConfigurationError
        A column of `by` does not exist.

    Examples
    --------
    >>> numbers, groups = number_groups(pa.table({"key": ["b", "a", "b"]}), ["key"])
    >>> numbers.tolist(), groups["key"].to_pylist()
    ([0, 1, 0], ['b', 'a'])
    """
    check_names(table, by)
    numbers = np.zeros(table.num_rows, dtype=np.int64)
    if not by:
        return numbers, pa.table({})
    columns = _group_columns(table, by)
    rows = pa.table({**columns, "row": np.arange(table.num_rows)})
    listed = rows.group_by(list(columns), use_threads=False).aggregate([("row", "list")])
    sizes = pc.list_value_length(listed["row_list"]).to_numpy()
    order = pc.list_flatten(listed["row_list"]).to_numpy()
    numbers[order] = np.repeat(np.arange(len(sizes)), sizes)
    return numbers, pa.table(_rebuild(table, by, listed))


def check_names(table: pa.Table, columns: Sequence[str], outputs: Collection[str] = ()) -> None:
    """Raise `ConfigurationError` if a column is missing or has the name of an output column."""
    for column in columns:
        if column not in table.column_names:
            has = columns_listed(table.column_names)
            message = f"there is no column {column!r} to aggregate by or from; there are: {has}"
            raise ConfigurationError(message)
        if column in outputs:
            message = (
                f"by = {list(columns)}: the result has its own column {column!r}; rename yours"
            )
            raise ConfigurationError(message)


def _group_columns(table: pa.Table, by: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    leaves = [leaf for column in by for leaf in _leaves(table[column])]
    if not leaves:
        leaves = [pa.chunked_array([pa.repeat(0, table.num_rows)])]
    return {f"by {number}": leaf for number, leaf in enumerate(leaves)}


def _leaves(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield a column; for a struct, which Arrow cannot group by, its validity and its fields."""
    if not pa.types.is_struct(column.type):
        yield column
        return
    yield pc.is_valid(column)
    for number in range(column.type.num_fields):
        yield from _leaves(pc.struct_field(column, [number]))


def _rebuild(table: pa.Table, by: Sequence[str], reduced: pa.Table) -> dict[str, pa.Array]:
    leaves = (reduced[name] for name in reduced.column_names if name.startswith("by "))
    return {column: _assemble(table.schema.field(column).type, leaves) for column in by}


def _assemble(kind: pa.DataType, leaves: Iterator[pa.ChunkedArray]) -> pa.Array:
    column = next(leaves).combine_chunks()
    if not pa.types.is_struct(kind):
        return column
    fields = [kind.field(number) for number in range(kind.num_fields)]
    children = [_assemble(field.type, leaves) for field in fields]
    return pa.StructArray.from_arrays(children, fields=fields, mask=pc.invert(column))


def _summable(column: pa.ChunkedArray, wanted: pa.DataType | None) -> pa.ChunkedArray:
    """Cast a column to a type in which its sums cannot wrap around."""
    kind = column.type
    if pa.types.is_floating(wanted or kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_integer(kind):
        extremes = pc.min_max(column)
        largest = max(abs(extremes["min"].as_py() or 0), abs(extremes["max"].as_py() or 0))
        if largest * len(column) <= np.iinfo(np.int64).max:
            return column.cast(pa.int64())
        return column.cast(pa.decimal128(_DECIMAL_DIGITS))
    if pa.types.is_decimal(kind):
        digits = kind.precision + _SUM_DIGITS
        wider = pa.decimal128 if digits <= _DECIMAL_DIGITS else pa.decimal256
        return column.cast(wider(digits, kind.scale))
    return column


def fitting(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast values to a type; a value that does not fit becomes null."""
    if values.type == kind or not pa.types.is_decimal(values.type):
        return values.cast(kind)
    for limit, beyond in zip(_limits(values.type, kind), (pc.less, pc.greater), strict=False):
        outside = beyond(values, pa.scalar(limit, values.type))
        values = pc.if_else(outside, pa.scalar(None, values.type), values)
    return values.cast(kind)


def _limits(wide: pa.DataType, kind: pa.DataType) -> tuple[Decimal, ...]:
    """Return the least and greatest value of `kind`; nothing if type `wide` cannot exceed them."""
    if pa.types.is_integer(kind):
        return Decimal(np.iinfo(np.int64).min), Decimal(np.iinfo(np.int64).max)
    if pa.types.is_decimal(kind):
        whole, places = kind.precision - kind.scale, min(kind.scale, wide.scale)
        if whole < wide.precision - wide.scale:
            digits = (9,) * (whole + places)
            return Decimal((1, digits, -places)), Decimal((0, digits, -places))
    return ()


def cast_or_raise(values: pa.ChunkedArray, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast the values of a result column; raise `RunError` if a value does not fit the type."""
    if values.type == kind:
        return values
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        message = (
            f"column {name!r}: a value does not fit {kind} ({error}); cast the messages' "
            "column to a wider type, such as double"
        )
        raise RunError(message) from None
