"""An atlas of polygons of three nested kinds: areas consist of districts, districts of sectors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import shapely

from evenkey.core.hashing import hash_longs, mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("area", "district", "sector")
"""Kinds of polygons from the largest to the smallest, as in British postcodes."""


@dataclass(frozen=True)
class Atlas:
    """The polygons of a country: areas, their districts, and the sectors of the districts.

    Parameters
    ----------
    areas, districts, sectors
        The polygons of each kind, object[n].
    area_of
        Index of the area that contains each district, int64[districts].
    district_of
        Index of the district that contains each sector, int64[sectors].
    """

    areas: NDArray[np.object_]
    districts: NDArray[np.object_]
    sectors: NDArray[np.object_]
    area_of: NDArray[np.int64]
    district_of: NDArray[np.int64]

    @classmethod
    def from_sectors(
        cls,
        sectors: NDArray[np.object_],
        district_of: NDArray[np.int64],
        area_of: NDArray[np.int64],
        districts: NDArray[np.object_] | None = None,
    ) -> Atlas:
        """Make an atlas from sectors; an area is the union of its districts.

        Parameters
        ----------
        districts
            Polygons of the districts. None: a district is the union of its sectors.
        """
        if districts is None:
            districts = _unions(sectors, district_of, len(area_of))
        areas = _unions(districts, area_of, int(area_of.max()) + 1)
        return cls(areas, districts, sectors, area_of, district_of)

    def polygons(self, name: str) -> NDArray[np.object_]:
        """Return the polygons of a kind in `KINDS`."""
        return {"area": self.areas, "district": self.districts, "sector": self.sectors}[name]

    def above_sector(self, name: str) -> NDArray[np.int64]:
        """Return, for each sector, the index of the polygon of kind `name` that contains it."""
        if name == "sector":
            return np.arange(len(self.sectors))
        return self.district_of if name == "district" else self.area_of[self.district_of]


def _unions(
    parts: NDArray[np.object_], whole_of: NDArray[np.int64], wholes: int
) -> NDArray[np.object_]:
    order = np.argsort(whole_of, kind="stable")
    ends = np.searchsorted(whole_of[order], np.arange(wholes + 1))
    united = [shapely.union_all(parts[order[start:stop]]) for start, stop in pairwise(ends)]
    return np.array(united, dtype=object)


def uniform(seed: int, positions: NDArray[np.int64], draw: int) -> NDArray[np.float64]:
    """Compute a random number per position, uniform in [0, 1), from the arguments alone.

    The same arguments always give the same numbers.

    Parameters
    ----------
    seed
        Another seed gives other numbers.
    positions
        Positions to draw numbers for, at least 0; int64[n].
    draw
        Which of the random numbers of a position to return; each `draw` gives another number.

    Returns
    -------
    float64[n]

    Examples
    --------
    >>> [round(float(each), 3) for each in uniform(0, np.array([0, 1, 0]), 1)]
    [0.612, 0.281, 0.612]
    """
    start = hash_longs(np.array([seed]))
    numbers = mix(hash_longs(positions) ^ start, draw)
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
