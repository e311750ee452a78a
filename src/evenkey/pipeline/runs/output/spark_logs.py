"""Read Spark's logs in a checkpoint: which epochs began and ended, and their end offsets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from evenkey.core.stores import Store

OFFSETS, COMMITS = "offsets", "commits"
"""Names of Spark's log of the epochs that have begun, and of its log of completed epochs."""
_SETTINGS_LINE, _HEADER_LINES = 1, 2
"""In an entry of the offset log: index of the line with the query's settings, and number of lines
before the offsets."""


class Begun(NamedTuple):
    """Spark's log entry for the start of an epoch.

    Parameters
    ----------
    at
        The time of the start, in seconds since 1970.
    ends
        Offsets of the sources at the epoch's end; None for a source without an offset.
    """

    at: float
    ends: list[Any]


@dataclass
class SparkLogs:
    """Reads the logs of a query; each log entry is written only once.

    Parameters
    ----------
    checkpoint
        The checkpoint of the query.
    """

    checkpoint: Store
    _newest: dict[str, int] = field(default_factory=dict, init=False)
    _begun: dict[int, Begun] = field(default_factory=dict, init=False)

    def newest(self, log: str) -> int:
        """Return the number of the newest epoch in a log; -1 if the log is empty.

        The first call lists the log; later calls only look for the next numbers, which takes the
        same time for a log of any length.
        """
        newest = self._newest.get(log, -1)
        if newest < 0:
            names = (name.rpartition("/")[2] for name in self.checkpoint.names(log))
            newest = max((int(name) for name in names if name.isdigit()), default=-1)
        else:
            while self.checkpoint.find(f"{log}/{newest + 1}") is not None:
                newest += 1
        self._newest[log] = newest
        return newest

    def begun(self, epoch: int) -> Begun | None:
        """Return Spark's log entry for the start of an epoch; None if there is none.

        Raises
        ------
        RunError
            The entry is corrupt.
        """
        if epoch not in self._begun:
            name = f"{OFFSETS}/{epoch}"
            content = self.checkpoint.find(name)
            if content is None:
                return None
            try:
                note = _note(content)
            except (LookupError, TypeError, ValueError) as error:
                message = (
                    f"{self.checkpoint.path(name)} is corrupt ({error}): start again with a new "
                    "output"
                )
                raise RunError(message) from error
            # Entries of earlier epochs are no longer needed.
            recent = {each: note for each, note in self._begun.items() if each >= epoch - 1}
            self._begun = {**recent, epoch: note}
        return self._begun[epoch]

    def ends(self, epoch: int) -> list[Any]:
        """Return the end offsets of an epoch, one per source; [] if the log has no such epoch."""
        begun = self.begun(epoch)
        return [] if begun is None else begun.ends


def _note(content: bytes) -> Begun:
    lines = content.decode().splitlines()
    settings, ends = json.loads(lines[_SETTINGS_LINE]), lines[_HEADER_LINES:]
    return Begun(
        settings["batchTimestampMs"] / 1000,
        [None if line == "-" else json.loads(line) for line in ends],
    )
