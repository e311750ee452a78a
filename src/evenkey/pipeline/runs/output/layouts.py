"""Layouts: by which options the processes of a run laid its epochs out on workers.

Results do not depend on workers, sources and grouping, so a process that goes on may have others
than the one before it. Each change is an object, numbered by the claim of the process that made
it: an epoch that was committed under a claim had the last layout up to that claim. Routing tables
lie under the layout that they are of, so that none is taken for a newer one, also where a later
process goes back to a former layout.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.stores import Store

_PLACE = "state/layouts"


class Layouts:
    """The layouts of a run, listed once: others are added by who holds the run only, by `change`.

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
        """Number of the newest layout; 0 is that of the manifest."""
        return max(self._numbers(), default=0)

    def of(self, claim: int) -> dict[str, Any]:
        """Give the options of epochs that were committed under a claim.

        Raises
        ------
        RunError
            They cannot be read.
        """
        return self._read(max((each for each in self._numbers() if each <= claim), default=0))

    def last(self) -> dict[str, Any]:
        """Give the options by which the run last went on, or began.

        Raises
        ------
        RunError
            They cannot be read.
        """
        return self._read(self.newest)

    def change(self, claim: int, options: Mapping[str, Any]) -> None:
        """Write down the options of a process, unless the one before it had the same.

        The process holds the run: no other adds one meanwhile.

        Raises
        ------
        RunError
            They cannot be read.
        OSError
            They cannot be written.
        """
        self._listed = None
        before = self.last()
        if any(before.get(name) != value for name, value in options.items()):
            content = json.dumps(dict(options), indent=2, sort_keys=True).encode()
            self._store.create(_name(claim), content, durable=True)
            self._listed = None

    def _numbers(self) -> list[int]:
        if self._listed is None:
            names = (name.rpartition("/")[2] for name in self._store.names(_PLACE))
            self._listed = [int(name.removesuffix(".json")) for name in names]
        return self._listed

    def _read(self, number: int) -> dict[str, Any]:
        if number not in self._known:
            name = _name(number) if number else self._manifest
            try:
                options: dict[str, Any] = json.loads(self._store.read(name))
            except (OSError, ValueError) as error:
                path = self._store.path(name)
                message = f"{path} cannot be read ({error}): start again with a new output"
                raise RunError(message) from error
            self._known[number] = options
        return self._known[number]


def _name(number: int) -> str:
    return f"{_PLACE}/{number:08d}.json"
