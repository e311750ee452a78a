"""The country streams from no skew to all messages with one key, for figures 10 and 11."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from evenkey.experiments.dkg.methods import dataset, every_method, figure_columns, named
from evenkey.experiments.experiment import NOT_GIVEN, Experiment
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.experiment import Plot
    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["SKEWNESS", "Skewness"]

SKEWNESS = "Skewness ratio, %"
_PERCENTS = range(0, 101, 10)


class Skewness(Experiment):
    """The four methods on the eleven country streams: 5 sources, 10 workers."""

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods at every skewness."""
        return [
            each
            for percent in _PERCENTS
            for each in every_method(dataset(f"country-skew-r{percent}", scale))
        ]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a skewness and method."""
        columns = [
            Column("skewness", SKEWNESS, "d"),
            Column("method", "Method"),
            *figure_columns(),
            Column("paper", "Paper"),
        ]
        return [Table("Metrics", columns, named(frame).assign(paper=NOT_GIVEN))]

    @abstractmethod
    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Plots of the results."""
