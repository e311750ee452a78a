"""Scenarios of the simulator: a grouping on a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.scenario import Measurement, Scenario
from evenkey.metrics import max_over_mean
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from evenkey.experiments.scenario import OnMessages
    from evenkey.groupings import By
    from evenkey.simulation import Feed, HashName

_FIGURES = (
    "messages",
    "keys",
    "max_over_mean",
    "imbalance_fraction",
    "average_imbalance_fraction",
    "stddev_percent",
    "dist_cost",
    "pairs",
)
"""What is kept of a report: nothing that a clock measured."""


@dataclass(frozen=True)
class Simulation(Scenario):
    """A grouping on a stream, simulated.

    Parameters
    ----------
    grouping, workers, sources, feed, estimation, hash, agreement, epoch_messages
        As for `evenkey.simulation.simulate`.
    route_by, observe_by
        As for `evenkey.simulation.simulate`.
    samples
        Points of the series to keep; 0 keeps none.
    """

    kind: ClassVar[str] = "simulation"

    grouping: str
    workers: int
    sources: int = 5
    feed: Feed = "shuffle"
    estimation: str = "local"
    hash: HashName = "xxhash64"
    agreement: bool = False
    epoch_messages: int | None = None
    route_by: By = "messages"
    observe_by: By = "messages"
    samples: int = 0

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Simulate it."""
        with self.dataset.opened() as stream:
            report = simulate(
                stream,
                self.grouping,
                workers=self.workers,
                sources=self.sources,
                feed=self.feed,
                estimation=self.estimation,
                hash=self.hash,
                agreement=self.agreement,
                epoch_messages=self.epoch_messages,
                route_by=self.route_by,
                observe_by=self.observe_by,
                samples=max(1, self.samples),
                on_progress=on_messages,
            )
        given = report.to_json()
        figures = {name: given[name] for name in _FIGURES} | dict(given.get("agreement") or {})
        if self.observe_by == "weights":
            # Work is done by message, so it is these that a throughput goes by.
            figures["messages_max_over_mean"] = max_over_mean(report.messages_held)
        return Measurement(figures, report.series if self.samples else None)
