"""Hashing: states never move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.simulation.policies.base import Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenkey.simulation.policies.base import Observed


@dataclass(frozen=True)
class ByHash(Policy):
    """Partition p is on worker ``p mod W`` permanently, as in Spark."""

    name: ClassVar[str] = "hash"

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return None."""
        del observed
        return None
