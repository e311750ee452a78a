"""DKG, section 5.5: more workers at several skewness ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.metrics import SIMULATED, metrics_table
from evenkey.papers.experiments.dkg.ways import SIMULATION, Setting
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame

_WORKERS = (10, 50, 100)
_NONE_UNDER_SG = "stddev_percent"
"""The metric that is 0 under SG, which a logarithmic axis would leave out."""


class MoreWorkersAndSkew(Comparison):
    id = "dkg-section-5-5"
    title = "More workers at several skewness ratios"
    ways = (SIMULATION,)
    settings = tuple(
        Setting(f"country-skew-r{percent}", workers=workers)
        for percent in (40, 70, 90)
        for workers in _WORKERS
    )
    varied = Axis("workers", "Workers", "category")
    summary = "Country streams, 5 spouts: figure 12 at three skewness ratios."

    def tables(self, frame: Frame) -> list[Table]:
        table = metrics_table(frame, Column("workers", "Workers", "d"), SIMULATED)
        skewness = Column("skewness", "Skewness ratio, %", "d")
        return [Table(table.title, [skewness, *table.columns], frame)]

    def plots(self, frame: Frame) -> list[Plot]:
        return [
            Chart(
                metric.title,
                self.varied,
                Axis(name, metric.title, "linear" if name == _NONE_UNDER_SG else "log"),
                "method",
                panels=Grid("panel", "Skewness ratio {}", width=3, shared=True),
            ).plot(frame.assign(panel=[f"{skewness:.0f} %" for skewness in frame["skewness"]]))
            for name, metric in SIMULATED.items()
        ]
