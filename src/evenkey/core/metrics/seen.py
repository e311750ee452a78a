"""The observations that figures are computed from: counts of workers and keys, times of epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics.durations import messages_per_second

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenkey.core.metrics.replication import LoadCounts


LEAST_FOR_P99 = 100
"""Number of values below which their 99th percentile would only be an interpolated maximum."""


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
    """Times of a run or an epoch, from which throughput and durations are computed.

    Parameters
    ----------
    messages
        Number of messages.
    makespan_ms
        Time from the start of the first epoch to the end of the last epoch, in ms.
    epoch_ms
        Duration of each epoch with input, in ms.
    """

    messages: int
    makespan_ms: float
    epoch_ms: Sequence[float]

    @property
    def messages_per_second(self) -> float:
        """Number of messages divided by the makespan in seconds; 0 if no epoch ran."""
        seconds = self.makespan_ms / 1000
        return messages_per_second(self.messages, seconds) if seconds else 0.0

    def percentile(self, rank: int, *, least: int = 1) -> float:
        """Compute a percentile of the durations of epochs; NaN if there are fewer than `least`."""
        enough = len(self.epoch_ms) >= least
        return float(np.percentile(self.epoch_ms, rank)) if enough else float("nan")


@dataclass(frozen=True)
class Taken:
    """What became of the input of a run or an epoch, for `Outcome`.

    Parameters
    ----------
    lines, rejected
        Number of lines that were read, and of lines in dead letters.
    late
        Number of partial results that came after their window was closed.
    overflows
        Number of results that are null because a sum does not fit its type.
    seconds
        Seconds from the start of the query to its end; NaN while it runs.
    """

    lines: int
    rejected: int = 0
    late: int = 0
    overflows: int = 0
    seconds: float = float("nan")

    def plus(self, later: Taken) -> Taken:
        """Add what became of the input of a later epoch."""
        counts = ("lines", "rejected", "late", "overflows")
        return Taken(*(getattr(self, each) + getattr(later, each) for each in counts))


@dataclass(frozen=True)
class Stood:
    """Where a query stood when an epoch ended, for `Standing`; NaN: not known.

    Parameters
    ----------
    lag
        Number of rows that had arrived when the epoch began and are in no epoch yet.
    state_rows, state_bytes
        Number of rows in the query's state, and the memory that they used.
    """

    lag: float = float("nan")
    state_rows: float = float("nan")
    state_bytes: float = float("nan")
