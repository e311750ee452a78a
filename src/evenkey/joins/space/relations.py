"""Spatial relations between geometries of the stream and the static side, computed by GEOS."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.extras import Extra
from evenkey.core.spelling import unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import shapely
    from numpy.typing import NDArray
else:
    shapely = Extra("shapely", "geo", "a spatial join")


class _Relation(NamedTuple):
    name: str
    mirrored: str
    """Name of Shapely's function for the relation with swapped sides. The static geometry then
    comes first, because it is prepared."""


# Each relation implies that the two geometries have a point in common. So their envelopes
# intersect, and at least one partition of space contains both. ("disjoint" does not imply this, so
# it is not supported.)
_TABLE = (
    _Relation("contains", "within"),
    _Relation("covered-by", "covers"),
    _Relation("covers", "covered_by"),
    _Relation("crosses", "crosses"),
    _Relation("equals", "equals"),
    _Relation("intersects", "intersects"),
    _Relation("overlaps", "overlaps"),
    _Relation("touches", "touches"),
    _Relation("within", "contains"),
)

RELATIONS: tuple[str, ...] = tuple(each.name for each in _TABLE)
"""Names of the nine relations; the code of a relation is its index."""


_MIRRORS = {
    "contains": "within",
    "within": "contains",
    "covers": "covered-by",
    "covered-by": "covers",
}
"""Relations that change if the sides are swapped; all others stay the same."""


def codes_of(names: Sequence[str]) -> NDArray[np.int8]:
    """Return the codes of relations, given their names.

    Raises
    ------
    ConfigurationError
        A relation does not exist; the message lists all relations.

    Examples
    --------
    >>> codes_of(["within", "contains"])
    array([8, 0], dtype=int8)
    """
    code = {name: number for number, name in enumerate(RELATIONS)}
    for name in names:
        if name not in code:
            error = unknown_name("relation", name, RELATIONS)
            raise error
    return np.array([code[name] for name in names], dtype=np.int8)


def mirrored(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the codes of relations with the sides swapped: "a R b" is "b MIRRORED a".

    Examples
    --------
    >>> [RELATIONS[code] for code in mirrored(codes_of(["within", "covers", "touches"]))]
    ['contains', 'covered-by', 'touches']
    """
    return codes_of([_MIRRORS.get(name, name) for name in RELATIONS])[codes]


def holds(
    streamed: NDArray[np.object_], static: NDArray[np.object_], codes: NDArray[np.int8]
) -> NDArray[np.bool_]:
    """Return whether "`streamed` RELATION `static`" holds, pair by pair.

    Parameters
    ----------
    streamed, static
        n geometries each; fastest if the static geometries are prepared.
    codes
        int8[n], the relation of each pair.

    Returns
    -------
    bool[n]

    Examples
    --------
    >>> point, square = shapely.Point(1, 1), shapely.box(0, 0, 2, 2)
    >>> holds(np.array([point] * 2), np.array([square] * 2), codes_of(["within", "touches"]))
    array([ True, False])
    """
    result = np.zeros(len(codes), dtype=np.bool_)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        result[rows] = getattr(shapely, _TABLE[code].mirrored)(static[rows], streamed[rows])
    return result
