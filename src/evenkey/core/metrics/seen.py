"""What figures are computed from: the counts of (worker, key), and the times of epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics.throughput import messages_per_second

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenkey.core.metrics.replication import LoadCounts


@dataclass(frozen=True)
class Seen:
    """What the figures of placement are computed from, of a run or of an epoch.

    Parameters
    ----------
    counts
        Where keys lay, and the load of each worker.
    messages
        How many there were; loads may be of their weights.
    average_imbalance
        Mean of I(t) over the times at which it was looked at.
    """

    counts: LoadCounts
    messages: int
    average_imbalance: float = 0.0

    @property
    def loads(self) -> NDArray[np.int64]:
        """int64[W], load of each worker."""
        return self.counts.loads


@dataclass(frozen=True)
class Paced:
    """What the figures of time are computed from, of a run or of an epoch.

    Parameters
    ----------
    messages
        How many there were.
    makespan_ms
        From the start of the first epoch to the end of the last.
    epoch_ms
        How long each epoch took.
    """

    messages: int
    makespan_ms: float
    epoch_ms: Sequence[float]

    @property
    def messages_per_second(self) -> float:
        """Messages over the makespan; 0 if no epoch ran."""
        seconds = self.makespan_ms / 1000
        return messages_per_second(self.messages, seconds) if seconds else 0.0

    def percentile(self, rank: int) -> float:
        """Percentile of the epochs' times; NaN if there is no epoch."""
        return float(np.percentile(self.epoch_ms, rank)) if len(self.epoch_ms) else float("nan")
