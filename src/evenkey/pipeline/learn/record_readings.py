"""Read labelled records by position, for the run's Spark source."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.errors import RunError
from evenkey.pipeline.learn.kept_records import ROWS_OF_A_GROUP
from evenkey.pipeline.learn.local_copies import local_copy
from evenkey.pipeline.runs import DealtReading
from evenkey.spark.sessions import from_arrow_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.core.stores import Store
    from evenkey.core.streams import RowGroup
    from evenkey.pipeline.learn.config import LearnConfig
    from evenkey.pipeline.learn.labelled_streams import LabelledStream


class _Records(DealtReading):
    """Labelled records with the columns of a schema; sources get the records in blocks."""

    def __init__(self, total: int, config: LearnConfig, schema: pa.Schema) -> None:
        block = config.block_positions(total, config.sources)
        super().__init__(total, config.event_rate(total), block)
        self.columns = tuple(schema.names)
        own = (f"{each.name} {from_arrow_type(each.type).simpleString()}" for each in schema)
        self.schema = ", ".join(["position bigint", *own, "time timestamp"])


class GeneratedRecords(_Records):
    """Reads the records of a generated stream."""

    def __init__(self, stream: LabelledStream, config: LearnConfig) -> None:
        super().__init__(stream.length, config, stream.records(0, 0).schema)
        self._stream = stream

    def values(self, begin: int, end: int) -> tuple[pa.Array, ...]:
        """Generate the records `begin` to `end` - 1."""
        records = self._stream.records(begin, end)
        return tuple(column.combine_chunks() for column in records.columns)


class FileRecords(_Records):
    """Reads the labelled records that `keep_records` wrote to a Parquet file.

    Parameters
    ----------
    store, name
        The store that contains the Parquet file, and the name of the file in this store.
    config
        The configuration of the run.
    groups
        The row groups that the file had when it was written. Their digests reveal whether the file
        has changed since.

    Raises
    ------
    RunError
        The file cannot be read.
    """

    def __init__(
        self, store: Store, name: str, config: LearnConfig, groups: Sequence[RowGroup]
    ) -> None:
        self._store = store
        self._name = name
        try:
            file = pq.ParquetFile(local_copy(store, name))
        except (OSError, pa.ArrowInvalid) as error:
            raise self._unreadable(error) from error
        super().__init__(file.metadata.num_rows, config, file.schema_arrow)
        self._groups = tuple(groups)

    def values(self, begin: int, end: int) -> tuple[pa.Array, ...]:
        """Read the records `begin` to `end` - 1."""
        first, last = begin // ROWS_OF_A_GROUP, (end - 1) // ROWS_OF_A_GROUP
        groups = pa.concat_tables(map(self._group, range(first, last + 1)))
        rows = groups.slice(begin - first * ROWS_OF_A_GROUP, end - begin)
        return tuple(column.combine_chunks() for column in rows.columns)

    def _group(self, number: int) -> pa.Table:
        try:
            return self._groups[number].read(local_copy(self._store, self._name))
        except (OSError, ValueError, IndexError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> RunError:
        path, host = self._store.path(self._name), socket.gethostname()
        message = f"host {host} cannot read {path} ({error}): start again with a new output"
        return RunError(message)
