"""Joins, figure 5: latency against skew."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Finding
from evenkey.experiments.joins.join_run import DEVIATIONS
from evenkey.experiments.joins.modes import (
    CLUSTERED,
    Measure,
    ModesAgainstSkew,
    mode_table,
    paired,
)
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.table import Table

__all__ = ["LatencyOfModes"]


class LatencyOfModes(ModesAgainstSkew):
    """Latency of every mode and pipeline."""

    id: ClassVar[str] = "joins-figure-5"
    title: ClassVar[str] = "Latency of joins against skew"
    reference: ClassVar[str] = "Joins, figure 5"
    summary: ClassVar[str] = (
        "The time that an epoch takes; it shares its results with figure 4. "
        f"{CLUSTERED} {DEVIATIONS}"
    )
    measure: ClassVar[Measure] = Measure("latency", "ms", "modelled_latency_ms", "latency_mean_ms")

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Measured and modelled latency."""
        return [
            mode_table(
                frame,
                Column("modelled_latency_ms", "Modelled, ms", ",.1f"),
                Column("latency_mean_ms", "Measured, ms", ",.0f"),
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
