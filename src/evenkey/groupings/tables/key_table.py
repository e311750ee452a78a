"""Open-addressing tables of keys, which kernels fill and which grow between their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 1024


def table_of(items: NDArray[np.void], slots: int = _SMALLEST) -> NDArray[np.void]:
    """Make a table that holds items and has free slots for as many more.

    Parameters
    ----------
    items
        Records with a field ``key`` (uint64, distinct) and a field ``count`` (not 0, which is
        what a free slot has).
    slots
        Length that the table has at least; a power of two.

    Returns
    -------
    NDArray
        Records of the same kind, a power of two long, at most a quarter of them taken.
    """
    from evenkey.groupings import _kernels

    slots = max(slots, _SMALLEST)
    while slots < 4 * len(items):
        slots *= 2
    table = np.zeros(slots, dtype=items.dtype)
    _kernels.insert_all(table, items)
    return table


def check_read(*, sound: bool) -> None:
    """Refuse arrays that were read back, with numbers that kernels must not meet.

    Kernels do not check array bounds.

    Raises
    ------
    RunError
        They are not sound.
    """
    if not sound:
        message = (
            "a routing table of a grouping has numbers out of range: delete the file, and "
            "it is made again"
        )
        raise RunError(message)


def within(values: NDArray[np.signedinteger[Any]], least: int, most: int) -> bool:
    """Say whether no value is below the least or above the most."""
    return bool(((values >= least) & (values <= most)).all())


def items_of(table: NDArray[np.void]) -> NDArray[np.void]:
    """Copy the items out of a table, in the order of its slots."""
    from evenkey.groupings import _kernels

    items: NDArray[np.void] = _kernels.items_of(table)
    return items
