"""Joins, figure 5: latency against skew."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis
from evenkey.experiments.joins.join_run import DEVIATIONS
from evenkey.experiments.joins.modes import CLUSTERED, against_skew, every_mode, mode_table, paired
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario
    from evenkey.experiments.table import Table

__all__ = ["LatencyOfModes"]


class LatencyOfModes(Experiment):
    """Latency of every mode and pipeline."""

    id: ClassVar[str] = "joins-figure-5"
    title: ClassVar[str] = "Latency of joins against skew"
    reference: ClassVar[str] = "Joins, figure 5"
    summary: ClassVar[str] = (
        "The time that an epoch takes; it shares its results with figure 4. "
        f"{CLUSTERED} {DEVIATIONS}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every mode of every pipeline at every skew."""
        return every_mode(scale)

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Measured and modelled latency."""
        return [
            mode_table(
                frame,
                Column("modelled_latency_ms", "Modelled, ms", ",.1f"),
                Column("latency_mean_ms", "Measured, ms", ",.0f"),
            )
        ]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Modelled and measured latency."""
        return [
            Plot(f"{name} latency", against_skew(frame, Axis(column, "ms")))
            for name, column in (
                ("Modelled", "modelled_latency_ms"),
                ("Measured", "latency_mean_ms"),
            )
        ]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """What the paper says of latency, of modelled figures."""
        figure = "modelled_latency_ms"
        load, place = paired(frame, figure, "lb", "db"), paired(frame, figure, "stal", "strl")
        return [
            Finding(
                "LB modes generally have a lower latency than DB modes",
                f"{load.median():.2f} times it in the median of pairs, {load.max():.2f} at most",
                load.median() <= 1,
            ),
            Finding(
                "STAL modes generally have a lower latency than STRL modes",
                f"{place.median():.2f} times it in the median of pairs, {place.max():.2f} at most",
                place.median() <= 1,
            ),
        ]
