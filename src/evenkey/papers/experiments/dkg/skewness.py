"""The country streams, from no skew to a single key, for figures 10 and 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis

if TYPE_CHECKING:
    from evenkey.papers.experiments import Scale


class Skewness(Comparison):
    """A figure of the methods on the eleven country streams, with 5 spouts and 10 workers."""

    varied = Axis("skewness", "Skewness ratio, %")
    settings = tuple(Setting(f"country-skew-r{percent}") for percent in range(0, 101, 10))

    def chosen(self, scale: Scale) -> tuple[Setting, ...]:
        return self.settings[::3] if self.on_spark and not scale.whole else self.settings
