"""Atlas: polygons of three nested kinds: sectors in districts in areas."""

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
"""From the largest to the smallest, as British postcodes have them."""


@dataclass(frozen=True)
class Atlas:
    """Areas, the districts in them, the sectors in these.

    Parameters
    ----------
    areas, districts, sectors
        object[n] polygons of each kind.
    area_of
        int64[districts], the area of each district.
    district_of
        int64[sectors], the district of each sector.
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
        """Make areas, and districts if unknown, as unions of the polygons in them.

        Parameters
        ----------
        districts
            The districts if known; None: unions of their sectors.
        """
        if districts is None:
            districts = _unions(sectors, district_of, len(area_of))
        areas = _unions(districts, area_of, int(area_of.max()) + 1)
        return cls(areas, districts, sectors, area_of, district_of)

    def polygons(self, name: str) -> NDArray[np.object_]:
        """The polygons of a kind of `KINDS`."""
        return {"area": self.areas, "district": self.districts, "sector": self.sectors}[name]

    def above_sector(self, name: str) -> NDArray[np.int64]:
        """int64[sectors], the polygon of a kind that each sector is in."""
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
    """Random number `draw` of each position, uniform in [0, 1): a function of all three.

    Parameters
    ----------
    seed
        Another seed gives other numbers.
    positions
        int64[n], at least 0.
    draw
        Which of a position's numbers.

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
