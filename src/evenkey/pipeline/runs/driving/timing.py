"""Durations of a run's epochs, from Spark's reports of its query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True)
class Timing:
    """Times of a run's epochs.

    Parameters
    ----------
    makespan_ms
        Time from the start of the first epoch to the last commit, including the closing of windows;
        summed over the processes of a continued run.
    epoch_ms
        Duration of each non-empty epoch, from the availability of its messages to its commit.
    """

    makespan_ms: float
    epoch_ms: tuple[float, ...]

    def preceded_by(self, milliseconds: float) -> Timing:
        """Add the duration of work before the first epoch began, such as counting its keys."""
        return replace(self, makespan_ms=self.makespan_ms + milliseconds)

    def after(self, earlier: Sequence[Timing]) -> Timing:
        """Add the epochs of earlier processes of the run."""
        everything = [*earlier, self]
        return Timing(
            sum(each.makespan_ms for each in everything),
            tuple(length for each in everything for length in each.epoch_ms),
        )


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
        Time from the offer of the epoch to its commit; this time is the latency of its messages.
    """

    began: float
    waited: float
    length: float

    @property
    def ended(self) -> float:
        """Time of the epoch's commit, in ms since 1970."""
        return self.began + self.waited + self.length


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
    return Span(began, waited, float(durations["triggerExecution"]) - waited)


def timing_of(query: StreamingQuery) -> Timing:
    """Read the durations of epochs from a query's progress."""
    epochs = epochs_of(query)
    if not epochs:
        return Timing(0.0, ())
    spans = [span(each) for each in epochs]
    held = [
        each.length
        for epoch, each in zip(epochs, spans, strict=True)
        if epoch["sources"][0]["numInputRows"]
    ]
    makespan = max(each.ended for each in spans) - min(each.began for each in spans)
    return Timing(makespan, tuple(held))
