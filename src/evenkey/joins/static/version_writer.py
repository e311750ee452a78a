"""Static writer: puts the partitions of a version that nobody sees yet."""

from __future__ import annotations

import json
import os
import platform
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.joins.static.manifest import StaticFile, checksum
from evenkey.joins.static.objects import create, parquet, put, read_shared
from evenkey.spark.sessions import returned

if TYPE_CHECKING:
    from evenkey.core.stores import Store
    from evenkey.joins.static.manifest import StaticVersion

MANIFEST = "manifest.json"
_BEGUN = "begun.json"


@returned
class StaticWriter:
    """Writes the partitions of a new version; picklable, so that tasks can do so.

    Nobody sees the version before `StaticStore.commit`.

    Parameters
    ----------
    store
        Of the version's own objects.
    version
        Which one it will be.
    host
        Where it was begun.
    """

    def __init__(self, store: Store, version: StaticVersion, host: str) -> None:
        self.store = store
        self.version = version
        self.host = host

    def begin(self) -> None:
        """Put the object that every task which writes must find.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        begun = {"host": platform.node(), "pid": os.getpid(), "time": time.time()}
        put(self.store, _BEGUN, json.dumps(begun).encode())

    def check_shared(self) -> None:
        """Make sure that this host shares the place with the one where the version was begun.

        Raises
        ------
        RunError
            It does not.
        """
        read_shared(self.store, _BEGUN, self.host)

    def write(self, partition: int | None, table: pa.Table) -> tuple[StaticFile, pa.Table]:
        """Write a partition, or the index where that is None.

        Of tasks that write the same partition, one after the other or at the same time, the first
        one's order of rows stays: what each of them says of it is true.

        Returns
        -------
        tuple
            What lies there now: its manifest's entry, and its rows.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        content = parquet(table)
        if not create(self.store, name_of(partition), content):
            content = read_shared(self.store, name_of(partition), platform.node())
            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        return StaticFile(table.num_rows, len(content), checksum(content)), table


def name_of(partition: int | None) -> str:
    """Name of a partition's object, or of the index where that is None."""
    return "index.parquet" if partition is None else f"p{partition:05d}.parquet"
