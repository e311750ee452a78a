"""Spatial join within a partition: publications (stream) with subscriptions (static side)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evenkey.core.extras import Extra
from evenkey.joins.matching.partition_join import CANDIDATES, RELATION, PartitionJoin
from evenkey.joins.space.relations import holds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import shapely
    from numpy.typing import NDArray
else:
    shapely = Extra("shapely", "geo", "a spatial join")

_PAIRS = 1 << 18
"""Number of pairs of geometries that are compared at a time."""
BYTES_OF_GEOMETRY = 4
"""Memory of a geometry that GEOS has prepared, as a multiple of its size in well-known binary."""


@dataclass(frozen=True)
class SpatialPartition:
    """A static partition, decoded and prepared.

    Parameters
    ----------
    geometries
        object[n], prepared geometries.
    relations
        int8[n], code of each row's relation.
    tree
        Spatial index of the geometries' envelopes; None: the pipeline uses no index.
    payload
        The other columns, n rows.
    leaf
        float64[4], bounds of the partition's region. If a pair is found in several partitions, the
        bounds decide which partition reports it. None: each pair is found in only one partition.
    nbytes
        Approximate size, in bytes.
    """

    geometries: NDArray[np.object_]
    relations: NDArray[np.int8]
    tree: shapely.STRtree | None
    payload: pa.Table
    leaf: NDArray[np.float64] | None
    nbytes: int


@dataclass(frozen=True)
class SpatialJoin(PartitionJoin):
    """Base class of the pipelines: tests the exact relation of all pairs that a subclass proposes.

    Parameters
    ----------
    geometry
        The stream's column of checked geometries (WKB).
    columns
        The stream's other columns.
    static_geometry
        The static side's column of checked geometries (WKB).
    bounds
        float64[P, 4], bounds of the regions of all partitions; None: each pair is found in only one
        partition.
    """

    geometry: str
    columns: tuple[str, ...]
    static_geometry: str
    bounds: NDArray[np.float64] | None

    indexed = False
    """Whether the subclass needs a spatial index of each partition."""

    def prepare(self, table: pa.Table, partition: int) -> SpatialPartition:
        """Decode and prepare the geometries of a partition; index them if `indexed` is True."""
        table = table.combine_chunks()
        geometries = shapely.from_wkb(table[self.static_geometry].to_numpy(zero_copy_only=False))
        shapely.prepare(geometries)
        payload = table.drop_columns([self.static_geometry, RELATION])
        size = BYTES_OF_GEOMETRY * table[self.static_geometry].nbytes + payload.nbytes
        return SpatialPartition(
            geometries,
            table[RELATION].to_numpy(),
            shapely.STRtree(geometries) if self.indexed else None,
            payload,
            None if self.bounds is None else self.bounds[partition],
            size,
        )

    def match(self, prepared: SpatialPartition, rows: pa.Table) -> Iterator[pa.Table]:
        """Test the relation exactly for all pairs that the pipeline proposes."""
        streamed = shapely.from_wkb(rows[self.geometry].to_numpy(zero_copy_only=False))
        others = rows.select(list(self.columns))
        for pairs in self.proposed(prepared, streamed, rows):
            left, right = _exact(prepared, streamed, *pairs)
            if len(left):
                first, second = others.take(left), prepared.payload.take(right)
                yield pa.Table.from_arrays(
                    [*first.columns, *second.columns],
                    names=[*first.column_names, *second.column_names],
                )

    @abstractmethod
    def proposed(
        self, prepared: SpatialPartition, streamed: NDArray[np.object_], rows: pa.Table
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Propose pairs, in pieces of bounded size: indices of stream rows and of static rows."""


class BruteForce(SpatialJoin):
    """sPS: compares every publication of the partition with every subscription in it."""

    def proposed(
        self, prepared: SpatialPartition, streamed: NDArray[np.object_], rows: pa.Table
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Propose all pairs."""
        del rows
        static = np.arange(len(prepared.geometries))
        step = max(1, _PAIRS // max(1, len(static)))
        for start in range(0, len(streamed), step):
            part = np.arange(start, min(start + step, len(streamed)))
            yield np.repeat(part, len(static)), np.tile(static, len(part))


class Indexed(SpatialJoin):
    """sPIS: an index per partition finds pairs whose envelopes intersect."""

    indexed = True

    def proposed(
        self, prepared: SpatialPartition, streamed: NDArray[np.object_], rows: pa.Table
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Propose the pairs that the index finds."""
        del rows
        if prepared.tree is None:
            message = (
                "this static partition was prepared without a spatial index; prepare it with the "
                "join that uses it"
            )
            raise TypeError(message)
        step = max(1, _PAIRS // max(1, len(prepared.geometries)))
        for start in range(0, len(streamed), step):
            left, right = prepared.tree.query(streamed[start : start + step])
            yield left + start, right


class Candidates(SpatialJoin):
    """RIhPS, RIsPS: each row brings the candidates that a replicated index has found for it."""

    def proposed(
        self, prepared: SpatialPartition, streamed: NDArray[np.object_], rows: pa.Table
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Propose the candidates that come with the rows."""
        del prepared, streamed
        lists = rows[CANDIDATES].combine_chunks()
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        owners = np.repeat(np.arange(len(lists)), lengths)
        found = lists.flatten().to_numpy()
        for start in range(0, len(found), _PAIRS):
            yield owners[start : start + _PAIRS], found[start : start + _PAIRS]


def _exact(
    prepared: SpatialPartition,
    streamed: NDArray[np.object_],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the proposed pairs whose relation holds and that belong to this partition."""
    good = holds(streamed[left], prepared.geometries[right], prepared.relations[right])
    left, right = left[good], right[good]
    if prepared.leaf is not None:
        mine = _meet_here(streamed[left], prepared.geometries[right], prepared.leaf)
        left, right = left[mine], right[mine]
    return left, right


def _meet_here(
    one: NDArray[np.object_], other: NDArray[np.object_], leaf: NDArray[np.float64]
) -> NDArray[Any]:
    """Return whether the lower left corner of the intersection of two envelopes is in a leaf.

    A leaf is the region of a partition. A geometry is in every leaf that its envelope intersects,
    so a pair may be found in several leaves. The corner is in exactly one of these leaves, and the
    pair counts only in this leaf.
    """
    corner = np.maximum(shapely.bounds(one)[:, :2], shapely.bounds(other)[:, :2])
    return np.asarray(((corner >= leaf[:2]) & (corner < leaf[2:])).all(axis=1))
