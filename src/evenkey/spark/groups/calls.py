"""Wrappers around users' functions that run in workers, also in workers without evenkey.

The wrappers pass the key and the rows to a function as Spark's own groupBy does. This module is
pickled by value, so it must not use other modules of evenkey.
"""

from __future__ import annotations

import itertools
import numbers
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Function = Callable[..., Any]


def shower(own: Sequence[str], names: Sequence[str], *, arrow: bool) -> Function:
    """Return a function that drops evenkey's columns from rows and restores the user's names.

    Parameters
    ----------
    own
        Columns that evenkey added, which the function drops.
    names
        Names of the user's columns, if evenkey renamed these columns; empty if not.
    arrow
        Whether rows are an Arrow table or batch; otherwise they are a pandas DataFrame.
    """

    def show(rows: Any) -> Any:
        if arrow:
            rows = rows.drop_columns(list(own))
            return rows.rename_columns(list(names)) if names else rows
        for name in own:
            # Delete in place, without a copy: Spark made the DataFrame for this call only.
            del rows[name]
        if names:
            rows.columns = list(names)
        return rows

    return show


def on_group(function: Function, show: Function, keys: int, *, takes_key: bool) -> Function:
    """Wrap a function on the rows of a group.

    Parameters
    ----------
    function
        The user's function.
    show
        Function that restores the user's columns, see `shower`.
    keys
        Number of columns of the user's key; rows may be grouped by more columns.
    takes_key
        Whether the first argument of the function is the key.
    """

    def call(key: Any, rows: Any) -> Any:
        rows = show(rows)
        return function(key[:keys], rows) if takes_key else function(rows)

    return call


def on_pieces(function: Function, show: Function, keys: int, *, takes_key: bool) -> Function:
    """Wrap a function that takes an iterator over pieces of a group, and returns an iterator."""

    def call(key: Any, rows: Any) -> Any:
        pieces = (show(each) for each in rows)
        return function(key[:keys], pieces) if takes_key else function(pieces)

    return call


def on_cogroup(
    function: Function, shows: Sequence[Function], keys: int, *, takes_key: bool
) -> Function:
    """Wrap a function on the two groups of a cogroup, the rows that each side has of a key."""

    def call(key: Any, left: Any, right: Any) -> Any:
        left, right = (show(rows) for show, rows in zip(shows, (left, right), strict=True))
        return function(key[:keys], left, right) if takes_key else function(left, right)

    return call


def on_part(
    function: Function, show: Function, keys: int, spell: Function, *, takes_key: bool
) -> Function:
    """Wrap a function on a part of a group; the wrapper adds the key, as texts, to the results.

    The results of the parts of a key are merged by these texts.

    Parameters
    ----------
    function, show, keys, takes_key
        As for `on_group`; `show` also drops the columns that `spell` reads.
    spell
        Function that makes the texts of a key and adds them to results, see `speller`.
    """

    def call(key: Any, rows: Any) -> Any:
        add = spell(key, rows)
        rows = show(rows)
        return add(function(key[:keys], rows) if takes_key else function(rows))

    return call


def on_part_pieces(
    function: Function, show: Function, keys: int, spell: Function, *, takes_key: bool
) -> Function:
    """Wrap a function that takes an iterator over pieces of the rows; otherwise as `on_part`."""

    def call(key: Any, rows: Any) -> Any:
        given = iter(rows)
        first = next(given)
        add = spell(key, first)
        pieces = (show(each) for each in itertools.chain((first,), given))
        yield from map(add, function(key[:keys], pieces) if takes_key else function(pieces))

    return call


def speller(
    texts: Sequence[str], positions: Mapping[str, int], *, arrow: bool, large: bool = False
) -> Function:
    """Return a function that converts the key of a group to texts.

    That function returns another function, which adds the texts to results of the user's function.

    Parameters
    ----------
    texts
        Columns of the rows that hold values of the key as text.
    positions
        Further columns of text to add, each with the position of its value in the key. These values
        are strings or whole numbers.
    arrow
        Whether rows, key and results are Arrow objects; otherwise pandas.
    large
        Whether Spark uses Arrow strings with 64-bit offsets.
    """

    def spell(key: Sequence[Any], rows: Any) -> Function:
        """Convert values to texts, and nulls to None; pandas represents null in several ways."""
        values: dict[str, Any]
        if arrow:
            values = {name: rows[name][0].as_py() for name in texts}
            values.update((name, key[position].as_py()) for name, position in positions.items())
        else:
            values = {name: rows[name].iloc[0] for name in texts}
            values.update((name, key[position]) for name, position in positions.items())
        there = (str, numbers.Integral)
        spelled = {name: str(v) if isinstance(v, there) else None for name, v in values.items()}

        def add(result: Any) -> Any:
            if arrow:
                return with_texts_in_arrow(result, spelled, large=large)
            return with_texts(result, spelled)

        return add

    return spell


def with_texts(result: Any, spelled: Mapping[str, str | None]) -> Any:
    """Append a column per text to a function's result, with the same text in all rows.

    Spark itself checks the other columns of the result.
    """
    if not hasattr(result, "columns") or not len(result.columns):
        return result
    result = result.copy(deep=False)
    if not any(isinstance(name, str) for name in result.columns):
        result.columns = range(len(result.columns))  # Spark matches such columns by position
        for value in spelled.values():
            result[len(result.columns)] = value
        return result
    for name, value in spelled.items():
        result[name] = value
    return result


def with_texts_in_arrow(result: Any, spelled: Mapping[str, str | None], *, large: bool) -> Any:
    """Append columns as `with_texts` does, to an Arrow table or batch."""
    import pyarrow as pa

    if not isinstance(result, pa.Table | pa.RecordBatch) or not result.num_columns:
        return result
    kind = pa.large_string() if large else pa.string()
    for name, value in spelled.items():
        column = pa.repeat(pa.scalar(value, kind), result.num_rows)
        result = result.append_column(pa.field(name, kind), column)
    return result
