"""Readers of polygon files: postcode districts or sectors as GeoJSON."""

from __future__ import annotations

import gzip
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
import shapely.errors
import shapely.geometry

from evenkey.errors import ConfigurationError
from evenkey.joins.places.atlas import Atlas

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_atlas"]

_NAMES = ("sector", "district", "name")
_LETTERS = re.compile(r"[A-Z]+")


@lru_cache(maxsize=2)
def read_atlas(path: Path) -> Atlas:
    """Read postcode sectors or districts from a GeoJSON file, gzipped or not.

    Each feature bears its name as the property ``sector``, ``district`` or ``name``. Names
    with a blank (``AB10 1``) are sectors, of the district before the blank; others are
    districts, and each is cut crosswise into up to four sectors. The letters at the front
    (``AB``) name the area. Invalid polygons are repaired.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is no GeoJSON, has no polygons, or has sectors and
        districts mixed.
    """
    features = _features(path)
    names, polygons = [], []
    for number, feature in enumerate(features):
        names.append(_name(path, number, feature))
        polygons.append(_polygon(path, number, feature))
    geometries = shapely.make_valid(np.array(polygons, dtype=object))
    if not names or (shapely.get_dimensions(geometries) != 2).any():  # noqa: PLR2004
        message = f"{path}: every feature must have a polygon, and there must be at least one"
        raise ConfigurationError(message)
    by_sector = {" " in name for name in names}
    if len(by_sector) > 1:
        message = f"{path} has districts and sectors (names with a blank) mixed: keep one kind"
        raise ConfigurationError(message)
    districts, district_of = np.unique(
        [name.partition(" ")[0] for name in names], return_inverse=True
    )
    area_of = np.unique([_area(name) for name in districts], return_inverse=True)[1]
    if by_sector.pop():
        return Atlas.from_sectors(geometries, district_of, area_of)
    # A name may have several polygons; together they are the district.
    wholes = Atlas.from_sectors(geometries, district_of, area_of).districts
    sectors, of_district = _cut(wholes)
    return Atlas.from_sectors(sectors, of_district, area_of, wholes)


def _features(path: Path) -> list[Any]:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        features = json.loads(content)["features"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        message = f"polygons {path} cannot be read ({error}): name a GeoJSON feature collection"
        raise ConfigurationError(message) from error
    return list(features)


def _name(path: Path, number: int, feature: Any) -> str:
    properties = feature.get("properties") or {}
    for name in _NAMES:
        if properties.get(name):
            return str(properties[name]).strip()
    message = f"{path}: feature {number} has no name; give it a property {' or '.join(_NAMES)}"
    raise ConfigurationError(message)


def _polygon(path: Path, number: int, feature: Any) -> shapely.Geometry:
    # Not by GEOS's own reader, which refuses rings that are not closed; some files have them.
    try:
        return shapely.geometry.shape(feature["geometry"])
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        shapely.errors.ShapelyError,
    ) as error:
        message = f"{path}: the geometry of feature {number} cannot be read ({error}): mend it"
        raise ConfigurationError(message) from error


def _area(district: str) -> str:
    letters = _LETTERS.match(district)
    return letters[0] if letters else district


def _cut(districts: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Cut each district at the middle of its envelope, across and along."""
    bounds = shapely.bounds(districts)
    low, high = bounds[:, :2], bounds[:, 2:]
    middle = (low + high) / 2
    sectors, owners = [], []
    for left, right in ((low, middle), (middle, high)):
        for lower, upper in ((low, middle), (middle, high)):
            quarter = shapely.box(left[:, 0], lower[:, 1], right[:, 0], upper[:, 1])
            # Buffering by nothing drops points and lines where a district only touches a cut.
            parts = shapely.buffer(shapely.intersection(districts, quarter), 0)
            kept = np.flatnonzero(shapely.area(parts) > 0)
            sectors.append(parts[kept])
            owners.append(kept)
    return np.concatenate(sectors), np.concatenate(owners)
