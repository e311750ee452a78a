"""A stream of publications: points and polygons of the atlas, skewed to some workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe.places.atlas import KINDS, uniform
from evenkey.papers.publish_subscribe.places.owners import PlaceRows, chances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.joins import Leaves
    from evenkey.papers.publish_subscribe.places.atlas import Atlas
    from evenkey.papers.publish_subscribe.places.owners import CandidateOwners

BALANCED_SKEW = 3 / 16
"""The skew coefficient with which all workers get the same share."""

_POLYGON_SHARES = (1 / 6, 2 / 6, 3 / 6)
"""Shares of areas, districts and sectors among polygons. With 60 % polygons, these are 10 %, 20 %
and 30 % of the publications."""
_JITTER = 0.5
"""Points are drawn in a box around a position; this is its width over that of the sector there."""


def skewed_workers(workers: int) -> int:
    """Return the number of skewed workers: 3/16 of all workers, rounded, at least one.

    Examples
    --------
    >>> [skewed_workers(workers) for workers in (1, 8, 16, 32)]
    [1, 2, 3, 6]
    """
    return max(1, round(BALANCED_SKEW * workers))


@dataclass(frozen=True)
class PublicationMix:
    """Kinds and places of publications.

    Parameters
    ----------
    skew
        Share of the stream that goes to 3/16 of the workers (rounded, at least one) if partitions
        are where they are initially; 3/16 is balanced. This is a nominal share. The real share can
        differ, because a polygon also falls on other partitions, and because the locations of
        candidates may make the share impossible.
    polygons
        Share of polygons, 0 to 1; the other publications are points. The predecessor system has
        0.6.
    clustering
        How much the share of polygons varies by region, 0 to 1. With 0, the share is the same in
        all partitions. With 1, a share `polygons` of the partitions has only polygons, and the
        other partitions have only points. This holds both among the partitions of the skewed
        workers and among the other partitions.

    Raises
    ------
    ConfigurationError
        A parameter is not between 0 and 1.
    """

    skew: float = BALANCED_SKEW
    polygons: float = 0.6
    clustering: float = 0.0

    def __post_init__(self) -> None:
        for name in ("skew", "polygons", "clustering"):
            if not 0 <= getattr(self, name) <= 1:
                message = f"{name} = {getattr(self, name)}: must be between 0 and 1"
                raise ConfigurationError(message)


class Publications:
    """Generates publications by number; a number always gives the same publication.

    Parameters
    ----------
    atlas
        Source of the positions and polygons.
    leaves
        The partitions of space to which skew and clustering apply.
    workers
        Number of workers, to which leaves are assigned in turn.
    mix
        Kinds and places of the publications.
    seed
        Another seed gives other publications of the same mix.
    positions
        Positions around which points and polygons are drawn, float64[n, 2]. None: one position on
        each sector.
    owners
        Partitions of the candidates, for pipelines that send a publication to its candidates. Skew
        is then a share of the rows that publications become. None: a publication goes to the leaf
        where it is drawn, and skew is a share of the publications.
    ends
        The attribute `ends` of a generator that was made with `owners`. Pass it instead of `owners`
        to make the same generator again.
    """

    def __init__(
        self,
        atlas: Atlas,
        leaves: Leaves,
        workers: int,
        mix: PublicationMix,
        seed: int = 0,
        positions: NDArray[np.float64] | None = None,
        owners: CandidateOwners | None = None,
        ends: NDArray[np.float64] | None = None,
    ) -> None:
        self._seed = seed
        self._workers = workers
        self._mix = mix
        self._leaves = leaves
        self._encoded = {name: shapely.to_wkb(atlas.polygons(name)) for name in KINDS}
        self._above = {name: atlas.above_sector(name) for name in KINDS}
        self._sizes = np.ptp(shapely.bounds(atlas.sectors).reshape(-1, 2, 2), axis=1)
        self._set_positions(atlas, positions)
        self._polygon_share = self._shares()
        self.ends = ends if owners is None else np.cumsum(self._chances(atlas, owners))
        """Cumulative chances of the places, float64[places]; None without owners."""

    def _set_positions(self, atlas: Atlas, positions: NDArray[np.float64] | None) -> None:
        if positions is None:
            positions = shapely.get_coordinates(shapely.point_on_surface(atlas.sectors))
            sectors = np.arange(len(positions))
        else:
            sectors = shapely.STRtree(atlas.sectors).nearest(shapely.points(positions))
        leaf = self._leaves.locate(*positions.T)
        # A leaf without a position gets one: the centre of its part of the country.
        everywhere = shapely.total_bounds(atlas.sectors)
        bounds = self._leaves.bounds
        middle = (
            np.clip(bounds[:, :2], everywhere[:2], everywhere[2:])
            + np.clip(bounds[:, 2:], everywhere[:2], everywhere[2:])
        ) / 2
        empty = np.setdiff1d(np.arange(len(bounds)), leaf)
        nearest = shapely.STRtree(atlas.sectors).nearest(shapely.points(middle[empty]))
        leaf = np.concatenate([leaf, empty])
        order = np.argsort(leaf, kind="stable")
        self._positions = np.concatenate([positions, middle[empty]])[order]
        self._sectors = np.concatenate([sectors, nearest])[order]
        self._first = np.searchsorted(leaf[order], np.arange(len(bounds) + 1))

    def _shares(self) -> NDArray[np.float64]:
        """Return the share of polygons in each partition, float64[P]."""
        count = self._leaves.partitions
        chosen = np.zeros(count)
        hot = np.arange(count) % self._workers < skewed_workers(self._workers)
        for group in (np.flatnonzero(hot), np.flatnonzero(~hot)):
            ranked = group[np.argsort(uniform(self._seed, group, 201))]
            chosen[ranked[: round(self._mix.polygons * len(group))]] = 1
        clustering = self._mix.clustering
        return (1 - clustering) * self._mix.polygons + clustering * chosen

    def _chances(self, atlas: Atlas, owners: CandidateOwners) -> NDArray[np.float64]:
        """Return the chance that a publication is drawn at each place, float64[places]."""
        hot = np.arange(owners.partitions) % self._workers < skewed_workers(self._workers)
        places = np.diff(self._first)
        leaf = np.repeat(np.arange(len(places)), places)
        share = self._polygon_share[leaf]
        rows, of_hot = owners.rows(shapely.points(self._positions), hot)
        rows, of_hot = (1 - share) * rows, (1 - share) * of_hot
        for name, part in zip(KINDS, _POLYGON_SHARES, strict=True):
            above = self._above[name][self._sectors]
            every, hot_ones = owners.rows(atlas.polygons(name), hot)
            rows += share * part * every[above]
            of_hot += share * part * hot_ones[above]
        usual = 1 / (len(places) * places[leaf])
        group = np.unique(share, return_inverse=True)[1]
        return chances(PlaceRows(usual, rows, of_hot, group), self._mix.skew)

    def make(self, numbers: NDArray[np.int64]) -> pa.Table:
        """Make the publications with the numbers `numbers`, int64[n].

        Returns
        -------
        pyarrow.Table
            ``publication`` (int64, the number) and ``geometry`` (WKB).
        """
        place, leaf = self._places(numbers)
        geometries = np.empty(len(numbers), dtype=object)
        polygon = self._draw(numbers, 5) < self._polygon_share[leaf]
        points = np.flatnonzero(~polygon)
        geometries[points] = self._points(numbers[points], place[points], leaf[points])
        kind = np.searchsorted(np.cumsum(_POLYGON_SHARES), self._draw(numbers, 6), side="right")
        for code, name in enumerate(KINDS):
            rows = np.flatnonzero(polygon & (kind.clip(max=2) == code))
            which = self._above[name][self._sectors[place[rows]]]
            geometries[rows] = self._encoded[name][which]
        return pa.table({"publication": numbers, "geometry": pa.array(geometries, pa.binary())})

    def _places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw the place of each publication; return the places and the leaf of each place."""
        if self.ends is not None:
            drawn = np.searchsorted(self.ends, self._draw(numbers, 4), side="right")
            place = np.minimum(drawn, len(self.ends) - 1)
            return place, np.searchsorted(self._first, place, side="right") - 1
        leaf = self._leaf(numbers)
        first, last = self._first[leaf], self._first[leaf + 1]
        return first + (self._draw(numbers, 4) * (last - first)).astype(np.int64), leaf

    def _leaf(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw the partition of each publication: a worker, then one of the worker's partitions."""
        hot, draw = skewed_workers(self._workers), self._draw(numbers, 2)
        others = self._workers - hot
        skewed = (self._draw(numbers, 1) < self._mix.skew) | (others == 0)
        worker = np.where(skewed, draw * hot, hot + draw * others).astype(np.int64)
        owned = (self._leaves.partitions - worker - 1) // self._workers + 1
        return worker + self._workers * (self._draw(numbers, 3) * owned).astype(np.int64)

    def _points(
        self,
        numbers: NDArray[np.int64],
        place: NDArray[np.int64],
        leaf: NDArray[np.int64],
    ) -> NDArray[np.object_]:
        """Draw a point around the position of each publication, inside its partition."""
        around = np.stack([self._draw(numbers, 7), self._draw(numbers, 8)], axis=1) - 0.5
        moved = self._positions[place] + around * _JITTER * self._sizes[self._sectors[place]]
        low, high = self._leaves.bounds[leaf, :2], self._leaves.bounds[leaf, 2:]
        inside = np.minimum(np.maximum(moved, low), np.nextafter(high, -np.inf))
        return np.asarray(shapely.to_wkb(shapely.points(inside)), dtype=object)

    def _draw(self, numbers: NDArray[np.int64], draw: int) -> NDArray[np.float64]:
        return uniform(self._seed, numbers, draw)
