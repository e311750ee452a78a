"""Worker cache: static partitions that a worker process keeps between epochs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkey.joins.static.manifest import StaticVersion


class Sized(Protocol):
    """Something that knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """Bytes, about."""


class CacheKey(NamedTuple):
    """What a cached partition is known by.

    The slot is part of it: a partition that moves to another slot is loaded there, even if
    both slots happen to live in one process, so that loads are counted as W workers of
    their own would need them.
    """

    store: str
    slot: int
    partition: int
    version: StaticVersion


class WorkerCache:
    """Prepared partitions; where they get too many, some are dropped at random.

    Epochs use all partitions in the same order, so the one that was not used for longest is always
    the one that is needed next: a cache that drops that one holds nothing of use (decision 073).

    Parameters
    ----------
    limit
        Bytes that it may hold. One that is larger by itself is not kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: dict[CacheKey, Sized] = {}
        self._bytes = 0
        self._random = random.Random(limit)  # noqa: S311 - a choice, no secret

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return self._bytes

    def get(self, key: CacheKey, load: Callable[[], Any]) -> tuple[Any, bool]:
        """Give a partition, loading it where it is not held, and say whether it was loaded."""
        if key in self._held:
            return self._held[key], False
        loaded: Sized = load()
        if loaded.nbytes <= self.limit:
            while self._bytes + loaded.nbytes > self.limit:
                self._forget(self._random.choice(list(self._held)))
            self._held[key] = loaded
            self._bytes += loaded.nbytes
        return loaded, True

    def drop(self, unwanted: Callable[[CacheKey], bool]) -> None:
        """Drop the partitions that fit a condition, such as those of an old version."""
        for key in [key for key in self._held if unwanted(key)]:
            self._forget(key)

    def _forget(self, key: CacheKey) -> None:
        self._bytes -= self._held.pop(key).nbytes


_PROCESS: list[WorkerCache] = []


def process_cache(limit: int) -> WorkerCache:
    """Give the one cache of this process, and set its limit."""
    if not _PROCESS:
        _PROCESS.append(WorkerCache(limit))
    _PROCESS[0].limit = limit
    return _PROCESS[0]
