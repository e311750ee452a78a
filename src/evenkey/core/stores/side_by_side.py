"""Process several objects of a store concurrently, because each access may be slow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Item = TypeVar("Item")
    Result = TypeVar("Result")

_THREADS = 16


def at_once(act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply a function to items in threads; return results in order or raise the first error."""
    if len(items) <= 1:
        return [act(item) for item in items]
    with ThreadPoolExecutor(min(_THREADS, len(items))) as pool:
        return list(pool.map(act, items))
