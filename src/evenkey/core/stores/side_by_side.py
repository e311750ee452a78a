"""Doing the same with several objects of a store side by side, since it may be far away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Item = TypeVar("Item")
    Result = TypeVar("Result")

_THREADS = 16


def at_once(act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Call a function with each item, and give the results in order; raises what the first did."""
    if len(items) <= 1:
        return [act(item) for item in items]
    with ThreadPoolExecutor(min(_THREADS, len(items))) as pool:
        return list(pool.map(act, items))
