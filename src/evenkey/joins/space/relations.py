"""Spatial relations between what streams by and what is static, computed by GEOS."""

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
    """Shapely's name of it, seen from the static side: that is prepared, and so comes first."""


# Each of them means that the two have a point in common, so that envelopes find candidates
# and equal space partitions bring both together. (Disjoint does not, and is not here.)
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
"""Names of the nine relations; a relation's code is its place."""


_MIRRORS = {
    "contains": "within",
    "within": "contains",
    "covers": "covered-by",
    "covered-by": "covers",
}
"""All others are their own."""


def codes_of(names: Sequence[str]) -> NDArray[np.int8]:
    """Codes of relations by name.

    Raises
    ------
    ConfigurationError
        There is no such relation; the message lists them.

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
    """Codes of the relations seen from the other side: "a R b" is "b MIRRORED a".

    Examples
    --------
    >>> [RELATIONS[code] for code in mirrored(codes_of(["within", "covers", "touches"]))]
    ['contains', 'covered-by', 'touches']
    """
    return codes_of([_MIRRORS.get(name, name) for name in RELATIONS])[codes]


def holds(
    streamed: NDArray[np.object_], static: NDArray[np.object_], codes: NDArray[np.int8]
) -> NDArray[np.bool_]:
    """Whether "`streamed` RELATION `static`" holds, pair by pair.

    Parameters
    ----------
    streamed, static
        n geometries each; fastest where the static ones are prepared.
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
