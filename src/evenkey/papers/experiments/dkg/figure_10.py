"""DKG, figure 10: each method against the skewness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import Finding, Frame
from evenkey.papers.experiments.dkg.methods import PAPERS_METHODS
from evenkey.papers.experiments.dkg.metrics import plot_parts
from evenkey.papers.experiments.dkg.skewness import Skewness

if TYPE_CHECKING:
    from evenkey.reports.pictures import Plot

_MODERATE, _SEVERE = 30, 60
_STEADY = 0.8
"""Skew does not affect a method that always keeps this share of its best throughput."""


class MethodsAgainstSkewness(Skewness):
    id = "dkg-figure-10"
    title = "Each method against the skewness"
    panels = "a to d"
    summary = (
        "Country streams, 5 sources, 10 workers. One panel per method; each metric is divided by "
        "the highest value of all methods."
    )

    def plots(self, frame: Frame) -> list[Plot]:
        metrics = self.way.metrics
        return [plot_parts(frame, self.varied, metrics, group="metric", panel="method")]

    def simulated(self, frame: Frame) -> list[Finding]:
        bound = frame.pivot_table("throughput_percent", "skewness", "method")
        severe = bound.loc[_SEVERE:]
        return [
            Finding(
                "The increase of skewness does not change anything for SG",
                f"its throughput bound is {bound['SG'].min():.1f} % or more at every skewness",
                bound["SG"].min() > 99,
            ),
            Finding(
                "PKG does much better than KG up to a skewness of 60 %",
                "PKG's bound is "
                + ", ".join(
                    f"{bound.loc[percent, 'PKG'] / bound.loc[percent, 'KG']:.1f}"
                    for percent in (_MODERATE, _SEVERE)
                )
                + f" times KG's at {_MODERATE} and {_SEVERE} %",
                (bound.loc[10:_SEVERE, "PKG"] > bound.loc[10:_SEVERE, "KG"]).all(),
            ),
            Finding(
                "DKG has the second highest throughput under high skew, of 60 % and more",
                f"its bound is {severe['DKG'].min():.0f} % or more, PKG's at most "
                f"{severe['PKG'].max():.0f} %",
                (severe["DKG"] > severe[["PKG", "KG"]].max(axis=1)).all(),
            ),
        ]

    def measured(self, frame: Frame) -> list[Finding]:
        speed = frame.pivot_table("messages_per_second", "skewness", "method")
        kept = speed.min() / speed.max()
        moderate, severe = speed.loc[30:60], speed.loc[80:90, PAPERS_METHODS]
        better = moderate["PKG"] / moderate["KG"]
        seconds = severe.apply(lambda row: row.sort_values().index[-2], axis="columns")
        return [
            Finding(
                "The increase of skewness does not change anything for SG",
                f"it keeps {100 * kept['SG']:.0f} % of its best throughput, KG "
                f"{100 * kept['KG']:.0f} %",
                kept["SG"] > _STEADY,
            ),
            Finding(
                "PKG does much better than KG from 30 up to 60 % skewness",
                f"its throughput is {better.min():.1f} to {better.max():.1f} times KG's",
                better.min() > 1,
            ),
            Finding(
                "DKG has the second highest throughput even at 80 to 90 %",
                "; ".join(
                    f"at {skewness} % it has {row['DKG']:,.0f}/s, PKG {row['PKG']:,.0f}/s"
                    for skewness, row in severe.iterrows()
                ),
                (seconds == "DKG").all(),
            ),
        ]
