"""DKG, figure 9: the methods on look-alikes of the real data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.metrics import plot_parts
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis, Plot

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame

_PANELS = {
    "twitter-election": "(a) twitter-election",
    "twitter-ticker": "(b) twitter-ticker",
    "wikipedia-clickstream": "(c) wikipedia-clickstream",
    "wikipedia-pageviews": "(d) wikipedia-pageviews",
    "wikipedia-pageviews-by-lang": "(e) wikipedia-pageviews-by-lang",
}
"""Titles of the figure's panels by data set."""


class RealDataSets(Comparison):
    id = "dkg-figure-9"
    title = "The methods on look-alikes of the real data sets"
    panels = "a to e"
    settings = tuple(Setting(name) for name in _PANELS)
    varied = Axis("data", "Data set", "category")
    summary = (
        "5 spouts, 10 workers, synthetic look-alikes. As in the paper, each metric is divided by "
        "the highest value that a method has on that data set. Records of the clickstream and of "
        "the languages have weights: as in the reference code each is routed, and costs, as one "
        "message. So throughput counts records, and the loads of StdDev and of the maximum load "
        "are weights: the loads can differ while the throughput is that of balanced workers."
    )

    def plots(self, frame: Frame) -> list[Plot]:
        low = "Latency, StdDev and DistCost"
        if not self.on_spark:
            low = "StdDev, DistCost and the maximum load"
        plot = plot_parts(
            frame.assign(panel=frame["data"].map(_PANELS)),
            Axis("metric", "", "category"),
            self.way.metrics,
            group="method",
            panel="panel",
            within="data",
            kind="bars",
            note=f"{low} are better when low, throughput when high.",
        )
        return [plot]
