"""Count the partial results that workers send to aggregators at the end of each period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.papers.experiments import Measurement, Simulation

if TYPE_CHECKING:
    from evenkey.simulation import SimulationReport


@dataclass(frozen=True)
class PartialResults(Simulation):
    """A simulation in which a worker sends one partial result per key and period.

    A period is `epoch_messages` long.
    """

    kind: ClassVar[str] = "partial-results"

    def measured(self, report: SimulationReport) -> Measurement:
        """Add the number of partial results: of the (key, worker) pairs of all periods."""
        measurement = super().measured(report)
        sent = sum(epoch.pairs for epoch in report.epochs)
        return Measurement({**measurement.figures, "partials": sent}, measurement.series)
