"""Joins, figure 5: latency against skew."""

from __future__ import annotations

from evenkey.papers.experiments import Finding, Frame
from evenkey.papers.experiments.joins.join_run import DEVIATIONS
from evenkey.papers.experiments.joins.mode_comparison import (
    CLUSTERED,
    SETTING_OF_MODES,
    ModesAgainstSkew,
    against_skew,
    paired,
)
from evenkey.reports.pictures import Column


class LatencyOfModes(ModesAgainstSkew):
    id = "joins-figure-5"
    title = "Latency of joins against skew"
    summary = (
        "The time that an epoch takes; it shares its results with figure 4. "
        f"{CLUSTERED} {DEVIATIONS}"
    )
    charts = against_skew("latency", "ms", "modelled_latency_ms", "latency_mean_ms")
    columns = (
        *SETTING_OF_MODES,
        Column("modelled_latency_ms", "Modelled, ms", ",.1f"),
        Column("latency_mean_ms", "Measured, ms", ",.0f"),
    )

    def findings(self, frame: Frame) -> list[Finding]:
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
