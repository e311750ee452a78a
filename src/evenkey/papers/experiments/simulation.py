"""Scenarios that simulate a grouping on a stream."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.metrics import max_over_mean
from evenkey.groupings import parse
from evenkey.papers.experiments.scenario import Measurement, Scenario
from evenkey.simulation import Setting, simulate_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from evenkey.groupings import By
    from evenkey.papers.experiments.scenario import OnMessages
    from evenkey.simulation import Feed, HashName, SimulationReport

_FIGURES = (
    "messages",
    "max_over_mean",
    "imbalance_fraction",
    "average_imbalance_fraction",
    "stddev_percent",
)
"""Figures of a report that become figures of the result; no clock measures them."""

_OF_REPLICATION = ("keys", "dist_cost", "pairs")
"""Figures that the result also has if replication is counted."""


@dataclass(frozen=True)
class Simulation(Scenario):
    """A simulation of a grouping on a stream.

    Parameters
    ----------
    grouping, workers, sources, readers, feed, estimation, hash, agreement, epoch_messages
        As for `evenkey.simulation.simulate`.
    route_by, observe_by
        As for `evenkey.simulation.simulate`.
    samples
        Number of points of the series to keep; 0 keeps none.
    replication
        As for `evenkey.simulation.simulate`.
    """

    kind: ClassVar[str] = "simulation"

    grouping: str
    workers: int
    sources: int = 5
    readers: int = 1
    feed: Feed = "shuffle"
    estimation: str = "local"
    hash: HashName = "xxhash64"
    agreement: bool = False
    epoch_messages: int | None = None
    route_by: By = "messages"
    observe_by: By = "messages"
    samples: int = 0
    replication: bool = True

    @property
    def at_once(self) -> int:
        """1 if the grouping keeps every key in memory, since keys may be millions; otherwise 6."""
        grouping = parse(self.grouping)
        return 1 if grouping.remembers_every_key or grouping.given_frequencies else 6

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Run the simulation."""
        (measurement,) = self.measure_all([self], on_messages)
        return measurement

    @classmethod
    def measure_all(
        cls, scenarios: Sequence[Self], on_messages: OnMessages | None = None
    ) -> list[Measurement]:
        """Run the simulations in one pass over the stream."""
        with scenarios[0].dataset.opened() as stream:
            settings = [each.setting for each in scenarios]
            reports = simulate_all(stream, settings, on_progress=on_messages)
        return [each.measured(report) for each, report in zip(scenarios, reports, strict=True)]

    @property
    def setting(self) -> Setting:
        """The arguments for the simulator."""
        own = {each.name: getattr(self, each.name) for each in dataclasses.fields(Setting)}
        return Setting(**{**own, "samples": max(1, self.samples)})

    def measured(self, report: SimulationReport) -> Measurement:
        """Return the figures of a report that the result has."""
        given = report.to_json()
        figures = {name: given[name] for name in _FIGURES}
        if self.replication:
            figures |= {name: given[name] for name in _OF_REPLICATION}
        figures |= given.get("agreement") or {}
        if self.observe_by == "weights":
            # Messages of all weights cost the same, so throughput depends on their number.
            figures["messages_max_over_mean"] = max_over_mean(report.messages_held)
        return Measurement(figures, report.series if self.samples else None)
