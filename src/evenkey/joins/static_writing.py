"""Writing the static side: a DataFrame becomes a version of partitions, by tasks of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ByteType, IntegerType, StructField, StructType

from evenkey.errors import RunError
from evenkey.joins.on import Keys, SpatialMatch
from evenkey.joins.partition_join import HASH, PARTITION, RELATION
from evenkey.joins.spreading import INDEX_SCHEMA
from evenkey.joins.static_manifest import StaticFile
from evenkey.joins.static_spreading import StaticSpread, divide
from evenkey.spark import in_workers, key_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.joins.dead_letters import DeadLetters
    from evenkey.joins.fingerprint import Fingerprint
    from evenkey.joins.partitioners import Leaves
    from evenkey.joins.static_manifest import Manifest
    from evenkey.joins.static_store import StaticStore, StaticWriter

_FILES = "partition int, rows bigint, bytes bigint, checksum string, index binary"
_TASKS_A_CORE = 2


def write_static(
    static: DataFrame,
    store: StaticStore,
    on: Keys | SpatialMatch,
    *,
    partitions: int,
    leaves: Leaves | None = None,
    dead_letters: DeadLetters | None = None,
    fingerprint: Fingerprint | None = None,
    refreshed: bool = False,
) -> Manifest:
    """Write a static DataFrame as the store's next version.

    Parameters
    ----------
    static
        Batch; its rows never pass through the driver.
    store
        Where to.
    on
        What the join is on.
    partitions
        How many, P.
    leaves
        How space is divided; None: as the static geometries lie.
    dead_letters
        Takes rows that cannot be joined; None: such a row fails the writing.
    fingerprint
        Of `static`; None: nobody will ask whether another DataFrame is the same.
    refreshed
        Whether it comes in place of the version before.

    Raises
    ------
    ConfigurationError
        A column is missing or of a type that cannot be joined on.
    RunError
        A row has a null key or an unusable geometry, or the store cannot be written.
    """
    writer = store.begin()
    if isinstance(on, Keys):
        spread, partitioning = _by_keys(static, on, partitions), on.to_json()
    else:
        key_columns(static, [each for each in (on.geometry, on.relation_column) if each])
        leaves = leaves or divide(static, on, partitions)
        task = StaticSpread(on, leaves, dead_letters, writer.version.number)
        spread = _by_space(static, on, partitions, task)
        partitioning = {**on.to_json(), **leaves.to_json()}
    parallel = static.sparkSession.sparkContext.defaultParallelism * _TASKS_A_CORE
    written = (
        spread.repartitionById(min(partitions, parallel), F.col(PARTITION))
        .mapInArrow(in_workers(static.sparkSession, WriteTask(writer, on)), _FILES)
        .toArrow()
        .to_pylist()
    )
    files = {
        each["partition"]: StaticFile(each["rows"], each["bytes"], each["checksum"])
        for each in written
    }
    index = None
    if isinstance(on, SpatialMatch) and on.replicates_index:
        parts = [pa.ipc.open_stream(each["index"]).read_all() for each in written]
        index = writer.write(None, pa.concat_tables([INDEX_SCHEMA.empty_table(), *parts]))
    schema = to_arrow_schema(spread.drop(PARTITION).schema, timezone=_timezone(static))
    return store.commit(
        writer,
        files,
        partitions=partitions,
        partitioning=partitioning,
        columns=kept_columns(static, on),
        schema=schema,
        index=index,
        fingerprint=fingerprint,
        refreshed=refreshed,
    )


def kept_columns(static: DataFrame, on: Keys | SpatialMatch) -> dict[str, str]:
    """Types of the columns that a version keeps, by name, in order."""
    dropped = None if isinstance(on, Keys) else on.relation_column
    return {
        field.name: field.dataType.simpleString()
        for field in static.schema
        if field.name != dropped
    }


def _timezone(df: DataFrame) -> str:
    return df.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"


def _by_keys(static: DataFrame, on: Keys, partitions: int) -> DataFrame:
    hashed = static.withColumn(HASH, F.xxhash64(*key_columns(static, on.columns)))
    return hashed.withColumn(PARTITION, F.pmod(HASH, F.lit(partitions)).cast("int"))


def _by_space(
    static: DataFrame,
    on: SpatialMatch,
    partitions: int,
    task: StaticSpread,
) -> DataFrame:
    if on.by_hash:
        hashed = F.xxhash64(*key_columns(static, static.columns))
        static = static.withColumn(PARTITION, F.pmod(hashed, F.lit(partitions)).cast("int"))
    kept = [each for each in static.schema if each.name not in (PARTITION, on.relation_column)]
    added = [StructField(RELATION, ByteType()), StructField(PARTITION, IntegerType())]
    return static.mapInArrow(in_workers(static.sparkSession, task), StructType(kept + added))


class WriteTask:
    """Writes the partitions of a task's rows, and says what it wrote."""

    def __init__(self, writer: StaticWriter, on: Keys | SpatialMatch) -> None:
        self._writer = writer
        self._on = on

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over all batches of a task."""
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        rows = pa.Table.from_batches(held)
        self._check(rows)
        for partition in pc.unique(rows[PARTITION]).to_pylist():
            mine = rows.filter(pc.equal(rows[PARTITION], partition)).drop_columns([PARTITION])
            ordered = mine.sort_by(HASH) if isinstance(self._on, Keys) else mine
            file = self._writer.write(partition, ordered)
            fields = (partition, file.rows, file.bytes, file.checksum)
            arrays = [pa.array([each]) for each in (*fields, self._index(partition, ordered))]
            arrays[0] = arrays[0].cast(pa.int32())
            names = ["partition", "rows", "bytes", "checksum", "index"]
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    def _check(self, rows: pa.Table) -> None:
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
