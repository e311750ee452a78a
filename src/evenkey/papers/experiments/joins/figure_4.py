"""Joins, figure 4: throughput against skew."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    import pandas as pd


class ThroughputOfModes(ModesAgainstSkew):
    id = "joins-figure-4"
    title = "Throughput of joins against skew"
    summary = f"{CLUSTERED} {DEVIATIONS}"
    charts = against_skew("throughput", "Publications/s", "modelled_throughput", "throughput")
    columns = (
        *SETTING_OF_MODES,
        Column("modelled_throughput", "Modelled, publications/s", ",.0f"),
        Column("throughput", "Measured, publications/s", ",.0f"),
        Column("redistributions", "Redistributions", ".0f"),
        Column("mldc_first", "MLDC, first epoch", ".2f"),
        Column("mldc_last", "last epoch", ".2f"),
        Column("static_loads", "Static loads", ",.0f"),
    )

    def findings(self, frame: Frame) -> list[Finding]:
        figure = "modelled_throughput"
        load, place = (
            paired(frame, figure, *names).groupby("pipeline").median()
            for names in (("lb", "db"), ("stal", "strl"))
        )
        skewed = frame[frame["skew"] == frame.groupby("pipeline")["skew"].transform("max")]
        wide = skewed.pivot_table(figure, "pipeline", "mode")
        gain = wide["dynamic-lb-stal"] / wide["static-strl"]
        return [
            Finding(
                "LB modes reach a higher throughput than DB modes in all pipelines",
                f"{_each(load)} times it in the median of pairs",
                load.min() >= 1,
            ),
            Finding(
                "STAL modes reach a higher throughput than STRL modes in all pipelines",
                f"{_each(place)} times it in the median of pairs",
                place.min() >= 1,
            ),
            Finding(
                "With much skew, Dynamic LB STAL is far above the baseline Static STRL",
                f"{_each(gain)} times it, each at its greatest nominal s",
                gain.min() > 1,
            ),
        ]


def _each(figures: pd.Series[float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
