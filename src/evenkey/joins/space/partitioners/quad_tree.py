"""Quad-tree partitioner: divides the leaf with the most points until there are enough leaves."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from evenkey.joins.space.partitioners.leaves import Leaves, check_partitions

if TYPE_CHECKING:
    from numpy.typing import NDArray


def quad_tree(points: NDArray[np.float64], partitions: int) -> Leaves:
    """Divide the plane into P leaves, each time quartering the leaf with the most points.

    Quartering replaces one leaf by four leaves. If P is not 1, 4, 7, ..., the last leaf is cut into
    only two or three leaves, so that there are exactly P leaves.

    Parameters
    ----------
    points
        float64[n, 2], such as the centres of the static geometries; may be empty.
    partitions
        Number of leaves, P, at least 1.

    Raises
    ------
    ConfigurationError
        `partitions` is below 1.

    Notes
    -----
    After Finkel and Bentley, Quad Trees (Acta Informatica 1974), as a region quadtree.

    Examples
    --------
    >>> quad_tree(np.array([[0.0, 0.0], [2.0, 2.0]]), 4).bounds
    array([[-inf, -inf, 1., 1.], [ 1., -inf, inf, 1.], [-inf, 1., 1., inf], [ 1., 1., inf, inf]])
    """
    check_partitions(partitions)
    low = points.min(axis=0) if len(points) else np.zeros(2)
    high = points.max(axis=0) if len(points) else np.ones(2)
    high = np.where(high > low, high, low + 1.0)
    # A heap of leaves: the leaf with the most points is first, in ties the oldest leaf.
    leaves = [(-len(points), 0, (*low, *high), points)]
    made = 1
    while len(leaves) < partitions:
        _, _, square, inside = heapq.heappop(leaves)
        for part, held in _quarters(np.array(square), inside, partitions - len(leaves)):
            heapq.heappush(leaves, (-len(held), made, tuple(part), held))
            made += 1
    bounds = np.array([square for _, _, square, _ in sorted(leaves, key=lambda leaf: leaf[1])])
    rim = np.array([-np.inf, -np.inf, np.inf, np.inf])
    return Leaves(np.where(bounds == np.array([*low, *high]), rim, bounds))


def _quarters(
    square: NDArray[np.float64], points: NDArray[np.float64], most: int
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Cut a square into four parts, or into two or three if `most` is less."""
    middle = (square[:2] + square[2:]) / 2
    halves = _cut(square, points, 1, middle[1])
    if most == 2:  # noqa: PLR2004 - two parts are one cut
        return halves
    lower = _cut(*halves[0], 0, middle[0])
    upper = [halves[1]] if most == 3 else _cut(*halves[1], 0, middle[0])  # noqa: PLR2004
    return lower + upper


def _cut(
    square: NDArray[np.float64], points: NDArray[np.float64], axis: int, place: float
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    below, above = square.copy(), square.copy()
    below[axis + 2] = above[axis] = place
    under = points[:, axis] < place
    return [(below, points[under]), (above, points[~under])]
