"""Partition join: joins the stream's rows of one partition with the partition's static rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from evenkey.spark.slots import Sized

# Names that a user's columns are unlikely to have.
RESERVED = "__evenkey_"
PARTITION = f"{RESERVED}partition"
SLOT = f"{RESERVED}slot"
HASH = f"{RESERVED}hash"
RELATION = f"{RESERVED}relation"
CANDIDATES = f"{RESERVED}candidates"
FIRST = f"{RESERVED}first"


class PartitionJoin(ABC):
    """Joins the rows within one partition; a partition join is picklable and has no state.

    `prepare` runs once when a static partition is loaded, and workers keep the result. `match` runs
    for the stream's rows of each epoch.
    """

    @abstractmethod
    def prepare(self, table: pa.Table, partition: int) -> Sized:
        """Convert a static partition to the form that `match` needs."""

    @abstractmethod
    def match(self, prepared: Any, rows: pa.Table) -> Iterator[pa.Table]:
        """Join rows of the stream with a prepared partition, in parts of bounded size."""
