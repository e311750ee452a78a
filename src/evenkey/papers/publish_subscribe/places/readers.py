"""Read atlases from files of postcode districts or sectors, as GeoJSON or shapefiles."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe.places.atlas import Atlas
from evenkey.papers.publish_subscribe.places.geojson import read_geojson
from evenkey.papers.publish_subscribe.places.shapefiles import read_shapefile

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_POLYGONS = 2  # dimensions of a polygon
_CAPITALS = re.compile(r"[A-Z]+")


@lru_cache(maxsize=2)
def read_atlas(path: Path) -> Atlas:
    """Read postcode sectors or districts from a shapefile or a GeoJSON file (may be gzipped).

    The name of a feature is its property (in shapefiles: field) ``sector``, ``district`` or
    ``name``. A name with a blank (``AB10 1``) is a sector; the part before the blank is its
    district. A name without a blank is a district, which is cut crosswise into up to four sectors.
    The capitals at the beginning of the name (``AB``) are the area. Invalid polygons are repaired.
    A file whose name ends in ``.shp`` is read by `read_shapefile`.

    Raises
    ------
    ConfigurationError
        The file cannot be read, has no polygons, or has both sectors and districts.
    """
    read = read_shapefile if path.suffix.lower() == ".shp" else read_geojson
    features = read(path)
    names = [name for name, _ in features]
    geometries = _repaired(np.array([geometry for _, geometry in features], dtype=object))
    if not names or (shapely.get_dimensions(geometries) != _POLYGONS).any():
        message = f"{path}: every feature must have a polygon, and there must be at least one"
        raise ConfigurationError(message)
    by_sector = {" " in name for name in names}
    if len(by_sector) > 1:
        message = (
            f"{path} has districts, such as 'AB10', and sectors, whose names have a blank, such as "
            "'AB10 1': keep one of the two kinds"
        )
        raise ConfigurationError(message)
    districts, district_of = np.unique(
        [name.partition(" ")[0] for name in names], return_inverse=True
    )
    area_of = np.unique([_area(name) for name in districts], return_inverse=True)[1]
    if by_sector.pop():
        return Atlas.from_sectors(geometries, district_of, area_of)
    # Several polygons may have the same name; their union is the district.
    wholes = Atlas.from_sectors(geometries, district_of, area_of).districts
    sectors, of_district = _cut(wholes)
    return Atlas.from_sectors(sectors, of_district, area_of, wholes)


def _repaired(geometries: NDArray[np.object_]) -> NDArray[np.object_]:
    """Repair invalid polygons; drop lines and points that a repair produces."""
    valid = shapely.make_valid(geometries)
    for number in np.flatnonzero(
        shapely.get_type_id(valid) == shapely.GeometryType.GEOMETRYCOLLECTION
    ):
        parts = shapely.get_parts(shapely.get_parts(valid[number]))
        valid[number] = shapely.union_all(parts[shapely.get_dimensions(parts) == _POLYGONS])
    return np.asarray(valid)


def _area(district: str) -> str:
    capitals = _CAPITALS.match(district)
    return capitals[0] if capitals else district


def _cut(districts: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Cut each district at the middle of its envelope, horizontally and vertically."""
    bounds = shapely.bounds(districts)
    low, high = bounds[:, :2], bounds[:, 2:]
    middle = (low + high) / 2
    sectors, owners = [], []
    for left, right in ((low, middle), (middle, high)):
        for lower, upper in ((low, middle), (middle, high)):
            quarter = shapely.box(left[:, 0], lower[:, 1], right[:, 0], upper[:, 1])
            # A buffer of width 0 drops points and lines where a district only touches a cut.
            parts = shapely.buffer(shapely.intersection(districts, quarter), 0)
            kept = np.flatnonzero(shapely.area(parts) > 0)
            sectors.append(parts[kept])
            owners.append(kept)
    return np.concatenate(sectors), np.concatenate(owners)
