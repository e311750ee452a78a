"""Spark's own logs in a checkpoint: which epochs it began and ended, and where they end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from evenkey.core.stores import Store

OFFSETS, COMMITS = "offsets", "commits"
"""Logs of the epochs that Spark has begun, and of those that it has ended."""
_SETTINGS_LINE, _HEADER_LINES = 1, 2
"""Of an entry in the log of offsets: its version, and settings of the query."""


class Begun(NamedTuple):
    """What Spark noted when it began an epoch.

    Parameters
    ----------
    at
        When it was, in seconds since 1970.
    ends
        Offsets of the sources at the epoch's end; None for one without any.
    """

    at: float
    ends: list[Any]


class SparkLogs:
    """Reads the logs of a query, of which each entry is written once.

    Parameters
    ----------
    checkpoint
        The query's.
    """

    def __init__(self, checkpoint: Store) -> None:
        self._checkpoint = checkpoint
        self._newest: dict[str, int] = {}
        self._begun: dict[int, Begun] = {}

    def newest(self, log: str) -> int:
        """Number of the newest epoch in a log; -1 where it has none.

        It is listed until it has one. From then on the next number is looked for, which costs the
        same however long the log is.
        """
        newest = self._newest.get(log, -1)
        if newest < 0:
            names = (name.rpartition("/")[2] for name in self._checkpoint.names(log))
            newest = max((int(name) for name in names if name.isdigit()), default=-1)
        else:
            while self._checkpoint.find(f"{log}/{newest + 1}") is not None:
                newest += 1
        self._newest[log] = newest
        return newest

    def begun(self, epoch: int) -> Begun | None:
        """Give what Spark noted when it began an epoch; None where it has no note of it.

        Raises
        ------
        RunError
            The note is damaged.
        """
        if epoch not in self._begun:
            name = f"{OFFSETS}/{epoch}"
            content = self._checkpoint.find(name)
            if content is None:
                return None
            try:
                note = _note(content)
            except (LookupError, TypeError, ValueError) as error:
                message = (
                    f"{self._checkpoint.path(name)} is damaged ({error}): start again with a new "
                    "output"
                )
                raise RunError(message) from error
            # Those of earlier epochs are not asked for any more.
            recent = {each: note for each, note in self._begun.items() if each >= epoch - 1}
            self._begun = {**recent, epoch: note}
        return self._begun[epoch]

    def ends(self, epoch: int) -> list[Any]:
        """Offsets of the sources at the end of an epoch; none where Spark has no note of it."""
        begun = self.begun(epoch)
        return [] if begun is None else begun.ends


def _note(content: bytes) -> Begun:
    lines = content.decode().splitlines()
    settings, ends = json.loads(lines[_SETTINGS_LINE]), lines[_HEADER_LINES:]
    return Begun(
        settings["batchTimestampMs"] / 1000,
        [None if line == "-" else json.loads(line) for line in ends],
    )
