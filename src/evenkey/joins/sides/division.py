"""Division of the static side by space: the regions, and the partitions of each static row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.core.extras import Extra
from evenkey.joins.matching.partition_join import PARTITION, RELATION
from evenkey.joins.space.geometry import vet
from evenkey.joins.space.partitioners import PLANE, Leaves, kdb, quad_tree
from evenkey.joins.space.relations import codes_of, mirrored
from evenkey.joins.static.dead_letters import STATIC_DEAD_LETTERS, RowFilter
from evenkey.spark.sessions import in_workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import shapely
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from evenkey.joins.matching.on import SpatialMatch
    from evenkey.joins.static.dead_letters import DeadLetters
else:
    shapely = Extra("shapely", "geo", "a spatial join")

_SAMPLE = 100_000
"""Size of the sample of static geometries whose centres determine the division of space."""


def divide(static: DataFrame, on: SpatialMatch, partitions: int) -> Leaves:
    """Divide space into P leaves, based on a sample of the static geometries."""
    if partitions == 1:
        return Leaves(np.array([PLANE]))
    geometries = static.select(F.col(on.geometry).alias("geometry"))
    rows = geometries.count()
    if rows > _SAMPLE:
        geometries = geometries.sample(fraction=_SAMPLE / rows, seed=0)
    centres = geometries.mapInArrow(
        in_workers(geometries.sparkSession, _centres), "x double, y double"
    ).toArrow()
    points = np.stack([centres["x"].to_numpy(), centres["y"].to_numpy()], axis=1)
    return _divided(points, on.partitioner, partitions)


def leaves_of(encoded: NDArray[np.object_], partitioner: str, partitions: int) -> Leaves:
    """Divide space as `divide` does, but based on all geometries (WKB) of an array.

    With more than 100,000 geometries, `divide` uses a sample, so its leaves then differ a little.
    """
    vetted = vet(encoded)
    points = _centre(shapely.bounds(vetted.geometries[vetted.good]))
    return _divided(points, partitioner, partitions)


def _divided(points: NDArray[np.float64], partitioner: str, partitions: int) -> Leaves:
    # Sort, so that the division does not depend on the order of the rows.
    ordered = points[np.lexsort(points.T)]
    return (kdb if partitioner == "kdb" else quad_tree)(ordered, partitions)


def _centres(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        vetted = vet(batch["geometry"].to_numpy(zero_copy_only=False))
        centres = _centre(shapely.bounds(vetted.geometries[vetted.good]))
        yield pa.RecordBatch.from_arrays([pa.array(each) for each in centres.T], names=["x", "y"])


def _centre(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    return (bounds[:, :2] + bounds[:, 2:]) / 2


class StaticSpread:
    """Repeats each static row for each of its partitions, and adds its partition and relation code.

    Parameters
    ----------
    on
        Spatial condition of the join.
    leaves
        How space is divided.
    dead_letters
        Stores rows whose geometry cannot be used; None: such a row raises an error.
    version
        Version number of the static data; dead letters are stored under this number.
    """

    def __init__(
        self, on: SpatialMatch, leaves: Leaves, dead_letters: DeadLetters | None, version: int
    ) -> None:
        self._on = on
        self._leaves = leaves
        self._dead_letters = dead_letters
        self._version = version

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over batches of static rows."""
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        usable = RowFilter(self._dead_letters, STATIC_DEAD_LETTERS, self._version)
        for table, geometries in usable.keep_good(tables, self._vetted):
            rows, partitions = self._places(table, geometries)
            codes = self._codes(table)[rows]
            kept = table.drop_columns(
                [
                    name
                    for name in (PARTITION, self._on.relation_column)
                    if name in table.column_names
                ]
            )
            yield from (
                kept.take(pa.array(rows))
                .append_column(RELATION, pa.array(codes))
                .append_column(PARTITION, pa.array(partitions.astype(np.int32)))
                .combine_chunks()
                .to_batches()
            )

    def _vetted(self, table: pa.Table) -> tuple[pa.Table, NDArray[np.object_], NDArray[np.object_]]:
        vetted = vet(table[self._on.geometry].to_numpy())
        place = table.schema.get_field_index(self._on.geometry)
        encoded = pa.array(shapely.to_wkb(vetted.geometries), table.schema.field(place).type)
        repaired = table.set_column(place, table.schema.field(place), encoded)
        return repaired, vetted.geometries, vetted.reasons

    def _places(
        self, table: pa.Table, geometries: NDArray[np.object_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._on.by_hash:
            return np.arange(table.num_rows), table[PARTITION].to_numpy()
        bounds = shapely.bounds(geometries)
        if self._on.replicates_index:
            return np.arange(table.num_rows), self._leaves.locate(*_centre(bounds).T)
        return self._leaves.touched(bounds)

    def _codes(self, table: pa.Table) -> NDArray[np.int8]:
        """Return the codes of the relations, where the stream's geometry is the subject."""
        if self._on.relation_column is None:
            codes = np.repeat(codes_of([self._on.relation]), table.num_rows)
        else:
            codes = codes_of(table[self._on.relation_column].to_pylist())
        return mirrored(codes) if self._on.subject == "static" else codes
