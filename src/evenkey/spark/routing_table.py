"""Routing tables: what the routers of one epoch hand to those of the next.

A table is an immutable numbered file, written by atomic rename. Table n is what the routers
of epoch n start from; every task of an epoch reads the same one, and an epoch that runs
again after a restart reads it again.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.checking import check_path, check_workers
from evenkey.errors import ConfigurationError, RunError
from evenkey.files import write_whole

if TYPE_CHECKING:
    from evenkey.groupings import Snapshot

_KEPT = 100
_DIGEST_BYTES = 16  # stand behind the archive, where they do not disturb who opens it as such
_FILE = re.compile(r"table-(\d{10})\.npz")


@dataclass(frozen=True)
class RoutingTable:
    """What an epoch's routers start from.

    Parameters
    ----------
    memory
        What the grouping learned, for `Router.remember`.
    local
        Each source's own state, for `Router.restore`; empty when loads are per epoch.
    """

    memory: Snapshot = field(default_factory=dict)
    local: dict[int, Snapshot] = field(default_factory=dict)


class RoutingTables:
    """A directory of numbered routing tables.

    Parameters
    ----------
    directory
        Where they lie; must be reachable under the same path from the driver and from every
        executor, as Spark asks of a checkpoint too. Made when the first table is written.
    grouping, workers
        What the tables are for; a table of another grouping or worker count is refused.
    """

    def __init__(self, directory: str | Path, grouping: str, workers: int) -> None:
        check_path("directory", directory)
        check_workers(workers)
        self.directory = Path(directory)
        self.grouping = grouping
        self.workers = workers

    def under(self, name: str) -> RoutingTables:
        """Tables of the same grouping in a subdirectory, such as one a query."""
        return RoutingTables(self.directory / name, self.grouping, self.workers)

    def numbers(self) -> list[int]:
        """Numbers of the tables that exist, ascending.

        Raises
        ------
        RunError
            The directory cannot be read.
        """
        try:
            names = [path.name for path in self.directory.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            message = (
                f"routing tables cannot be read from {self.directory} ({error}): choose another "
                "directory"
            )
            raise RunError(message) from error
        return sorted(int(match[1]) for name in names if (match := _FILE.fullmatch(name)))

    def path(self, number: int) -> Path:
        """Where a table lies."""
        return self.directory / f"table-{number:010d}.npz"

    def write(self, number: int, table: RoutingTable) -> Path:
        """Write a table by atomic rename, and drop tables that no epoch can need any more.

        Raises
        ------
        RunError
            The directory cannot be written.
        """
        entries: dict[str, Any] = {
            "grouping": np.array(self.grouping),
            "workers": np.array(self.workers),
        }
        entries |= {f"memory/{name}": array for name, array in table.memory.items()}
        for source, state in table.local.items():
            entries |= {f"local/{source}/{name}": array for name, array in state.items()}
        path = self.path(number)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            write_whole(path, _encoded(entries))
            for old in self.numbers():
                if old < number - _KEPT:
                    self.path(old).unlink(missing_ok=True)
        except OSError as error:
            message = f"routing table {path} cannot be written: {error}; free or choose a directory"
            raise RunError(message) from error
        return path

    def read(self, epoch: int) -> RoutingTable:
        """Read the table that an epoch uses: the one of its number, else the last before it.

        Raises
        ------
        RunError
            The table cannot be read.
        ConfigurationError
            The table belongs to another grouping or worker count.
        """
        numbers = [number for number in self.numbers() if number <= epoch]
        if not numbers:
            return RoutingTable()
        path = self.path(numbers[-1])
        try:
            entries = _decoded(path.read_bytes())
            grouping, workers = str(entries.pop("grouping")), int(entries.pop("workers"))
        except (OSError, ValueError, KeyError) as error:
            message = (
                f"routing table {path} is corrupt ({error}): delete it, and routing goes on "
                "from the table before it; results stay exact, balance is learned anew"
            )
            raise RunError(message) from error
        if (grouping, workers) != (self.grouping, self.workers):
            message = (
                f"routing table {path} was written by {grouping} with {workers} workers, but this "
                f"query routes by {self.grouping} with {self.workers}: pass another directory "
                "as state, or the grouping and workers of before"
            )
            raise ConfigurationError(message)
        return _unflatten(entries)


def _encoded(entries: dict[str, Any]) -> bytes:
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=False, **entries)
    content = archive.getvalue()
    return content + blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _decoded(data: bytes) -> dict[str, Any]:
    content = data[:-_DIGEST_BYTES]
    if blake2b(content, digest_size=_DIGEST_BYTES).digest() != data[-_DIGEST_BYTES:]:
        message = "it was cut short or changed after it was written"
        raise ValueError(message)
    with np.load(io.BytesIO(content)) as archive:
        return {name: archive[name] for name in archive.files}


def _unflatten(entries: dict[str, Any]) -> RoutingTable:
    table = RoutingTable()
    for name, array in entries.items():
        kind, _, rest = name.partition("/")
        if kind == "memory":
            table.memory[rest] = array
        else:
            source, _, entry = rest.partition("/")
            table.local.setdefault(int(source), {})[entry] = array
    return table
