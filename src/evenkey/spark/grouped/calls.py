"""What runs in workers around users' functions; it travels by value, and needs no evenkey there.

Functions see the key and the rows as Spark's own groupBy shows them. Nothing of another module of
evenkey's may be used here.
"""

from __future__ import annotations

import itertools
import numbers
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Function = Callable[..., Any]


def without(rows: Any, own: Sequence[str], *, arrow: bool) -> Any:
    """Take our columns away from rows: a pandas DataFrame, or an Arrow table or batch."""
    if arrow:
        return rows.drop_columns(list(own))
    for name in own:
        # In place, so that nothing is copied: Spark made the frame for this call.
        del rows[name]
    return rows


def on_group(
    function: Function, own: Sequence[str], keys: int, *, takes_key: bool, arrow: bool
) -> Function:
    """Wrap a function on the rows of a group, for groups by so many keys and columns of ours.

    Parameters
    ----------
    function
        The user's.
    own
        Columns that are not the user's.
    keys
        How many columns the user's key has.
    takes_key
        Whether the function takes the key first.
    arrow
        Whether rows are Arrow's, not pandas' own.
    """

    def call(key: Any, rows: Any) -> Any:
        rows = without(rows, own, arrow=arrow)
        return function(key[:keys], rows) if takes_key else function(rows)

    return call


def on_pieces(
    function: Function, own: Sequence[str], keys: int, *, takes_key: bool, arrow: bool
) -> Function:
    """Wrap a function that takes the rows of a group piece by piece, and gives results so."""

    def call(key: Any, rows: Any) -> Any:
        pieces = (without(each, own, arrow=arrow) for each in rows)
        return function(key[:keys], pieces) if takes_key else function(pieces)

    return call


def on_cogroup(
    function: Function, own: Sequence[Sequence[str]], keys: int, *, takes_key: bool, arrow: bool
) -> Function:
    """Wrap a function on the groups that two sides have of a key."""

    def call(key: Any, left: Any, right: Any) -> Any:
        left, right = (
            without(rows, names, arrow=arrow)
            for rows, names in zip((left, right), own, strict=True)
        )
        return function(key[:keys], left, right) if takes_key else function(left, right)

    return call


def on_part(
    function: Function, own: Sequence[str], keys: int, spell: Function, *, takes_key: bool
) -> Function:
    """Wrap a function on a part of a group: its results bear the key as texts, to be merged by.

    Parameters
    ----------
    function
        The user's, on pandas.
    own, keys, takes_key
        As for `on_group`; the columns that `spell` reads are among `own`.
    spell
        Gives the texts of a key, see `speller`.
    """

    def call(key: Any, rows: Any) -> Any:
        spelled = spell(key, rows)
        rows = without(rows, own, arrow=False)
        return bearing(function(key[:keys], rows) if takes_key else function(rows), spelled)

    return call


def on_part_pieces(
    function: Function, own: Sequence[str], keys: int, spell: Function, *, takes_key: bool
) -> Function:
    """Do as `on_part` does for a function that takes the rows piece by piece."""

    def call(key: Any, rows: Any) -> Any:
        given = iter(rows)
        first = next(given)
        spelled = spell(key, first)

        def pieces() -> Iterator[Any]:
            for each in itertools.chain((first,), given):
                yield without(each, own, arrow=False)

        results = function(key[:keys], pieces()) if takes_key else function(pieces())
        for each in results:
            yield bearing(each, spelled)

    return call


def speller(texts: Sequence[str], positions: Mapping[str, int]) -> Function:
    """Give what spells the key of a group, by its key and rows, in texts by name.

    Parameters
    ----------
    texts
        Columns of the rows that spell it.
    positions
        Further texts: where in the key the value is, a string or a whole number.
    """

    def spell(key: Sequence[Any], rows: Any) -> dict[str, str | None]:
        """None where there is no value, whatever pandas makes of it."""
        values = {name: rows[name].iloc[0] for name in texts}
        values.update((name, key[position]) for name, position in positions.items())
        there = (str, numbers.Integral)
        return {name: str(v) if isinstance(v, there) else None for name, v in values.items()}

    return spell


def bearing(result: Any, spelled: dict[str, Any]) -> Any:
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
