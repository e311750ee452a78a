"""DKG, table 3: the methods on twitter-election."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pandas as pd

from evenkey.experiments.dkg.methods import dataset, every_method, named
from evenkey.experiments.dkg.metrics import MODEL_NOTE
from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["PAPER", "PaperRow", "TwitterElection"]


class PaperRow(NamedTuple):
    """A row of the paper's table."""

    latency_ms: float
    stddev_percent: float
    dist_cost: float
    throughput: float


PAPER = {
    "SG": PaperRow(559_329, 0.0001, 2.4491, 9_511),
    "KG": PaperRow(3_955_045, 20.3202, 1.0000, 1_344),
    "PKG": PaperRow(1_941_879, 12.3513, 1.1647, 2_739),
    "DKG": PaperRow(1_174_979, 4.0972, 1.2414, 4_529),
}
"""The paper's table by method; throughput in records a second."""


class TwitterElection(Experiment):
    """StdDev and DistCost of the four methods on the most skewed real data set."""

    id: ClassVar[str] = "dkg-table-3"
    title: ClassVar[str] = "The methods on twitter-election"
    reference: ClassVar[str] = "DKG, table 3"
    summary: ClassVar[str] = (
        "5 sources, 10 workers, a synthetic look-alike of twitter-election of which one key has "
        f"68 %. {MODEL_NOTE} Throughput is shown relative to SG's. The paper's SG has a DistCost "
        "of 2.45 only: most of its keys occur two or three times."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods."""
        return list(every_method(dataset("twitter-election", scale)))

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """The paper's figures and ours side by side."""
        columns = [
            Column("method", "Method"),
            Column("stddev_percent", "StdDev, %, ours", ".4f"),
            Column("paper_stddev", "StdDev, %, paper", ".4f"),
            Column("dist_cost", "DistCost, ours", ".4f"),
            Column("paper_cost", "DistCost, paper", ".4f"),
            Column("relative", "Throughput bound, of SG's, ours", ".2f"),
            Column("paper_relative", "Throughput, of SG's, paper", ".2f"),
        ]
        return [Table("Metrics on twitter-election", columns, _told(frame))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """The three metrics, the paper's and ours."""
        told = _told(frame)
        pairs = {
            "StdDev, %": ("stddev_percent", "paper_stddev"),
            "DistCost, workers a key": ("dist_cost", "paper_cost"),
            "Throughput, of SG's": ("relative", "paper_relative"),
        }
        figures = pd.concat(
            told.assign(metric=metric, value=told[column], whose=whose)
            for metric, columns in pairs.items()
            for column, whose in zip(columns, ("ours", "paper"), strict=True)
        )
        figure = chart(
            figures,
            x=Axis("method", "Method", "category"),
            y=Axis("value", ""),
            group="whose",
            legend="Figures",
            panels=Grid("metric", width=3),
            kind="bars",
        )
        return [Plot("Balance, replication and throughput", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The order of the methods."""
        told = _told(frame).set_index("method")
        spread, cost = (told[column] for column in ("stddev_percent", "dist_cost"))
        order = spread.sort_values().index.tolist()
        return [
            Finding(
                "StdDev: SG is the most balanced, then DKG, PKG, KG",
                ", ".join(f"{method} {spread[method]:.2f} %" for method in order),
                order == ["SG", "DKG", "PKG", "KG"],
            ),
            Finding(
                "DistCost of DKG is close to PKG's, and far below SG's",
                ", ".join(f"{method} {cost[method]:.2f}" for method in ("KG", "PKG", "DKG", "SG")),
                cost["PKG"] <= cost["DKG"] < (cost["PKG"] + cost["SG"]) / 2,
            ),
        ]


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    told = named(frame)
    best = told.loc[told["method"] == "SG", "throughput_percent"].iloc[0]
    paper = [PAPER[method] for method in told["method"]]
    return told.assign(
        paper_stddev=[row.stddev_percent for row in paper],
        paper_cost=[row.dist_cost for row in paper],
        relative=told["throughput_percent"] / best,
        paper_relative=[row.throughput / PAPER["SG"].throughput for row in paper],
    )
