"""Static writer: writes the partitions of a version that is not visible yet."""

from __future__ import annotations

import json
import os
import platform
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.joins.static.manifest import StaticFile, checksum
from evenkey.joins.static.objects import parquet, read_shared
from evenkey.spark.sessions import returned
from evenkey.spark.slots import create, put

if TYPE_CHECKING:
    from evenkey.core.stores import Store
    from evenkey.joins.static.manifest import StaticVersion

MANIFEST = "manifest.json"
_BEGUN = "begun.json"


@returned
class StaticWriter:
    """Writes the partitions of a new version; picklable, so that tasks can use it.

    `StaticStore.commit` makes the version visible.

    Parameters
    ----------
    store
        Store of the version's own objects.
    version
        The new version.
    host
        Host on which the version was begun.
    """

    def __init__(self, store: Store, version: StaticVersion, host: str) -> None:
        self.store = store
        self.version = version
        self.host = host

    def begin(self) -> None:
        """Write an object that every writing task must find (see `check_shared`).

        Raises
        ------
        RunError
            The store cannot be written.
        """
        begun = {"host": platform.node(), "pid": os.getpid(), "time": time.time()}
        put(self.store, _BEGUN, json.dumps(begun).encode())

    def check_shared(self) -> None:
        """Check that this host shares the location with the host on which the version was begun.

        Raises
        ------
        RunError
            This host does not see the object that `begin` wrote.
        """
        read_shared(self.store, _BEGUN, self.host)

    def write(self, partition: int | None, table: pa.Table) -> tuple[StaticFile, pa.Table]:
        """Write a partition (None: the index), unless another task has written it already.

        Several tasks may write the same partition, one after the other or at the same time, with
        the rows in different orders. The file of the first task stays, and all tasks return the
        contents of this file.

        Returns
        -------
        tuple
            The stored file, as its entry in the manifest, and its rows.

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
    """Return the name of the object of a partition (None: of the index)."""
    return "index.parquet" if partition is None else f"p{partition:05d}.parquet"
