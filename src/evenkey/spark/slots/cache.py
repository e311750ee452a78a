"""Worker cache: partitions that a worker process keeps between epochs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Sized(Protocol):
    """An object that knows its size in memory."""

    @property
    def nbytes(self) -> int:
        """Approximate size, in bytes."""


class CacheKey(NamedTuple):
    """The key of a cached partition.

    The slot is part of the key. So a partition that moves to another slot is loaded again, even if
    both slots happen to be in one process: loading is counted as with W separate workers.
    """

    store: str
    slot: int
    partition: int
    version: Hashable


class WorkerCache:
    """A cache of prepared partitions; if their total size is too large, it drops some at random.

    Every epoch uses all partitions in the same order, so the least recently used partition is
    always the next one that is needed. A cache that drops the least recently used partition would
    never hold the partition that is needed (decision 073).

    Parameters
    ----------
    limit
        Maximum total size in bytes. A single partition that is larger than this limit is not kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: dict[CacheKey, Sized] = {}
        self._bytes = 0
        self._random = random.Random(limit)  # noqa: S311 - a choice, no secret

    @property
    def nbytes(self) -> int:
        """Size of all partitions in the cache, in bytes."""
        return self._bytes

    def get(self, key: CacheKey, load: Callable[[], Any]) -> tuple[Any, bool]:
        """Return a partition, from the cache or by calling `load`, and whether it was loaded."""
        if key in self._held:
            return self._held[key], False
        loaded: Sized = load()
        self.put(key, loaded)
        return loaded, True

    def put(self, key: CacheKey, prepared: Sized) -> None:
        """Keep a partition, if it is not larger than the limit."""
        if key in self._held:
            self._forget(key)
        if prepared.nbytes <= self.limit:
            while self._bytes + prepared.nbytes > self.limit:
                self._forget(self._random.choice(list(self._held)))
            self._held[key] = prepared
            self._bytes += prepared.nbytes

    def drop(self, unwanted: Callable[[CacheKey], bool]) -> None:
        """Drop the partitions that meet a condition, such as the partitions of an old version."""
        for key in [key for key in self._held if unwanted(key)]:
            self._forget(key)

    def _forget(self, key: CacheKey) -> None:
        self._bytes -= self._held.pop(key).nbytes


_PROCESS: list[WorkerCache] = []


def process_cache(limit: int) -> WorkerCache:
    """Return the only cache of this process, and set its limit."""
    if not _PROCESS:
        _PROCESS.append(WorkerCache(limit))
    _PROCESS[0].limit = limit
    return _PROCESS[0]
