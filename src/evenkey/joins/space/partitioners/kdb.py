"""KDB partitioner: splits the plane at medians into leaves with about equal numbers of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.joins.space.partitioners.leaves import PLANE, Leaves, check_partitions

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kdb(points: NDArray[np.float64], partitions: int) -> Leaves:
    """Divide the plane into exactly P leaves with about the same number of points each.

    A region that is divided into k leaves is first cut in two, in the dimension in which its points
    are spread more widely. The two parts are then divided into k // 2 and k - k // 2 leaves. The
    numbers of points in the two parts have about the same ratio as these numbers of leaves.

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
    After Robinson, The K-D-B-Tree (SIGMOD 1981), with a given number of leaves.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])
    >>> kdb(corners, 2).bounds
    array([[-inf, -inf, 4.5, inf], [ 4.5, -inf, inf, inf]])
    """
    check_partitions(partitions)
    bounds: list[tuple[float, ...]] = []
    _split(points, np.array(PLANE), partitions, bounds)
    return Leaves(np.array(bounds))


def _split(
    points: NDArray[np.float64],
    region: NDArray[np.float64],
    leaves: int,
    bounds: list[tuple[float, ...]],
) -> None:
    if leaves == 1:
        bounds.append(tuple(region))
        return
    lower = leaves // 2
    spread = np.ptp(points, axis=0) if len(points) else _extent(region)
    axis = int(spread[1] > spread[0])
    cut = _cut(points[:, axis], lower / leaves, region[axis], region[axis + 2])
    below, above = region.copy(), region.copy()
    below[axis + 2] = above[axis] = cut
    under = points[:, axis] < cut
    _split(points[under], below, lower, bounds)
    _split(points[~under], above, leaves - lower, bounds)


def _cut(values: NDArray[np.float64], share: float, low: float, high: float) -> float:
    """Find a value between low and high that has about `share` of the values below it."""
    if len(values):
        ordered = np.sort(values)
        place = min(len(values) - 1, max(1, round(share * len(values)))) if len(values) > 1 else 0
        cut = (ordered[place - 1] + ordered[place]) / 2 if place else ordered[0]
        if low < cut < high:
            return float(cut)
    bottom = low if np.isfinite(low) else min(high, 1.0) - 1.0
    top = high if np.isfinite(high) else bottom + 1.0
    return float((bottom + top) / 2)


def _extent(region: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(region[2:], 1e300) - np.maximum(region[:2], -1e300)
