"""DKG, figure 9: the methods on the real data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import dataset, every_method, named, placed
from evenkey.experiments.dkg.metrics import MODEL_NOTE, SIMULATED, metrics_table, plot_parts
from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evenkey.experiments.dkg.metrics import Metric
    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario
    from evenkey.experiments.table import Table

_LIKE = 0.95
"""Part of the best throughput from which on one counts as equal to it."""

__all__ = ["PANELS", "RealDataSets", "plot_data_sets"]

PANELS = {
    "twitter-election": "(a) twitter-election",
    "twitter-ticker": "(b) twitter-ticker",
    "wikipedia-clickstream": "(c) wikipedia-clickstream",
    "wikipedia-pageviews": "(d) wikipedia-pageviews",
    "wikipedia-pageviews-by-lang": "(e) wikipedia-pageviews-by-lang",
}
"""Titles of the figure's panels by data set."""


def plot_data_sets(frame: pd.DataFrame, metrics: Mapping[str, Metric], note: str) -> Plot:
    """A panel a data set, a colour a method; `note` stands below."""
    told = placed(frame)
    return plot_parts(
        told.assign(panel=told["data"].map(PANELS)),
        Axis("metric", "", "category"),
        group="method",
        panel="panel",
        within="data",
        kind="bars",
        metrics=metrics,
        note=note,
    )


class RealDataSets(Experiment):
    """Normalised metrics of the four methods on five data sets."""

    id: ClassVar[str] = "dkg-figure-9"
    title: ClassVar[str] = "The methods on the real data sets"
    reference: ClassVar[str] = "DKG, figure 9 a to e"
    summary: ClassVar[str] = (
        "5 sources, 10 workers, synthetic look-alikes. As in the paper, each metric is divided by "
        "the highest value that a method has on that data set. Records of the clickstream and of "
        "the languages have weights: as in the reference code each is routed, and costs, as one "
        f"message, and StdDev is of what they weigh. {MODEL_NOTE}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods on every data set."""
        return [each for name in PANELS for each in every_method(dataset(name, scale))]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a data set and method."""
        return [metrics_table(frame, Column("data", "Data set"))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a data set, a colour a method."""
        note = "StdDev, DistCost and the fullest worker are better when low, throughput when high."
        return [plot_data_sets(frame, SIMULATED, note)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """DKG pays where the skew is high."""
        told = named(frame)
        spread = told.pivot_table("stddev_percent", "data", "method")
        cost = told.pivot_table("dist_cost", "data", "method")
        ordered = (cost.idxmax(axis=1) == "SG") & (cost.idxmin(axis=1) == "KG")
        election, election_cost = spread.loc["twitter-election"], cost.loc["twitter-election"]
        similar = spread.loc[["twitter-ticker", "wikipedia-pageviews"]]
        languages = spread.loc["wikipedia-pageviews-by-lang"]
        gap = (similar["DKG"] - similar["PKG"]).abs().max()
        clicks, click_cost = spread.loc["wikipedia-clickstream"], cost.loc["wikipedia-clickstream"]
        through = told.pivot_table("throughput_percent", "data", "method")
        even = through.loc["wikipedia-clickstream"]
        return [
            Finding(
                "SG has the highest DistCost, KG the lowest",
                f"on {ordered.sum()} of {len(cost)} data sets",
                ordered.all(),
            ),
            Finding(
                "On twitter-election DKG has a lower StdDev than PKG, at a close DistCost",
                f"{election['DKG']:.2f} % against {election['PKG']:.2f} %, DistCost "
                f"{election_cost['DKG']:.2f} against {election_cost['PKG']:.2f}",
                election["DKG"] < election["PKG"],
            ),
            Finding(
                "On twitter-ticker and the page views PKG and DKG are similar",
                f"their StdDev differs by at most {gap:.2f} percentage points, and on "
                f"wikipedia-pageviews-by-lang it is {languages['PKG']:.2f} % (PKG) and "
                f"{languages['DKG']:.2f} % (DKG), where KG has {languages['KG']:.2f} %",
                gap < 1 and max(languages["PKG"], languages["DKG"]) < languages["KG"] / 2,
            ),
            Finding(
                "On wikipedia-clickstream KG does better than the other methods",
                f"records are even enough that KG's throughput is {even['KG']:.1f} % of the bound, "
                f"and its DistCost is {click_cost['KG']:.2f} against {click_cost['PKG']:.2f} (PKG) "
                f"and {click_cost['DKG']:.2f} (DKG); StdDev of clicks {clicks['KG']:.2f} %, "
                f"{clicks['PKG']:.2f} %, {clicks['DKG']:.2f} %",
                even["KG"] > _LIKE * even.max() and click_cost.idxmin() == "KG",
            ),
        ]
