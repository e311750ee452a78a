"""Spreading: tasks that find the partitions of each row of a stream of geometries."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from evenkey.core.extras import Extra
from evenkey.joins.matching.partition_join import CANDIDATES, FIRST, PARTITION
from evenkey.joins.space.geometry import vet
from evenkey.joins.space.partitioners import Leaves
from evenkey.joins.static.dead_letters import DEAD_LETTERS, RowFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import shapely
    from numpy.typing import NDArray

    from evenkey.joins.balance.epoch_plans import EpochPlans
    from evenkey.joins.static.dead_letters import DeadLetters
    from evenkey.joins.static.manifest import StaticVersion
    from evenkey.joins.static.static_store import StaticStore
else:
    shapely = Extra("shapely", "geo", "a spatial join")

INDEX_SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("row", pa.int32()),
        *((name, pa.float64()) for name in ("left", "bottom", "right", "top")),
    ]
)
"""Schema of the replicated index: partition and row number of each static row, and its envelope."""


class SpaceSpread:
    """Repeats each row for the partitions in which its geometry may have a match.

    Parameters
    ----------
    plans
        Plans of the epochs; a plan names the version of the static side.
    geometry
        The stream's column of geometries (WKB).
    candidates
        True: a replicated index finds the candidates of a row, and the row goes to their
        partitions. False: a row goes to every partition whose region intersects the row's envelope.
    dead_letters
        Stores rows whose geometry cannot be used; None: such a row fails the query.
    version
        Version of the static side; None: the version that the epoch's plan names.
    """

    def __init__(
        self,
        plans: EpochPlans,
        geometry: str,
        *,
        candidates: bool,
        dead_letters: DeadLetters | None,
        version: StaticVersion | None = None,
    ) -> None:
        self._plans = plans
        self._geometry = geometry
        self._candidates = candidates
        self._dead_letters = dead_letters
        self._version = version

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one partition of the stream's DataFrame."""
        task = self._plans.task()
        static, version = self._plans.static, self._version or self._plans.recall(task).version
        good = good_rows(batches, self._geometry, self._dead_letters, task.epoch)
        for table, geometries in good:
            if self._candidates:
                index = envelope_index(static, version)
                rows, partitions, lists = index.candidates(geometries)
            else:
                leaves = _leaves(static, version)
                rows, partitions = leaves.touched(shapely.bounds(geometries))
            columns = [column.combine_chunks().take(pa.array(rows)) for column in table.columns]
            # Copies of a row follow one another.
            first = pa.array(np.diff(rows, prepend=-1) != 0)
            columns += [pa.array(partitions.astype(np.int32)), first]
            names = [*table.column_names, PARTITION, FIRST]
            if self._candidates:
                columns, names = [*columns, lists], [*names, CANDIDATES]
            yield from pa.Table.from_arrays(columns, names=names).to_batches()


def good_rows(
    batches: Iterable[pa.RecordBatch], geometry: str, dead_letters: DeadLetters | None, epoch: int
) -> Iterator[tuple[pa.Table, NDArray[np.object_]]]:
    """Yield the rows of a stream that can be used, and their geometries; see `RowFilter`."""
    tables = (pa.Table.from_batches([batch]) for batch in batches)
    usable = RowFilter(dead_letters, DEAD_LETTERS, epoch)
    return usable.keep_good(tables, partial(_repaired, geometry=geometry))


def _repaired(
    table: pa.Table, geometry: str
) -> tuple[pa.Table, NDArray[np.object_], NDArray[np.object_]]:
    """Repair the geometries of a table; return table, geometries, and reasons as in `vet`."""
    encoded = table[geometry].to_numpy()
    vetted = vet(encoded)
    if len(vetted.repaired):
        encoded = encoded.copy()
        encoded[vetted.repaired] = shapely.to_wkb(vetted.geometries[vetted.repaired])
        place = table.schema.get_field_index(geometry)
        table = table.set_column(place, table.schema.field(place), pa.array(encoded, pa.binary()))
    return table, vetted.geometries, vetted.reasons


class _EnvelopeIndex(NamedTuple):
    """The replicated index in the memory of a worker."""

    tree: shapely.STRtree
    partitions: NDArray[np.int32]
    rows: NDArray[np.int32]

    def candidates(
        self, geometries: NDArray[np.object_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.ListArray]:
        """Find the candidates of n geometries, grouped by partition.

        Returns
        -------
        tuple
            Three arrays with one entry for each pair of a geometry and a partition that has
            candidates for this geometry: int64[m], index of the geometry; int64[m], the partition;
            and lists of the candidates' row numbers in the partition.
        """
        found, static = self.tree.query(geometries)
        partitions = self.partitions[static].astype(np.int64)
        order = np.lexsort((self.rows[static], partitions, found))
        found, partitions, static = found[order], partitions[order], static[order]
        starts = np.flatnonzero(
            (np.diff(found, prepend=-1) != 0) | (np.diff(partitions, prepend=-1) != 0)
        )
        offsets = pa.array(np.append(starts, len(found)).astype(np.int32))
        lists = pa.ListArray.from_arrays(offsets, pa.array(self.rows[static]))
        return found[starts], partitions[starts], lists


@lru_cache(maxsize=2)
def envelope_index(static: StaticStore, version: StaticVersion) -> _EnvelopeIndex:
    """Load the replicated index of a version; a process keeps the last two indexes."""
    table = static.read(version, None)
    if table.schema.names != INDEX_SCHEMA.names:  # no static row at all
        table = INDEX_SCHEMA.empty_table()
    corners = [table[name].to_numpy() for name in ("left", "bottom", "right", "top")]
    return _EnvelopeIndex(
        shapely.STRtree(shapely.box(*corners)),
        table["partition"].to_numpy(),
        table["row"].to_numpy(),
    )


@lru_cache(maxsize=2)
def _leaves(static: StaticStore, version: StaticVersion) -> Leaves:
    return Leaves.from_json(static.manifest(version).partitioning)
