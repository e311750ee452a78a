"""Open-addressing hash tables of keys; kernels fill them, and they grow between kernel calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 1024


def table_of(items: NDArray[np.void], slots: int = _SMALLEST) -> NDArray[np.void]:
    """Make a hash table that holds the items and has free slots for at least as many more items.

    Parameters
    ----------
    items
        Records with a field ``key`` (uint64, distinct) and a field ``count`` (not 0, since 0 marks
        a free slot).
    slots
        Least number of slots, a power of two.

    Returns
    -------
    NDArray
        Records of the same dtype. Their number is a power of two, and at most a quarter of them
        hold items.
    """
    from evenkey.groupings import _kernels

    slots = max(slots, _SMALLEST)
    while slots < 4 * len(items):
        slots *= 2
    table = np.zeros(slots, dtype=items.dtype)
    _kernels.insert_all(table, items)
    return table


def check_read(*, sound: bool) -> None:
    """Raise an error if `sound` is False: numbers in arrays from storage are out of range.

    Kernels do not check array bounds, so they must never get numbers that are out of range.

    Raises
    ------
    RunError
        `sound` is False.
    """
    if not sound:
        message = (
            "a routing table has numbers out of range: delete the newest table-*.npz in the state "
            "of the query or the output of the run, and it is made again"
        )
        raise RunError(message)


def within(values: NDArray[np.signedinteger[Any]], least: int, most: int) -> bool:
    """Return whether all values are from `least` to `most`."""
    return bool(((values >= least) & (values <= most)).all())


def items_of(table: NDArray[np.void]) -> NDArray[np.void]:
    """Copy the items out of a table, in the order of its slots."""
    from evenkey.groupings import _kernels

    items: NDArray[np.void] = _kernels.items_of(table)
    return items
