"""Times of single epochs, from Spark's reports of a run's query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery


_SHORTEST_MS = 1.0
"""Shortest duration to assume: Spark reports whole ms, and a rate over 0 ms is undefined."""


@dataclass(frozen=True)
class Timing:
    """Times of a run's epochs.

    Parameters
    ----------
    makespan_ms
        Time from the start of the first epoch to the last commit, including the closing of windows;
        summed over the processes of a continued run.
    epoch_ms
        Duration of each epoch with input, from the availability of its messages to its commit.
    """

    makespan_ms: float
    epoch_ms: tuple[float, ...]


class Span(NamedTuple):
    """Times of an epoch, in ms.

    Parameters
    ----------
    began
        When Spark requested the epoch from the source, in ms since 1970.
    waited
        Time from this request until the source offered the epoch. With an arrival rate, the source
        offers an epoch when the epoch's messages have arrived.
    length
        Time from the offer of the epoch to its commit: the duration of the epoch.
    held
        Whether the epoch had input; an epoch that only closes windows has none.
    """

    began: float
    waited: float
    length: float
    held: bool = True

    @property
    def offered(self) -> float:
        """When the source offered the epoch, in ms since 1970."""
        return self.began + self.waited

    @property
    def ended(self) -> float:
        """Time of the epoch's commit, in ms since 1970."""
        return self.offered + self.length


def ran(progress: Any) -> bool:
    """Return whether an epoch ran; an idle query also reports progress, for the next epoch."""
    return "addBatch" in progress["durationMs"]


def epochs_of(query: StreamingQuery) -> list[dict[str, Any]]:
    """Return the progress reports of epochs that ran, without those of an idle query."""
    return [each for each in query.recentProgress if ran(each)]


def span(progress: Any) -> Span:
    """Read the times of an epoch from its progress."""
    began = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
    durations = progress["durationMs"]
    # If an earlier process began the epoch, Spark does not request the epoch again, so its progress
    # has no such duration.
    waited = float(durations.get("latestOffset", 0))
    length = max(float(durations["triggerExecution"]) - waited, _SHORTEST_MS)
    return Span(began, waited, length, bool(progress["sources"][0]["numInputRows"]))
