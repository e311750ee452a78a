"""How long the epochs of a run took, by Spark's reports of its query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True)
class Timing:
    """When the epochs of a run ran.

    Parameters
    ----------
    makespan_ms
        From the start of the first epoch to the last commit, windows closed; of a run that was
        stopped and went on, the sum over its processes.
    epoch_ms
        Duration of each epoch that held messages, from when these were there to its commit.
    """

    makespan_ms: float
    epoch_ms: tuple[float, ...]

    def preceded_by(self, milliseconds: float) -> Timing:
        """Add work that was done for the first epoch before it began, such as counting it."""
        return replace(self, makespan_ms=self.makespan_ms + milliseconds)

    def after(self, earlier: Sequence[Timing]) -> Timing:
        """Add the epochs of earlier processes of the run."""
        everything = [*earlier, self]
        return Timing(
            sum(each.makespan_ms for each in everything),
            tuple(length for each in everything for length in each.epoch_ms),
        )


class Span(NamedTuple):
    """When an epoch ran, in ms.

    Parameters
    ----------
    began
        When Spark asked the source for it, since 1970.
    waited
        Until the source offered it: where messages arrive at a rate, until they were there.
    length
        From there to its commit: the latency of what it holds.
    """

    began: float
    waited: float
    length: float

    @property
    def ended(self) -> float:
        """When it was committed, since 1970."""
        return self.began + self.waited + self.length


def ran(progress: Any) -> bool:
    """Whether a report is of an epoch: an idle query reports the number of the epoch to come."""
    return "addBatch" in progress["durationMs"]


def epochs_of(query: StreamingQuery) -> list[dict[str, Any]]:
    """Progress of the epochs that ran, without the reports of an idle query."""
    return [each for each in query.recentProgress if ran(each)]


def span(progress: Any) -> Span:
    """Read from an epoch's progress when it ran."""
    began = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
    durations = progress["durationMs"]
    # An epoch that an earlier process began is not asked for again.
    waited = float(durations.get("latestOffset", 0))
    return Span(began, waited, float(durations["triggerExecution"]) - waited)


def timing_of(query: StreamingQuery) -> Timing:
    """Read from a query's progress how long its epochs took."""
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
