"""Decode and check geometries: each geometry is valid, repaired, or rejected with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.extras import Extra

if TYPE_CHECKING:
    import pyarrow as pa
    import shapely
    from numpy.typing import NDArray
else:
    shapely = Extra("shapely", "geo", "a spatial join")


class Vetted(NamedTuple):
    """Geometries after decoding, checks and repairs.

    Parameters
    ----------
    geometries
        object[n], valid geometries; None if a geometry cannot be used.
    reasons
        object[n], why a geometry cannot be used; None if it can.
    repaired
        int64[m], indices of geometries that were invalid and have been repaired.
    """

    geometries: NDArray[np.object_]
    reasons: NDArray[np.object_]
    repaired: NDArray[np.int64]

    @property
    def good(self) -> NDArray[np.bool_]:
        """bool[n], whether each geometry can be used."""
        return np.asarray(~shapely.is_missing(self.geometries))


def vet(encoded: pa.Array | NDArray[np.object_]) -> Vetted:
    """Decode geometries, repair invalid geometries, and find out why others cannot be used.

    Parameters
    ----------
    encoded
        n geometries as well-known binary (WKB); null: no geometry.

    Returns
    -------
    Vetted
        The geometries and the reasons. A polygon that crosses itself is repaired
        (`shapely.make_valid`) and keeps its area. Null, broken, empty and infinite geometries
        cannot be used and have a reason.

    Examples
    --------
    >>> bow_tie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    >>> vetted = vet(np.array([shapely.to_wkb(bow_tie), b"?", None], dtype=object))
    >>> [str(each) for each in vetted.reasons]
    ['None', 'geometry is not well-known binary', 'geometry is null']
    >>> vetted.geometries[0].geom_type
    'MultiPolygon'
    """
    given = np.asarray(encoded, dtype=object)
    geometries = shapely.from_wkb(given, on_invalid="ignore")
    missing, empty = shapely.is_missing(geometries), shapely.is_empty(geometries)
    # GEOS cannot repair geometries with infinite coordinates.
    infinite = ~np.isfinite(shapely.bounds(geometries)).all(axis=1) & ~missing & ~empty
    invalid = np.flatnonzero(~shapely.is_valid(geometries) & ~missing & ~infinite)
    geometries[invalid] = shapely.make_valid(geometries[invalid])
    reasons = np.full(len(given), None, dtype=object)
    reasons[missing] = "geometry is not well-known binary"
    reasons[[each is None for each in given]] = "geometry is null"
    reasons[infinite] = "geometry has infinite coordinates"
    reasons[empty] = "geometry is empty"
    geometries[[each is not None for each in reasons]] = None
    return Vetted(geometries, reasons, invalid)
