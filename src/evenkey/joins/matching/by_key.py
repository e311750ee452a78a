"""Join by key: a hash of the key determines the partition, so equal keys of both sides meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from evenkey.joins.matching.partition_join import HASH, PARTITION, PartitionJoin
from evenkey.spark.keys import hash_of, key_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

How = Literal["inner", "left"]

_PAIRS = 1 << 20
"""Number of pairs of rows that are compared at a time."""


@dataclass(frozen=True)
class KeyedPartition:
    """A static partition, sorted by the hash of its keys.

    Parameters
    ----------
    hashes
        int64[n], hash of each row's key, ascending.
    keys, payload
        Tables of n rows: the key columns, and all other columns.
    """

    hashes: NDArray[np.int64]
    keys: pa.Table
    payload: pa.Table

    @property
    def nbytes(self) -> int:
        """Size of all columns, in bytes."""
        return int(self.hashes.nbytes + self.keys.nbytes + self.payload.nbytes)


def in_partitions(rows: DataFrame, columns: Sequence[str], partitions: int) -> DataFrame:
    """Add the columns `HASH` and `PARTITION`; equal keys of both sides get the same partition."""
    hashed = rows.withColumn(HASH, hash_of(key_columns(rows, columns)))
    return hashed.withColumn(PARTITION, F.pmod(HASH, F.lit(partitions)).cast("int"))


@dataclass(frozen=True)
class KeyedJoin(PartitionJoin):
    """Join on one or several equal key columns, as in SQL: a null key equals nothing.

    Parameters
    ----------
    keys
        Key columns, of the same names on both sides.
    columns
        The stream's other columns.
    how
        ``inner``, or ``left``, which keeps the stream's rows without a match, with nulls.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    how: How

    def prepare(self, table: pa.Table, partition: int) -> KeyedPartition:
        """Separate the key columns from all others; the rows were written in order of hashes."""
        del partition
        ordered = table.combine_chunks()
        return KeyedPartition(
            ordered[HASH].to_numpy(),
            ordered.select(self.keys),
            ordered.drop_columns([HASH, *self.keys]),
        )

    def match(self, prepared: KeyedPartition, rows: pa.Table) -> Iterator[pa.Table]:
        """Find equal hashes by bisection, then compare the keys themselves."""
        hashes = rows[HASH].to_numpy()
        first = np.searchsorted(prepared.hashes, hashes, side="left")
        counts = np.searchsorted(prepared.hashes, hashes, side="right") - first
        matched = np.zeros(len(hashes), dtype=np.bool_)
        # Cut the stream's rows into pieces of about a million pairs each. A single row that has
        # more pairs is not cut.
        pieces = np.flatnonzero(np.diff(np.cumsum(counts) // _PAIRS)) + 1
        for part in np.split(np.arange(len(hashes)), pieces):
            streamed = np.repeat(part, counts[part])
            before = np.cumsum(counts[part]) - counts[part]
            static = np.arange(len(streamed)) + np.repeat(first[part] - before, counts[part])
            equal = self._equal(prepared, rows, streamed, static)
            matched[streamed[equal]] = True
            if equal.any():
                yield self._rows(prepared, rows, streamed[equal], pa.array(static[equal]))
        if self.how == "left" and not matched.all():
            lonely = np.flatnonzero(~matched)
            yield self._rows(prepared, rows, lonely, pa.nulls(len(lonely), pa.int64()))

    def _equal(
        self,
        prepared: KeyedPartition,
        rows: pa.Table,
        streamed: NDArray[np.int64],
        static: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        equal = np.ones(len(streamed), dtype=np.bool_)
        for name in self.keys:
            same = pc.equal(rows[name].take(streamed), prepared.keys[name].take(static))
            equal &= np.asarray(pc.fill_null(same, fill_value=False))
        return equal

    def _rows(
        self,
        prepared: KeyedPartition,
        rows: pa.Table,
        streamed: NDArray[np.int64],
        static: pa.Array,
    ) -> pa.Table:
        left = rows.select([*self.keys, *self.columns]).take(streamed)
        right = prepared.payload.take(static)
        return pa.Table.from_arrays(
            [*left.columns, *right.columns], names=[*left.column_names, *right.column_names]
        )
