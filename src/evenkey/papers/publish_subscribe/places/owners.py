"""Compute how often to draw each place so that the skewed workers get a given share of the rows.

A pipeline with a replicated index sends a publication to the partitions of its candidate
subscriptions, one row per partition. These can be any partitions, not only the partition whose
region contains the publication. So the chance of a place depends on the number of rows that a
publication at this place becomes, and on how many of these rows go to the skewed workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from evenkey.core.hashing import hash_longs, hash_strings

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.joins import Leaves

_LEAST_PLACES = 0.01
"""Minimum share of the places that must still be drawn, so that not all publications of the stream
are at a few places."""
_STEP = 1 << 14
_HALVINGS = 40
_STEEPEST = 1e4


@dataclass(frozen=True)
class CandidateOwners:
    """The envelopes of the subscriptions, and the partition of each subscription.

    Parameters
    ----------
    tree
        Spatial index of the n envelopes.
    partition_of
        The partition of each subscription, int64[n].
    partitions
        Number of partitions, P.
    """

    tree: shapely.STRtree
    partition_of: NDArray[np.int64]
    partitions: int

    @classmethod
    def of(
        cls, subscriptions: pa.Table, leaves: Leaves, partitions: int, *, by_hash: bool
    ) -> CandidateOwners:
        """Assign subscriptions to partitions in the same way as the static side of a join.

        Parameters
        ----------
        subscriptions
            Table as `draw_subscriptions` returns it.
        leaves
            Regions of the partitions. If `by_hash` is False, a subscription belongs to the leaf
            that contains the centre of its envelope.
        by_hash
            Whether subscriptions are assigned by Spark's ``xxhash64`` of all columns.
        """
        bounds = shapely.bounds(shapely.from_wkb(subscriptions["geometry"].to_numpy()))
        if by_hash:
            placed = _hashed(subscriptions) % partitions
        else:
            placed = leaves.locate(*((bounds[:, :2] + bounds[:, 2:]) / 2).T)
        return cls(shapely.STRtree(shapely.box(*bounds.T)), placed, partitions)

    def rows(
        self, geometries: NDArray[np.object_], hot: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the rows that publications become: one row per partition with a candidate.

        Parameters
        ----------
        geometries
            Geometries of the publications, object[n].
        hot
            Whether each partition belongs to the skewed workers, bool[P].

        Returns
        -------
        tuple
            Two arrays float64[n]: the number of rows of each geometry, and the number of these
            rows in hot partitions.
        """
        parts = [np.zeros((2, 0))]
        for start in range(0, len(geometries), _STEP):
            part = geometries[start : start + _STEP]
            found, static = self.tree.query(part)
            pairs = np.unique(found * self.partitions + self.partition_of[static])
            number, partition = np.divmod(pairs, self.partitions)
            rows = [
                np.bincount(each, minlength=len(part)) for each in (number, number[hot[partition]])
            ]
            parts.append(np.array(rows, dtype=np.float64))
        every, of_hot = np.concatenate(parts, axis=1)
        return every, of_hot


def _hashed(subscriptions: pa.Table) -> NDArray[np.int64]:
    """Compute Spark's ``xxhash64`` of the columns subscription, relation and geometry."""
    hashes = hash_longs(subscriptions["subscription"].to_numpy())
    for column in ("relation", "geometry"):
        hashes = hash_strings(subscriptions[column], hashes)
    return hashes.view(np.int64)


@dataclass(frozen=True)
class PlaceRows:
    """The average number of rows that a publication becomes at each of n places.

    Parameters
    ----------
    usual
        Chance of each place without skew, float64[n]; the chances add up to 1.
    rows, hot
        Average number of rows in all partitions, and in the partitions of the skewed workers,
        float64[n].
    group
        Group of each place, int64[n]. Places of a group have the same share of polygons. Skew does
        not change the total chance of a group, so it does not change how many publications are
        polygons.
    """

    usual: NDArray[np.float64]
    rows: NDArray[np.float64]
    hot: NDArray[np.float64]
    group: NDArray[np.int64]


def chances(places: PlaceRows, skew: float) -> NDArray[np.float64]:
    """Compute chances of places such that a share `skew` of all rows goes to the skewed workers.

    The usual chances are multiplied by ``exp(c * (hot - skew * rows))``; there is only one ``c``
    that gives this share. No other chances with this share are closer to the usual chances. At
    least 1 % of the places must still be drawn. If no ``c`` then gives the share, the chances give
    the closest share that is possible. This happens because a place with many candidates has some
    of them on every worker.

    Returns
    -------
    float64[n]
        The chance of each place; the chances add up to 1.
    """
    if not places.rows.any():
        return places.usual
    found = _for(places, skew)
    if found is not None:
        return found
    natural = float(places.usual @ places.hot / (places.usual @ places.rows))
    best, reached, missed = places.usual, natural, skew
    for _ in range(_HALVINGS // 2):
        middle = (reached + missed) / 2
        found = _for(places, middle)
        if found is None:
            missed = middle
        else:
            best, reached = found, middle
    return best


def _for(places: PlaceRows, skew: float) -> NDArray[np.float64] | None:
    """Return chances that give the share `skew`; None if too few places would be drawn."""
    excess = (places.hot - skew * places.rows) / places.rows.mean()
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _tilted(places, excess, middle) @ excess < 0:
            low = middle
        else:
            high = middle
    tilted = _tilted(places, excess, high)
    left = np.square(places.usual).sum() / np.square(tilted).sum()
    return tilted if left >= _LEAST_PLACES and high < _STEEPEST / 2 else None


def _tilted(
    places: PlaceRows, excess: NDArray[np.float64], steepness: float
) -> NDArray[np.float64]:
    exponents = steepness * excess
    groups = int(places.group.max()) + 1
    greatest = np.full(groups, -np.inf)
    np.maximum.at(greatest, places.group, exponents)
    tilted = places.usual * np.exp(exponents - greatest[places.group])
    scale = np.bincount(places.group, places.usual) / np.bincount(places.group, tilted)
    return np.asarray(tilted * scale[places.group])
