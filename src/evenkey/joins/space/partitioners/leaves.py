"""Leaves: a division of the whole plane into half-open rectangles, one a partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

PLANE = (-np.inf, -np.inf, np.inf, np.inf)
"""Bounds of everything: the outer leaves have no end, so that no point lies outside."""

_STEP = 1 << 22


@dataclass(frozen=True)
class Leaves:
    """Rectangles that cover the plane without overlap.

    A leaf holds its lower and left edge but not its upper and right one, so that each point
    lies in exactly one.

    Parameters
    ----------
    bounds
        float64[P, 4]: least x, least y, greatest x, greatest y; infinite at the rim.

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
        """How many leaves there are, P."""
        return len(self.bounds)

    def locate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
        """The leaf of each point.

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
        """The leaves that each envelope meets.

        Parameters
        ----------
        envelopes
            float64[n, 4], bounds of n objects, edges included, finite.

        Returns
        -------
        tuple
            int64[m] numbers of objects, ascending, and int64[m] their leaves: one pair for
            each leaf that an object meets, at least one an object.
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
        """Give it as JSON can hold it: an infinite bound becomes null."""
        rows = [[float(v) if np.isfinite(v) else None for v in row] for row in self.bounds]
        return {"leaves": rows}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Leaves:
        """Take back what `to_json` gave."""
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
