"""A small synthetic atlas, so that pipelines run without polygon files."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import shapely

from evenkey.papers.publish_subscribe.places.atlas import Atlas

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIDE = 48
"""Number of sectors along one side of the country."""
_DISTRICT, _AREA = 2, 4
"""Number of sectors along one side of a district, and of an area."""
_BENDS = 6
"""Number of points between the corners of a sector's edge."""
_BEND = 0.1
"""Maximum distance of these points from the straight edge, over the side of the smallest sector."""


@lru_cache(maxsize=1)
def synthetic_atlas() -> Atlas:
    """Make an invented country: 2,304 sectors in 576 districts in 144 areas, always the same.

    Sectors are the cells of a grid. The columns and rows of the grid are narrower towards the
    middle, like settlements that are denser there. The edges of sectors are bent; neighbours share
    an edge.

    Examples
    --------
    >>> atlas = synthetic_atlas()
    >>> len(atlas.areas), len(atlas.districts), len(atlas.sectors)
    (144, 576, 2304)
    """
    random = np.random.default_rng(20230329)
    across = _bent(random)
    along = _bent(random)[:, :, ::-1].transpose(1, 0, 2)
    sectors, district_of = [], []
    for row in range(_SIDE):
        for column in range(_SIDE):
            sectors.append(shapely.Polygon(_ring(across, along, row, column)))
            district_of.append(row // _DISTRICT * (_SIDE // _DISTRICT) + column // _DISTRICT)
    places = np.arange((_SIDE // _DISTRICT) ** 2)
    rows, columns = np.divmod(places, _SIDE // _DISTRICT)
    ratio = _AREA // _DISTRICT
    area_of = rows // ratio * (_SIDE // _AREA) + columns // ratio
    return Atlas.from_sectors(
        np.array(sectors, dtype=object), np.array(district_of), area_of.astype(np.int64)
    )


def _bent(random: np.random.Generator) -> NDArray[np.float64]:
    """Return the bent lines that run from left to right, float64[side + 1, points, 2]."""
    grid = _crowded(np.linspace(-1, 1, _SIDE * (_BENDS + 1) + 1))
    lines = grid[:: _BENDS + 1]
    bend = random.uniform(-_BEND, _BEND, (len(lines), len(grid))) * np.diff(lines).min()
    bend[:, :: _BENDS + 1] = 0  # corners, where horizontal and vertical lines meet
    return np.stack([np.broadcast_to(grid, bend.shape), lines[:, None] + bend], axis=2)


def _crowded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(values * (0.4 + 0.6 * values**2))


def _ring(
    across: NDArray[np.float64], along: NDArray[np.float64], row: int, column: int
) -> NDArray[np.float64]:
    """Return the corners and bends on the boundary of a cell, once around the cell."""
    step = _BENDS + 1
    horizontal = slice(column * step, (column + 1) * step + 1)
    vertical = slice(row * step, (row + 1) * step + 1)
    return np.concatenate(
        [
            across[row, horizontal],
            along[vertical, column + 1],
            across[row + 1, horizontal][::-1],
            along[vertical, column][::-1],
        ]
    )
