"""Skew by owners: where publications must fall so that a share of their rows goes to some workers.

A pipeline with a replicated index sends a publication to the partitions of its candidates, which
lie anywhere: one that falls on a partition's region is not for that partition's worker. So each
place is weighed by the rows that a publication there gives, and how many of them are the skewed
workers'.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely
import xxhash

from evenkey.core.hashing import SPARK_SEED

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.joins import Leaves

_LEAST_PLACES = 0.01
"""Part of the places that must stay in the stream: it is no stream of one place."""
_STEP = 1 << 14
_HALVINGS = 40
_STEEPEST = 1e4
_HIGHEST_BIT = 1 << 63


@dataclass(frozen=True)
class CandidateOwners:
    """The envelopes of the subscriptions, and the partition of each.

    Parameters
    ----------
    tree
        Over n envelopes.
    partition_of
        int64[n].
    partitions
        How many there are, P.
    """

    tree: shapely.STRtree
    partition_of: NDArray[np.int64]
    partitions: int

    @classmethod
    def of(
        cls, subscriptions: pa.Table, leaves: Leaves, partitions: int, *, by_hash: bool
    ) -> CandidateOwners:
        """Place subscriptions as the static side of a join places them.

        Parameters
        ----------
        subscriptions
            As `draw_subscriptions` gives them.
        leaves
            Where they lie if not `by_hash`: each in the leaf of its envelope's centre.
        by_hash
            Whether they lie by Spark's ``xxhash64`` of all columns.
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
        """Rows that publications become: one for each partition with a candidate.

        Parameters
        ----------
        geometries
            object[n].
        hot
            bool[P], whether a partition is one of the skewed workers'.

        Returns
        -------
        tuple
            float64[n] rows of each geometry, and float64[n] those of hot partitions.
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
    """``xxhash64`` of the columns subscription, relation and geometry, as Spark has it."""
    hashes = []
    for row in subscriptions.select(["subscription", "relation", "geometry"]).to_pylist():
        value = xxhash.xxh64_intdigest(struct.pack("<q", row["subscription"]), SPARK_SEED)
        value = xxhash.xxh64_intdigest(row["relation"].encode(), value)
        value = xxhash.xxh64_intdigest(row["geometry"], value)
        hashes.append(value - 2 * _HIGHEST_BIT if value >= _HIGHEST_BIT else value)
    return np.array(hashes, dtype=np.int64)


@dataclass(frozen=True)
class PlaceRows:
    """Average rows of a publication at each of n places.

    Parameters
    ----------
    usual
        float64[n], chance of each place where nothing is skewed; they add up to 1.
    rows, hot
        float64[n], rows, and those of the skewed workers' partitions.
    group
        int64[n]: the chances of a group's places add up to what is usual, so that skew does
        not change of what kind publications are.
    """

    usual: NDArray[np.float64]
    rows: NDArray[np.float64]
    hot: NDArray[np.float64]
    group: NDArray[np.int64]


def chances(places: PlaceRows, skew: float) -> NDArray[np.float64]:
    """Chances of places by which a share `skew` of all rows goes to the skewed workers.

    Usual chances are multiplied by ``exp(c * (hot - skew * rows))``, with the one ``c`` that gives
    the share: no other chances with this share are nearer to the usual ones. Where no ``c``
    does that and leaves 1 % of the places in the stream, it is the greatest (or least) share that
    can be had so: a place with many candidates has them with all workers.

    Returns
    -------
    float64[n]
        They add up to 1.
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
    """Chances that give the share; None if too few places would be left."""
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
