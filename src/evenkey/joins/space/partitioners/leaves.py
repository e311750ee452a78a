"""Leaves: a division of the whole plane into half-open rectangles, one per partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

PLANE = (-np.inf, -np.inf, np.inf, np.inf)
"""Bounds of the whole plane: the outer leaves are unbounded, so that no point is outside."""

_STEP = 1 << 22


@dataclass(frozen=True)
class Leaves:
    """Rectangles that cover the plane without overlap.

    A leaf includes its lower and left edges but not its upper and right edges, so each point is in
    exactly one leaf.

    Parameters
    ----------
    bounds
        float64[P, 4]: least x, least y, greatest x and greatest y of each leaf; infinite for outer
        edges.

    Examples
    --------
    >>> halves = Leaves(np.array([[-np.inf, -np.inf, 0, np.inf], [0, -np.inf, np.inf, np.inf]]))
    >>> halves.locate(np.array([-1.0, 0.0]), np.array([5.0, 5.0]))
    array([0, 1])
    >>> halves.touched(np.array([[-1.0, 0.0, 1.0, 1.0]]))
    (array([0, 0]), array([0, 1]))
    """

    bounds: NDArray[np.float64]

    @property
    def partitions(self) -> int:
        """Number of leaves, P."""
        return len(self.bounds)

    def locate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
        """Find the leaf of each point.

        Parameters
        ----------
        x, y
            float64[n], finite.

        Returns
        -------
        int64[n]
        """
        return self.touched(np.stack([x, y, x, y], axis=1))[1]

    def touched(
        self, envelopes: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the leaves that each envelope intersects.

        Parameters
        ----------
        envelopes
            float64[n, 4], bounds of n objects, edges included, finite.

        Returns
        -------
        tuple
            Two arrays with one entry for each pair of an object and a leaf that the object
            intersects, at least one entry per object: int64[m], the indices of the objects,
            ascending; and int64[m], the leaves.
        """
        low_x, low_y, high_x, high_y = self.bounds.T
        step = max(1, _STEP // max(1, self.partitions))
        objects, leaves = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for start in range(0, len(envelopes), step):
            left, bottom, right, top = envelopes[start : start + step].T[:, :, None]
            meets = (left < high_x) & (right >= low_x) & (bottom < high_y) & (top >= low_y)
            found = np.nonzero(meets)
            objects.append(found[0] + start)
            leaves.append(found[1])
        return np.concatenate(objects), np.concatenate(leaves)

    def to_json(self) -> dict[str, Any]:
        """Convert to values that JSON can represent: an infinite bound becomes null."""
        rows = [[float(v) if np.isfinite(v) else None for v in row] for row in self.bounds]
        return {"leaves": rows}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Leaves:
        """Restore leaves from the values of `to_json`."""
        rows = [
            [at_rim if v is None else v for v, at_rim in zip(row, PLANE, strict=True)]
            for row in fields["leaves"]
        ]
        return cls(np.array(rows, dtype=np.float64).reshape(-1, 4))


def check_partitions(partitions: int) -> None:
    """Raise a ConfigurationError unless there is at least one partition."""
    if partitions < 1:
        message = f"partitions = {partitions}: there must be at least 1 partition"
        raise ConfigurationError(message)
