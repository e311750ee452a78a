"""Moving by what moves: the planner of keyed state, which weighs load against state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.errors import ConfigurationError
from evenkey.core.planners import SLACK_OF_SECONDS, moved
from evenkey.simulation.policies.base import Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenkey.simulation.policies.base import Observed


@dataclass(frozen=True)
class ByMoves(Policy):
    """Moves the partitions with most load for the size of their states, while a worker is too full.

    The planner is `evenkey.core.planners.moved`, and loads are seconds of work. A worker is too
    full if its load is more than ``1 + slack`` times the mean, or times the load of the most loaded
    partition if that is larger.

    Parameters
    ----------
    slack
        As for the planner.
    """

    name: ClassVar[str] = "moves"
    slack: float = SLACK_OF_SECONDS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.slack >= 0:
            message = f"moves: slack = {self.slack}: must be at least 0"
            raise ConfigurationError(message)

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the owners that the planner chooses."""
        return moved(
            observed.owners, observed.seconds, observed.sizes, observed.workers, self.slack
        )
