"""The observations that figures are computed from: counts of workers and keys, times of epochs."""

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
    """Counts of a run or an epoch, from which load balance and replication are computed.

    Parameters
    ----------
    counts
        Counts of the load of each worker and, if keys are counted, of the distinct keys.
    messages
        Number of messages. If loads are sums of weights, they do not add up to this number.
    average_imbalance
        Mean of I(t), the maximum load less the mean load, over the times at which it was measured.
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
    """Times of a run or an epoch, from which throughput and latency are computed.

    Parameters
    ----------
    messages
        Number of messages.
    makespan_ms
        Time from the start of the first epoch to the end of the last epoch, in ms.
    epoch_ms
        Duration of each epoch, in ms.
    """

    messages: int
    makespan_ms: float
    epoch_ms: Sequence[float]

    @property
    def messages_per_second(self) -> float:
        """Number of messages divided by the makespan in seconds; 0 if no epoch ran."""
        seconds = self.makespan_ms / 1000
        return messages_per_second(self.messages, seconds) if seconds else 0.0

    def percentile(self, rank: int) -> float:
        """Compute a percentile of the durations of epochs; NaN if there is no epoch."""
        return float(np.percentile(self.epoch_ms, rank)) if len(self.epoch_ms) else float("nan")
