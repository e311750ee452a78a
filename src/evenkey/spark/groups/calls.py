"""What runs in workers around users' functions; it travels by value, and needs no evenkey there.

Functions see the key and the rows as Spark's own groupBy shows them. Nothing of another module of
evenkey's may be used here.
"""

from __future__ import annotations

import itertools
import numbers
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Function = Callable[..., Any]


def shower(own: Sequence[str], names: Sequence[str], *, arrow: bool) -> Function:
    """Make what gives rows the form in which the user has them.

    Parameters
    ----------
    own
        Columns that are not the user's, which it takes away.
    names
        Names of the user's columns, if rows have other ones; empty if they have these.
    arrow
        Whether rows are an Arrow table or batch; otherwise they are a pandas DataFrame.
    """

    def show(rows: Any) -> Any:
        if arrow:
            rows = rows.drop_columns(list(own))
            return rows.rename_columns(list(names)) if names else rows
        for name in own:
            # In place, so that nothing is copied: Spark made the frame for this call.
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
        The user's.
    show
        See `shower`.
    keys
        How many columns the user's key has; the group may go by more.
    takes_key
        Whether the function takes the key first.
    """

    def call(key: Any, rows: Any) -> Any:
        rows = show(rows)
        return function(key[:keys], rows) if takes_key else function(rows)

    return call


def on_pieces(function: Function, show: Function, keys: int, *, takes_key: bool) -> Function:
    """Wrap a function that takes the rows of a group piece by piece, and gives results so."""

    def call(key: Any, rows: Any) -> Any:
        pieces = (show(each) for each in rows)
        return function(key[:keys], pieces) if takes_key else function(pieces)

    return call


def on_cogroup(
    function: Function, shows: Sequence[Function], keys: int, *, takes_key: bool
) -> Function:
    """Wrap a function on the groups that two sides have of a key."""

    def call(key: Any, left: Any, right: Any) -> Any:
        left, right = (show(rows) for show, rows in zip(shows, (left, right), strict=True))
        return function(key[:keys], left, right) if takes_key else function(left, right)

    return call


def on_part(
    function: Function, show: Function, keys: int, spell: Function, *, takes_key: bool
) -> Function:
    """Wrap a function on a part of a group: its results carry the key as texts, to be merged by.

    Parameters
    ----------
    function, show, keys, takes_key
        As for `on_group`; `show` takes away the columns that `spell` reads.
    spell
        Adds the texts of a key to a result, see `speller`.
    """

    def call(key: Any, rows: Any) -> Any:
        add = spell(key, rows)
        rows = show(rows)
        return add(function(key[:keys], rows) if takes_key else function(rows))

    return call


def on_part_pieces(
    function: Function, show: Function, keys: int, spell: Function, *, takes_key: bool
) -> Function:
    """Do as `on_part` does for a function that takes the rows piece by piece."""

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
    """Make what reads the key of a group as texts, and gives what adds them to a result.

    Parameters
    ----------
    texts
        Columns of the rows that spell it.
    positions
        Further texts: where in the key the value is, a string or a whole number.
    arrow
        Whether rows, key and results are Arrow's.
    large
        Whether Spark takes Arrow's texts with offsets of 64 bits.
    """

    def spell(key: Sequence[Any], rows: Any) -> Function:
        """None where there is no value, whatever pandas makes of it."""
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
    """Add columns of one value each behind those of a function's result; Spark checks the rest."""
    if not hasattr(result, "columns") or not len(result.columns):
        return result
    result = result.copy(deep=False)
    if not any(isinstance(name, str) for name in result.columns):
        result.columns = range(len(result.columns))  # Spark goes by positions
        for value in spelled.values():
            result[len(result.columns)] = value
        return result
    for name, value in spelled.items():
        result[name] = value
    return result


def with_texts_in_arrow(result: Any, spelled: Mapping[str, str | None], *, large: bool) -> Any:
    """Do as `with_texts` does for an Arrow table or batch."""
    import pyarrow as pa

    if not isinstance(result, pa.Table | pa.RecordBatch) or not result.num_columns:
        return result
    kind = pa.large_string() if large else pa.string()
    for name, value in spelled.items():
        column = pa.repeat(pa.scalar(value, kind), result.num_rows)
        result = result.append_column(pa.field(name, kind), column)
    return result
