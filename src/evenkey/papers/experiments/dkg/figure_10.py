"""DKG, figure 10: each method against the skewness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.dkg.comparison import Skewness
from evenkey.papers.experiments.dkg.metrics import plot_parts

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame
    from evenkey.reports.pictures import Plot


class MethodsAgainstSkewness(Skewness):
    id = "dkg-figure-10"
    title = "Each method against the skewness"
    panels = "a to d"
    summary = (
        "Country streams, 5 spouts, 10 workers. One panel per method; each metric is divided by "
        "the highest value of all methods."
    )

    def plots(self, frame: Frame) -> list[Plot]:
        metrics = self.way.metrics
        return [plot_parts(frame, self.varied, metrics, group="metric", panel="method")]
