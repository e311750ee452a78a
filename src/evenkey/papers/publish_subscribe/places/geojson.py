"""Read the named polygons of a GeoJSON feature collection."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import shapely
import shapely.errors
import shapely.geometry

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("sector", "district", "name")
"""Properties that may contain the name of a polygon; the first that exists is used."""


def read_geojson(path: Path) -> list[tuple[str, shapely.Geometry]]:
    """Read names and geometries of a feature collection, gzipped or not.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is not GeoJSON, or a feature has no name or no geometry.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        features = list(json.loads(content)["features"])
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
        message = (
            f"polygons {path} cannot be read ({error}): name a GeoJSON feature collection or a "
            "shapefile (.shp)"
        )
        raise ConfigurationError(message) from error
    return [
        (_name(path, number, feature), _polygon(path, number, feature))
        for number, feature in enumerate(features)
    ]


def _name(path: Path, number: int, feature: Any) -> str:
    properties = feature.get("properties") or {}
    for name in NAMES:
        if properties.get(name):
            return str(properties[name]).strip()
    message = f"{path}: feature {number} has no name; give it a property {' or '.join(NAMES)}"
    raise ConfigurationError(message)


def _polygon(path: Path, number: int, feature: Any) -> shapely.Geometry:
    # GEOS's own reader is not used: it rejects rings that are not closed, and some files have such
    # rings.
    try:
        return shapely.geometry.shape(feature["geometry"])
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        shapely.errors.ShapelyError,
    ) as error:
        message = f"{path}: the geometry of feature {number} cannot be read ({error}): fix it"
        raise ConfigurationError(message) from error
