"""Stores that behave like remote stores: without paths, slow, or losing answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from evenkey.core.stores import LocalStore, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class FarStore(Store):
    """Objects under ``far://``, without local paths; it can be pickled for tasks.

    Parameters
    ----------
    directory
        Local directory that contains the objects.
    delay
        Seconds that every request takes.
    forgets
        Whether the answer of each create is lost: the object is created, and a retry is rejected.
    """

    def __init__(self, directory, *, delay=0.0, forgets=False, name=""):
        self._local = LocalStore(directory)
        self._options = {"delay": delay, "forgets": forgets}
        self._directory = directory
        self._name = name

    @property
    def url(self):
        return f"far://bucket/{self._name}".rstrip("/")

    def under(self, name):
        below = f"{self._name}/{name}".lstrip("/")
        return type(self)(self._directory / name, name=below, **self._options)

    def read(self, name):
        self._travel()
        return self._local.read(name)

    def put(self, name, content, *, durable=False):
        self._travel()
        self._local.put(name, content, durable=durable)

    def create(self, name, content, *, durable=False):
        self._travel()
        made = self._local.create(name, content, durable=durable)
        return made and not self._options["forgets"]

    def names(self, name=""):
        self._travel()
        return self._local.names(name)

    def delete(self, name):
        self._travel()
        self._local.delete(name)

    def _travel(self):
        time.sleep(self._options["delay"])


STORES: dict[str, Callable[[Path], Store]] = {
    "a directory": LocalStore,
    "far": FarStore,
    "slow": lambda directory: FarStore(directory, delay=0.01),
    "forgetful": lambda directory: FarStore(directory, forgets=True),
}
"""The stores, by the property in which they differ."""
