"""Layouts: the options with which the processes of a run distributed epochs over workers.

Results do not depend on workers, sources and grouping, so these options may change when a run
continues. Each change is stored as an object with the number of the claim of the process that
changed the options. An epoch has the layout with the highest number, up to the number of the claim
that committed the epoch. Each layout has its own routing tables, so old tables are never used for a
new layout, even if a later process returns to an earlier layout.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.stores import Store

_PLACE = "state/layouts"
_FILE = re.compile(rf"{_PLACE}/(\d{{8,18}})\.json", re.ASCII)


class Layouts:
    """The layouts of a run, listed once, because only the process that holds the run adds layouts.

    Parameters
    ----------
    store
        The run's directory.
    manifest
        Name of the object with the options of the run's first process.
    """

    def __init__(self, store: Store, manifest: str) -> None:
        self._store = store
        self._manifest = manifest
        self._listed: list[int] | None = None
        self._known: dict[int, dict[str, Any]] = {}

    @property
    def newest(self) -> int:
        """Number of the newest layout; 0: the layout in the manifest."""
        return max(self._numbers(), default=0)

    def of(self, claim: int) -> dict[str, Any]:
        """Return the options of the layout of epochs that were committed under a claim.

        Raises
        ------
        RunError
            The layouts cannot be read.
        """
        return self._read(max((each for each in self._numbers() if each <= claim), default=0))

    def last(self) -> dict[str, Any]:
        """Return the options of the newest layout.

        Raises
        ------
        RunError
            The layouts cannot be read.
        """
        return self._read(self.newest)

    def change(self, claim: int, options: Mapping[str, Any]) -> None:
        """Store a process's options as a new layout, unless the newest layout has the same options.

        The process holds the run, so no other process adds a layout in the meantime.

        Raises
        ------
        RunError
            The layouts cannot be read.
        OSError
            The new layout cannot be written.
        """
        self._listed = None
        before = self.last()
        if any(before.get(name) != value for name, value in options.items()):
            content = json.dumps(dict(options), indent=2, sort_keys=True).encode()
            self._store.create(_name(claim), content, durable=True)
            self._listed = None

    def _numbers(self) -> list[int]:
        if self._listed is None:
            files = map(_FILE.fullmatch, self._store.names(_PLACE))
            self._listed = [int(found[1]) for found in files if found]
        return self._listed

    def _read(self, number: int) -> dict[str, Any]:
        if number not in self._known:
            name = _name(number) if number else self._manifest
            try:
                options: dict[str, Any] = {**json.loads(self._store.read(name))}
            except (OSError, ValueError, TypeError) as error:
                path = self._store.path(name)
                message = f"{path} cannot be read ({error}): start again with a new output"
                raise RunError(message) from error
            self._known[number] = options
        return self._known[number]


def _name(number: int) -> str:
    return f"{_PLACE}/{number:08d}.json"
