"""The number of workers of keyed state, which may change between epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenkey.core.errors import RunError
from evenkey.spark.slots import explained, find

if TYPE_CHECKING:
    from evenkey.core.stores import Store

Scale: TypeAlias = Callable[[NDArray[np.float64]], int]
"""Function that takes the seconds of work of each worker in the last epoch, and returns the number
of workers of the next epoch."""

COMMAND = "workers"
"""Object in a state with the number of workers, as text."""


def asked_workers(
    root: Store, otherwise: int, most: int, scale: Scale | None, seconds: NDArray[np.float64] | None
) -> int:
    """Return the number of workers of the next epoch, from 1 to `most`.

    Parameters
    ----------
    root
        Store of the state. If it has the object `COMMAND`, the number in it is returned.
    otherwise
        The number if nothing asks for another one.
    most
        Number of slots that exist.
    scale
        The user's rule; None: there is none.
    seconds
        float64[W], seconds of work of each worker in the last epoch; None: there was no epoch.

    Raises
    ------
    RunError
        The object is not a number, or the rule raises an error or returns no number.
    """
    content = find(root, COMMAND)
    if content is not None:
        text = content.decode("utf-8", "replace").strip()
        if not text.isdecimal():
            message = (
                f"{root.path(COMMAND)} contains {text[:40]!r}: it must contain the number of "
                "workers, such as 12; write it again, or delete it"
            )
            raise RunError(message)
        return min(max(int(text), 1), most)
    if scale is None or seconds is None:
        return min(otherwise, most)
    with explained("scale"):
        count = int(scale(seconds))
    return min(max(count, 1), most)
