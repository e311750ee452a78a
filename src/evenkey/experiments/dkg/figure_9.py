"""DKG, figure 9: the methods on the real data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from evenkey.experiments.dkg.methods import (
    FIGURES,
    MODEL_NOTE,
    dataset,
    every_method,
    figure_columns,
    named,
)
from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["RealDataSets"]

_PANELS = {
    "twitter-election": "a",
    "twitter-ticker": "b",
    "wikipedia-clickstream": "c",
    "wikipedia-pageviews": "d",
    "wikipedia-pageviews-by-lang": "e",
}
_SHORT = dict(zip(FIGURES, ("StdDev", "DistCost", "Fullest worker", "Throughput"), strict=True))


class RealDataSets(Experiment):
    """Normalised metrics of the four methods on five data sets."""

    id: ClassVar[str] = "dkg-figure-9"
    title: ClassVar[str] = "The methods on the real data sets"
    reference: ClassVar[str] = "DKG, figure 9 a to e"
    summary: ClassVar[str] = (
        "5 sources, 10 workers, synthetic look-alikes. As in the paper, each metric is divided by "
        f"the highest value that a method has on that data set. {MODEL_NOTE}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods on every data set."""
        return [each for name in _PANELS for each in every_method(dataset(name, scale))]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a data set and method."""
        columns = [Column("data", "Data set"), Column("method", "Method"), *figure_columns()]
        rows = named(frame).assign(paper=NOT_GIVEN)
        return [Table("Metrics", [*columns, Column("paper", "Paper")], rows)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a data set, a colour a method."""
        told = named(frame)
        highest = told.groupby("data")[list(FIGURES)].transform("max")
        figures = pd.concat(
            told.assign(metric=_SHORT[figure], share=told[figure] / highest[figure])
            for figure in FIGURES
        )
        titles = {name: f"({letter}) {name}" for name, letter in _PANELS.items()}
        figure = chart(
            figures.assign(panel=figures["data"].map(titles)),
            x=Axis("metric", "", "category"),
            y=Axis("share", "Part of the highest value"),
            group="method",
            legend="Method",
            panels=Grid("panel"),
            kind="bars",
        )
        note = "StdDev, DistCost and the fullest worker are better when low, throughput when high."
        return [Plot("Metrics as parts of the highest", figure, note)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """DKG pays where the skew is high."""
        told = named(frame)
        spread = told.pivot_table("stddev_percent", "data", "method")
        cost = told.pivot_table("dist_cost", "data", "method")
        election = spread.loc["twitter-election"]
        others = spread.drop(index="twitter-election")
        gap = (others["DKG"] - others["PKG"]).abs().max()
        return [
            Finding(
                "SG has the highest DistCost, KG the lowest",
                f"on {((cost.idxmax(axis=1) == 'SG') & (cost.idxmin(axis=1) == 'KG')).sum()} of "
                f"{len(cost)} data sets",
                bool(((cost.idxmax(axis=1) == "SG") & (cost.idxmin(axis=1) == "KG")).all()),
            ),
            Finding(
                "On twitter-election DKG has a lower StdDev than PKG, at a close DistCost",
                f"{election['DKG']:.2f} % against {election['PKG']:.2f} %, DistCost "
                f"{cost.loc['twitter-election', 'DKG']:.2f} against "
                f"{cost.loc['twitter-election', 'PKG']:.2f}",
                bool(election["DKG"] < election["PKG"]),
            ),
            Finding(
                "On the other data sets, whose skew is lower, PKG and DKG are similar",
                f"their StdDev differs by at most {gap:.2f} percentage points",
                bool(gap < 1),
            ),
        ]
