"""Epoch statistics: what the tasks of an epoch report for the routing table of the next epoch."""

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

_FOLDER = "epoch-statistics"
_NAME = re.compile(_FOLDER + r"/(\d{10})/(\d{6,})\.npz")


class TaskStatistics(NamedTuple):
    """Statistics that one source or worker reports at the end of an epoch.

    Parameters
    ----------
    memory
        What the task learned about keys, such as hot keys and their counts.
    local
        The state of this task alone, such as its local loads.
    """

    memory: Snapshot
    local: Snapshot


class EpochStatistics:
    """Epoch statistics of one query, stored as one object per epoch and task.

    If a task runs again, it overwrites its object.

    Parameters
    ----------
    store
        Store of the query.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, epoch: int, task: int, statistics: TaskStatistics) -> None:
        """Write the statistics of a task.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        entries = {f"memory/{name}": array for name, array in statistics.memory.items()}
        entries |= {f"local/{name}": array for name, array in statistics.local.items()}
        name = f"{_FOLDER}/{epoch:010d}/{task:06d}.npz"
        try:
            self._store.put(name, encoded(entries))
        except OSError as error:
            message = (
                f"epoch statistics {self._store.path(name)} cannot be written: {error}; "
                "free space there or choose another storage location"
            )
            raise RunError(message) from error

    def epochs(self, names: Iterable[str]) -> dict[int, dict[int, str]]:
        """Select the names of statistics from the names of a store's objects, by epoch and task.

        Epochs and tasks are in ascending order.
        """
        found: dict[int, dict[int, str]] = {}
        for match in filter(None, map(_NAME.fullmatch, sorted(names))):
            found.setdefault(int(match[1]), {})[int(match[2])] = match[0]
        return found

    def read(self, names: dict[int, str]) -> dict[int, TaskStatistics]:
        """Read the statistics of an epoch; `names` and the result are by number of the task.

        Raises
        ------
        RunError
            An object cannot be read.
        """
        return dict(zip(names, at_once(self._read, list(names.values())), strict=True))

    def _read(self, name: str) -> TaskStatistics:
        try:
            entries = decoded(self._store.read(name))
        except (OSError, ValueError) as error:
            message = (
                f"epoch statistics {self._store.path(name)} are corrupt ({error}): delete them; "
                "results stay exact, and balance is learned again"
            )
            raise RunError(message) from error
        statistics = TaskStatistics({}, {})
        for entry, array in entries.items():
            kind, _, field = entry.partition("/")
            (statistics.memory if kind == "memory" else statistics.local)[field] = array
        return statistics

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; an object that cannot be deleted now is deleted in the next epoch."""
        at_once(self._delete, list(names))

    def _delete(self, name: str) -> None:
        try:
            self._store.delete(name)
        except OSError:
            return
