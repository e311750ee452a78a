"""Stores for tests: one counts its requests, one is slow, one becomes unreachable."""

from __future__ import annotations

import time
from collections import Counter
from threading import Lock

from evenkey.core.stores import LocalStore

COUNTED: Counter[str] = Counter()
"""Number of requests of this process to counting stores, by kind."""
_COUNTING = Lock()


class CountingStore(LocalStore):
    """A directory that counts its requests."""

    def _count(self, kind):
        with _COUNTING:
            COUNTED[kind] += 1

    def read(self, name):
        self._count("read")
        return super().read(name)

    def put(self, name, content, *, durable=False):
        self._count("put")
        super().put(name, content, durable=durable)

    def create(self, name, content, *, durable=False):
        self._count("create")
        return super().create(name, content, durable=durable)

    def names(self, name=""):
        self._count("names")
        return super().names(name)

    def delete(self, name):
        self._count("delete")
        super().delete(name)


class SlowStore(CountingStore):
    """A directory that takes 20 ms per request, and never lists names in order."""

    def _count(self, kind):
        super()._count(kind)
        time.sleep(0.02)

    def names(self, name=""):
        return super().names(name)[::-1]


class AwayStore(LocalStore):
    """A store that cannot be reached once a certain file exists."""

    def _find_way(self):
        if (self.directory.parent / "away").exists() or (self.directory / "away").exists():
            message = "the store is away"
            raise OSError(message)

    def read(self, name):
        self._find_way()
        return super().read(name)

    def create(self, name, content, *, durable=False):
        self._find_way()
        return super().create(name, content, durable=durable)
