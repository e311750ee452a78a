"""Routing tables: what routers learned in earlier epochs, stored for the routers of the next epoch.

A table is an immutable, numbered object in a store, written as a whole. The routers of epoch n
start from table n. All tasks of an epoch read the same table, and so does an epoch that runs again
after a restart.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.checking import check_workers
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import store_at
from evenkey.core.whole_files import check_format
from evenkey.spark.plans.arrays import decoded, encoded
from evenkey.spark.sessions.access import returned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    from evenkey.core.stores import Store
    from evenkey.groupings import Snapshot

FORMAT = 2
"""Format of the objects in `state`; increased when older objects cannot be read any more."""
NEW_STATE = (
    "pass a new location as state; if the query keeps state by key, start with a new checkpoint too"
)
KEPT = 100
"""Number of past epochs that Spark can run again, because it keeps the offsets of these epochs."""
_FILE = re.compile(r"table-(\d{10})\.npz")


@returned
@dataclass(frozen=True)
class RoutingTable:
    """Data from which the routers of an epoch start.

    Parameters
    ----------
    memory
        What the grouping learned, for `Router.remember`.
    local
        State of each source, by the number of the source, for `Router.restore`. Empty if loads
        start at zero in each epoch.

    Examples
    --------
    >>> RoutingTable().local
    {}
    """

    memory: Snapshot = field(default_factory=dict)
    local: dict[int, Snapshot] = field(default_factory=dict)


class OtherLayoutError(ConfigurationError):
    """A routing table belongs to another grouping or worker count.

    Parameters
    ----------
    message
        The error message, one line.
    grouping
        Grouping that the table belongs to.
    workers
        Worker count that the table belongs to.
    """

    def __init__(self, message: str, grouping: str, workers: int) -> None:
        super().__init__(message)
        self.grouping = grouping
        self.workers = workers

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, int]]:
        return type(self), (str(self), self.grouping, self.workers)


class CorruptTableError(RunError):
    """A routing table was changed or became corrupt after it was written.

    Parameters
    ----------
    message
        The error message, one line. The fix that it names is for streams that learn their plans.
    reason
        What is wrong with the table.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.reason)


class RoutingTables:
    """Numbered routing tables in a store.

    Parameters
    ----------
    place
        Storage location: a path, a URI or a store that the driver and all executors share, as
        Spark requires for checkpoints.
    grouping
        Grouping of the tables. Reading a table of another grouping raises an error.
    workers
        Worker count of the tables. Reading a table of another worker count raises an error.

    Examples
    --------
    >>> import tempfile
    >>> tables = RoutingTables(tempfile.mkdtemp(), "pkg", workers=4)
    >>> tables.write(0, RoutingTable())
    >>> tables.numbers()
    [0]

    An epoch reads the newest table up to its own number. `create` and `pin` do not replace a table.

    >>> tables.put(3, RoutingTable(memory={"hot": np.array([7])}))
    >>> tables.read(epoch=5).memory["hot"].tolist(), tables.find(2) is None
    ([7], True)
    >>> tables.create(3, RoutingTable()), tables.pin(3, RoutingTable()).memory == tables.latest()
    (False, True)
    >>> tables.names(), tables.path(3).endswith(tables.name(3))
    (['table-0000000000.npz', 'table-0000000003.npz'], True)

    Each query has its own tables, in a folder below the tables from which all queries start. Old
    tables are deleted.

    >>> own = tables.of_query("clicks")
    >>> own.write(200, RoutingTable())
    >>> own.numbers(), tables.under("other").numbers()
    ([200], [])
    >>> tables.before_query("clicks", 4).memory["hot"].tolist()
    [7]
    >>> tables.drop_before(200, tables.numbers())
    >>> tables.numbers()
    []
    """

    def __init__(self, place: str | Path | Store, grouping: str, workers: int) -> None:
        check_workers(workers)
        self.store = store_at(place)
        self.grouping = grouping
        self.workers = workers

    def under(self, name: str) -> RoutingTables:
        """Return the tables of the same grouping in a folder, such as those of one query."""
        return RoutingTables(self.store.under(name), self.grouping, self.workers)

    def of_query(self, query: str) -> RoutingTables:
        """Return the tables of one query with this grouping and number of workers.

        A query may continue with another grouping or number of workers. The previous tables of the
        query stay in a folder of their own. The query uses these tables again if it returns to its
        previous grouping and number of workers.
        """
        digest = hashlib.blake2b(self.grouping.encode(), digest_size=4).hexdigest()
        name = self.grouping.partition("(")[0]
        return self.under(query).under(f"{name}-{self.workers}-{digest}")

    def before_query(self, query: str, epoch: int) -> RoutingTable:
        """Read the table from which a query without its own tables starts.

        A query may continue with another layout, that is, another grouping or worker count. So if
        the query has run before, a table with another layout is ignored.

        Raises
        ------
        RunError
            The table cannot be read.
        ConfigurationError
            The query is new, and the table belongs to another grouping or worker count.
        """
        try:
            return self.read(epoch)
        except OtherLayoutError:
            if self.under(query).names():
                return RoutingTable()
            raise

    def names(self) -> list[str]:
        """List the names of all objects in the store, tables and others.

        Raises
        ------
        RunError
            The store cannot be read.
        """
        try:
            return self.store.names()
        except OSError as error:
            message = (
                f"routing tables cannot be read from {self.store} ({error}): choose another "
                "storage location"
            )
            raise RunError(message) from error

    def numbers(self, names: list[str] | None = None) -> list[int]:
        """List the numbers of the tables that exist, ascending.

        Parameters
        ----------
        names
            Result of `names`; None: `names` is called now.

        Raises
        ------
        RunError
            The store cannot be read.
        """
        there = self.names() if names is None else names
        return sorted(int(match[1]) for match in map(_FILE.fullmatch, there) if match)

    @staticmethod
    def name(number: int) -> str:
        """Return the name of a table's object."""
        return f"table-{number:010d}.npz"

    def path(self, number: int) -> str:
        """Return the path of a table, for messages."""
        return self.store.path(self.name(number))

    def write(self, number: int, table: RoutingTable) -> None:
        """Write a table, and delete tables that no epoch can need any more.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        self.put(number, table)
        self.drop_before(number, self.numbers())

    def put(self, number: int, table: RoutingTable) -> None:
        """Write a table as a whole; it replaces a table with the same number.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        try:
            self.store.put(self.name(number), self._encoded(table))
        except OSError as error:
            raise self._unwritten(number, error) from error

    def create(self, number: int, table: RoutingTable) -> bool:
        """Write a table unless its number exists already; return whether this call wrote the table.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        try:
            return self.store.create(self.name(number), self._encoded(table))
        except OSError as error:
            raise self._unwritten(number, error) from error

    def pin(self, number: int, table: RoutingTable) -> RoutingTable:
        """Write a table unless its number exists already; return the table that is stored.

        Raises
        ------
        RunError
            The store cannot be written or read, or the table was deleted in between.
        ConfigurationError
            The stored table belongs to another grouping or worker count.
        """
        if self.create(number, table):
            return table
        found = self.find(number)
        if found is None:
            message = f"routing table {self.path(number)} was deleted: run the query again"
            raise RunError(message)
        return found

    def _encoded(self, table: RoutingTable) -> bytes:
        entries: dict[str, Any] = {
            "format": np.array(FORMAT),
            "grouping": np.array(self.grouping),
            "workers": np.array(self.workers),
        }
        entries |= {f"memory/{name}": array for name, array in table.memory.items()}
        for source, state in table.local.items():
            entries |= {f"local/{source}/{name}": array for name, array in state.items()}
        return encoded(entries)

    def drop_before(self, number: int, numbers: list[int]) -> None:
        """Delete the tables in `numbers` that no epoch needs once epoch `number` has its table.

        Epoch `number` and the `KEPT` epochs before it, which Spark may run again, keep their
        tables.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        try:
            for old in numbers:
                if old < number - KEPT:
                    self.store.delete(self.name(old))
        except OSError as error:
            raise self._unwritten(number, error) from error

    def _unwritten(self, number: int, error: OSError) -> RunError:
        return RunError(
            f"routing table {self.path(number)} cannot be written: {error}; free space there or "
            "choose another storage location"
        )

    def read(self, epoch: int) -> RoutingTable:
        """Read the table that an epoch uses: the newest table up to the number of the epoch.

        If there is no such table, this returns an empty table.

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
        table = self.find(numbers[-1])
        # If another process deleted the table in between, no epoch needed it.
        return RoutingTable() if table is None else table

    def latest(self) -> Snapshot:
        """Read the memory of the table with the highest number; empty if there is no table.

        Raises
        ------
        RunError, ConfigurationError
            As `read` does.
        """
        numbers = self.numbers()
        return self.read(numbers[-1]).memory if numbers else {}

    def find(self, number: int) -> RoutingTable | None:
        """Read the table with a number; None if it does not exist.

        Raises
        ------
        RunError
            The table cannot be read.
        ConfigurationError
            The table belongs to another grouping or worker count.
        """
        path = self.path(number)
        try:
            data = self.store.find(self.name(number))
            if data is None:
                return None
            entries = decoded(data)
            number = int(entries.pop("format", 1))
            grouping, workers = str(entries.pop("grouping")), int(entries.pop("workers"))
        except OSError as error:
            message = (
                f"routing table {path} cannot be read ({error}): make it readable for the driver "
                "and all executors"
            )
            raise RunError(message) from error
        except (ValueError, KeyError) as error:
            message = (
                f"routing table {path} is corrupt ({error}): delete it, and routing continues "
                "with the previous table; results stay exact, and balance is learned again"
            )
            raise CorruptTableError(message, str(error)) from error
        check_format(f"routing table {path}", number, FORMAT, NEW_STATE)
        if (grouping, workers) != (self.grouping, self.workers):
            message = (
                f"routing table {path} was written by {grouping} with {workers} workers, but this "
                f"query routes by {self.grouping} with {self.workers} workers: pass another "
                "location as state, or the previous grouping and workers"
            )
            raise OtherLayoutError(message, grouping, workers)
        return _unflatten(entries)


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


@contextmanager
def layout_kept(tables: RoutingTables, why: str) -> Iterator[None]:
    """Replace the error of a table with another layout by an error that says why this is refused.

    The layout is the grouping and the worker count. `why` says why a query must keep its layout.

    Raises
    ------
    ConfigurationError
        A table that is read in the ``with`` block belongs to another layout.
    """
    try:
        yield
    except OtherLayoutError as other:
        message = (
            f"grouping = {tables.grouping!r}, workers = {tables.workers}: {why}; this query "
            f"started with grouping {other.grouping!r} and {other.workers} workers: pass these, or "
            "start again with another checkpoint and another state"
        )
        raise ConfigurationError(message) from other
