"""DKG, figure 9, on Spark: the methods on the real data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.figure_9 import PANELS, plot_data_sets
from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.metrics import MEASURED
from evenkey.experiments.dkg.on_spark import PAPERS_METHODS, SPARK_NOTE, OnSpark, every_run
from evenkey.experiments.experiment import Finding, Plot
from evenkey.experiments.figures import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["RealDataSetsOnSpark"]

_SIMILAR = 0.15
"""Part by which throughputs may differ and count as similar."""


class RealDataSetsOnSpark(OnSpark):
    """Normalised metrics of the methods on five data sets, throughput and latency measured."""

    id: ClassVar[str] = "dkg-figure-9-spark"
    title: ClassVar[str] = "The methods on the real data sets, throughput and latency measured"
    reference: ClassVar[str] = "DKG, figure 9 a to e, on Spark"
    setting: ClassVar[Axis] = Axis("data", "Data set", "category")
    summary: ClassVar[str] = (
        "5 sources, 10 workers, synthetic look-alikes. As in the paper, each metric is divided by "
        "the highest value that a method has on that data set. Records of the clickstream and of "
        "the languages have weights: each is routed, and costs, as one message, and StdDev is of "
        f"what they weigh. {SPARK_NOTE}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every method on every data set."""
        return [each for name in PANELS for each in every_run(name, scale)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a data set, a colour a method."""
        note = "Latency, StdDev and DistCost are better when low, throughput when high."
        return [plot_data_sets(frame, MEASURED, note)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """DKG pays where the skew is high."""
        told = named(frame)
        papers = told.pivot_table("messages_per_second", "data", "method")[PAPERS_METHODS]
        election = papers.loc["twitter-election"]
        close = papers.loc[["twitter-ticker", "wikipedia-pageviews", "wikipedia-pageviews-by-lang"]]
        gap = (close["DKG"] / close["PKG"] - 1).abs()
        clicks = papers.loc["wikipedia-clickstream"]
        return [
            Finding(
                "On twitter-election SG has the highest throughput, then DKG, PKG, KG",
                ", ".join(f"{method} {election[method]:,.0f}/s" for method in PAPERS_METHODS),
                election.sort_values(ascending=False).index.tolist() == ["SG", "DKG", "PKG", "KG"],
            ),
            Finding(
                "On twitter-ticker and the page views PKG and DKG are similar",
                f"their throughputs differ by at most {100 * gap.max():.0f} %",
                gap.max() < _SIMILAR,
            ),
            Finding(
                "On wikipedia-clickstream KG does better than the other methods",
                ", ".join(f"{method} {clicks[method]:,.0f}/s" for method in PAPERS_METHODS),
                clicks.idxmax() == "KG",
            ),
        ]
