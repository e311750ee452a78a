"""The country streams from no skew to all messages with one key, for figures 10 and 11."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from evenkey.experiments.dkg.methods import dataset, every_method
from evenkey.experiments.dkg.metrics import metrics_table
from evenkey.experiments.experiment import Experiment
from evenkey.experiments.figures import Axis
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.experiment import Plot
    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario
    from evenkey.experiments.table import Table

__all__ = ["PERCENTS", "SKEWNESS", "Skewness"]

SKEWNESS = Axis("skewness", "Skewness ratio, %")
PERCENTS = range(0, 101, 10)


class Skewness(Experiment):
    """The four methods on the eleven country streams: 5 sources, 10 workers."""

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods at every skewness."""
        return [
            each
            for percent in PERCENTS
            for each in every_method(dataset(f"country-skew-r{percent}", scale))
        ]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a skewness and method."""
        return [metrics_table(frame, Column(SKEWNESS.column, SKEWNESS.title, "d"))]

    @abstractmethod
    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Plots of the results."""
