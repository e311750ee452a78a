"""Lessons: what the tasks of one epoch leave for the routing table of the next."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.errors import RunError
from evenkey.core.stores import at_once
from evenkey.spark.plans.arrays import decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkey.core.stores import Store
    from evenkey.groupings import Snapshot

_PLACE = "lessons"
_NAME = re.compile(_PLACE + r"/(\d{10})/(\d{6,})\.npz")


class Lesson(NamedTuple):
    """What one source hands on at the end of an epoch.

    Parameters
    ----------
    memory
        What it learned of keys.
    local
        Its own state, such as its local loads.
    """

    memory: Snapshot
    local: Snapshot


class Lessons:
    """The lessons of one query: one object an epoch and source, which a retry writes again.

    Parameters
    ----------
    store
        The query's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def leave(self, epoch: int, source: int, lesson: Lesson) -> None:
        """Put a lesson down.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        entries = {f"memory/{name}": array for name, array in lesson.memory.items()}
        entries |= {f"local/{name}": array for name, array in lesson.local.items()}
        name = f"{_PLACE}/{epoch:010d}/{source:06d}.npz"
        try:
            self._store.put(name, encoded(entries))
        except OSError as error:
            path = self._store.path(name)
            message = f"lesson {path} cannot be written: {error}; free or choose a place"
            raise RunError(message) from error

    def epochs(self, names: Iterable[str]) -> dict[int, dict[int, str]]:
        """Of the names of a store, give those of lessons by epoch and source, in order."""
        found: dict[int, dict[int, str]] = {}
        for match in filter(None, map(_NAME.fullmatch, sorted(names))):
            found.setdefault(int(match[1]), {})[int(match[2])] = match[0]
        return found

    def read(self, names: dict[int, str]) -> dict[int, Lesson]:
        """Read the lessons of an epoch, by source.

        Raises
        ------
        RunError
            One cannot be read.
        """
        return dict(zip(names, at_once(self._read, list(names.values())), strict=True))

    def _read(self, name: str) -> Lesson:
        try:
            entries = decoded(self._store.read(name))
        except (OSError, ValueError) as error:
            message = (
                f"lesson {self._store.path(name)} is corrupt ({error}): delete it; results stay "
                "exact, and balance is learned anew"
            )
            raise RunError(message) from error
        lesson = Lesson({}, {})
        for entry, array in entries.items():
            kind, _, field = entry.partition("/")
            (lesson.memory if kind == "memory" else lesson.local)[field] = array
        return lesson

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; what cannot be deleted is left to the next epoch."""
        at_once(self._delete, list(names))

    def _delete(self, name: str) -> None:
        try:
            self._store.delete(name)
        except OSError:
            return
