"""The country streams from no skew to all messages with one key, for figures 10 and 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.experiments.dkg.comparison import Comparison
from evenkey.experiments.dkg.ways import Setting
from evenkey.pictures import Axis

if TYPE_CHECKING:
    from evenkey.experiments import Scale

_PERCENTS = range(0, 101, 10)
_QUICK_PERCENTS = (0, 30, 60, 90)
"""At scale quick on Spark."""


class Skewness(Comparison):
    """The methods on the eleven country streams: 5 sources, 10 workers."""

    varied = Axis("skewness", "Skewness ratio, %")

    def settings(self, scale: Scale) -> list[Setting]:
        few = self.on_spark and not scale.whole
        percents = _QUICK_PERCENTS if few else _PERCENTS
        return [Setting(f"country-skew-r{percent}") for percent in percents]
