"""Restarts: the stream stops, and a new plan places all states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import heaviest_first
from evenkey.simulation.policies.base import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.simulation.policies.base import Observed


@dataclass(frozen=True)
class ByRestart(Policy):
    """Restarts the stream with a new plan if the plan balances the last epoch much better.

    The plan places the partitions in descending order of messages, each on the worker with fewest
    messages. It does not know the previous owners. All states are read, as by
    `evenkey.spark.rebalance`.

    Parameters
    ----------
    gain
        The stream restarts if the maximum number of messages of a worker in the last epoch is more
        than this many times what it would have been by the new plan. At least 1.
    wait
        Least number of epochs between two restarts.
    seconds
        Seconds for which a restart stops the stream, in addition to the time that states take.
    """

    name: ClassVar[str] = "restart"
    gain: float = 1.2
    wait: int = 3
    seconds: float = 30.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, least in (("gain", 1), ("wait", 1), ("seconds", 0)):
            if not getattr(self, field) >= least:
                message = f"restart: {field} = {getattr(self, field)}: must be at least {least}"
                raise ConfigurationError(message)

    @property
    def pause(self) -> float:
        """Seconds for which a restart stops the stream."""
        return self.seconds

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the new plan if it is time for a restart, and the restart pays."""
        if observed.unchanged < self.wait:
            return None
        planned, held = heaviest_first(observed.messages, observed.workers)
        most = np.bincount(observed.owners, observed.messages).max()
        return planned if most > self.gain * held.max() else None
