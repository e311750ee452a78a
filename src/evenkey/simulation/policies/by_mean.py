"""Moving by the mean: the Dynamic Distributor of stream-static joins, for states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import max_load_distance
from evenkey.core.planners import greedy, load_per_location
from evenkey.simulation.policies.base import Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenkey.simulation.policies.base import Observed


@dataclass(frozen=True)
class ByMean(Policy):
    """Moves partitions if the maximum load is far above the mean, and if this lowers it much.

    The rule and the planner are those of `evenkey.joins.DynamicDistributor` with ``copies=False``,
    which looks at the loads of the last epoch after each epoch. Loads are seconds of work. MLDC is
    the maximum load over the mean load, minus 1.

    Parameters
    ----------
    threshold
        Partitions move only if MLDC is above this number.
    min_improvement
        Partitions move only if this lowers MLDC by more than this number.

    Notes
    -----
    Marić et al., Dynamic Load Balancing in Stream Processing Pipelines Containing
    Stream-Static Joins (Electronics 2023), Algorithm 1, without waiting between moves.
    """

    name: ClassVar[str] = "mean"
    threshold: float = 0.5
    min_improvement: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("threshold", "min_improvement"):
            if not getattr(self, field) >= 0:
                message = f"mean: {field} = {getattr(self, field)}: must be at least 0"
                raise ConfigurationError(message)

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the owners that the greedy planner chooses, if the conditions hold."""
        current = _distance(observed, observed.owners)
        if current <= self.threshold:
            return None
        planned = greedy(observed.owners, observed.seconds, observed.workers)
        enough = current - _distance(observed, planned) > self.min_improvement
        return planned if enough else None


def _distance(observed: Observed, owners: NDArray[np.int32]) -> float:
    return max_load_distance(load_per_location(owners, observed.seconds, observed.workers))
