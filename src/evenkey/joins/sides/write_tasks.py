"""Tasks that write the static side: some write partitions, and one commits the version."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.extras import Extra
from evenkey.joins.matching.on import Keys, SpatialMatch
from evenkey.joins.matching.partition_join import HASH, PARTITION
from evenkey.joins.static.manifest import StaticFile
from evenkey.joins.static.objects import unseen
from evenkey.joins.static.version_writer import name_of
from evenkey.joins.tasks.spreading import INDEX_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import shapely

    from evenkey.joins.static.static_store import StaticStore
    from evenkey.joins.static.version_writer import StaticWriter
else:
    shapely = Extra("shapely", "geo", "a spatial join")

WRITTEN = pa.schema(
    [
        ("partition", pa.int32()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("checksum", pa.string()),
        ("index", pa.binary()),
        ("host", pa.string()),
        ("error", pa.string()),
    ]
)
"""Schema of the rows that a task returns: one row for each partition that it wrote, or one row for
an error."""

OUTCOME = "host string, error string, failed boolean"
"""Schema of the row that `CommitTask` returns: the host of the task, the error or null, and whether
the error is a `RunError`."""


class WriteTask:
    """Writes the rows of a task as partitions, and returns one row for each partition written."""

    def __init__(self, writer: StaticWriter, on: Keys | SpatialMatch) -> None:
        self._writer = writer
        self._on = on

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over all batches of a task."""
        held = [batch for batch in batches if batch.num_rows]
        try:
            self._writer.check_shared()
            for batch in held:
                self._check(batch)
        except RunError as error:
            # Return the error. If it were raised here, it would reach the user inside a long error
            # message of Spark.
            yield _row(error=str(error))
            return
        if not held:
            return
        rows = pa.Table.from_batches(held)
        for partition in pc.unique(rows[PARTITION]).to_pylist():
            mine = rows.filter(pc.equal(rows[PARTITION], partition)).drop_columns([PARTITION])
            ordered = mine.sort_by(HASH) if isinstance(self._on, Keys) else mine
            file, lying = self._writer.write(partition, ordered)
            yield _row(
                partition=partition,
                rows=file.rows,
                bytes=file.bytes,
                checksum=file.checksum,
                index=self._index(partition, lying),
                host=platform.node(),
            )

    def _check(self, rows: pa.RecordBatch) -> None:
        if isinstance(self._on, SpatialMatch):
            return
        for name in self._on.columns:
            if rows[name].null_count:
                message = (
                    f"static: {rows[name].null_count} rows have no key in column {name!r}, so "
                    "that nothing can ever match them: drop them first"
                )
                raise RunError(message)

    def _index(self, partition: int, rows: pa.Table) -> bytes:
        if isinstance(self._on, Keys) or not self._on.replicates_index:
            return b""
        geometries = shapely.from_wkb(rows[self._on.geometry].to_numpy())
        count = len(geometries)
        columns = [
            np.full(count, partition, dtype=np.int32),
            np.arange(count, dtype=np.int32),
            *shapely.bounds(geometries).T,
        ]
        table = pa.Table.from_arrays([pa.array(each) for each in columns], schema=INDEX_SCHEMA)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return bytes(sink.getvalue().to_pybytes())


class CommitTask:
    """Checks that this host sees all files that other tasks wrote, then makes the version visible.

    Parameters
    ----------
    store, writer
        Store and writer of the version.
    index
        Whether the version has a replicated index.
    options
        Other arguments of `StaticStore.commit`.
    """

    def __init__(
        self, store: StaticStore, writer: StaticWriter, *, index: bool, **options: Any
    ) -> None:
        self._store = store
        self._writer = writer
        self._index = index
        self._options = options

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the rows that all other tasks returned."""
        written = [row for batch in batches for row in batch.to_pylist()]
        error, failed = None, False
        try:
            self._commit(written)
        except (ConfigurationError, RunError) as raised:
            error, failed = str(raised), isinstance(raised, RunError)
        columns = [pa.array([platform.node()]), pa.array([error], pa.string()), pa.array([failed])]
        yield pa.RecordBatch.from_arrays(columns, names=["host", "error", "failed"])

    def _commit(self, written: list[dict[str, Any]]) -> None:
        for row in written:
            if row["error"] is not None:
                raise RunError(row["error"])
        self._writer.check_shared()
        rows = {row["partition"]: row for row in written if row["partition"] is not None}
        seen = set(self._writer.store.names())
        for partition, row in rows.items():
            if name_of(partition) not in seen:
                path = self._writer.store.path(name_of(partition))
                raise unseen(path, f"host {row['host']}")
        files = {
            partition: StaticFile(row["rows"], row["bytes"], row["checksum"])
            for partition, row in rows.items()
        }
        index = None
        if self._index:
            parts = [
                pa.ipc.open_stream(rows[partition]["index"]).read_all()
                for partition in sorted(rows)
            ]
            table = pa.concat_tables([INDEX_SCHEMA.empty_table(), *parts])
            index, _ = self._writer.write(None, table)
        self._store.commit(self._writer, files, index=index, **self._options)


def _row(**values: object) -> pa.RecordBatch:
    columns = [pa.array([values.get(field.name)], field.type) for field in WRITTEN]
    return pa.RecordBatch.from_arrays(columns, schema=WRITTEN)
