"""Partition join: how the stream's rows of one partition meet its static rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from evenkey.joins.static.cache import Sized

# Names that a user's columns are unlikely to bear.
RESERVED = "__evenkey_"
PARTITION = f"{RESERVED}partition"
SLOT = f"{RESERVED}slot"
HASH = f"{RESERVED}hash"
RELATION = f"{RESERVED}relation"
CANDIDATES = f"{RESERVED}candidates"
FIRST = f"{RESERVED}first"


class PartitionJoin(ABC):
    """Joins within a partition; picklable, without state of its own.

    `prepare` runs once where a partition is loaded, and what it gives is what workers keep;
    `match` runs for the rows of each epoch.
    """

    @abstractmethod
    def prepare(self, table: pa.Table, partition: int) -> Sized:
        """Make of a static partition what `match` needs."""

    @abstractmethod
    def match(self, prepared: Any, rows: pa.Table) -> Iterator[pa.Table]:
        """Join rows of the stream with a prepared partition, in pieces of bounded size."""
