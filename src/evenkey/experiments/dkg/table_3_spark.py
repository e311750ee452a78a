"""DKG, table 3, on Spark: the methods on twitter-election with throughput and latency."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.on_spark import PAPERS_METHODS, SPARK_NOTE, every_run, percent_more
from evenkey.experiments.dkg.table_3 import PAPER
from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["TwitterElectionOnSpark"]

_METRICS = {
    "StdDev, %": ("stddev_percent", "paper_stddev_percent"),
    "DistCost, workers a key": ("dist_cost", "paper_dist_cost"),
    "Throughput, of SG's": ("relative", "paper_relative"),
    "Latency, of SG's": ("relative_latency", "paper_relative_latency"),
}


class TwitterElectionOnSpark(Experiment):
    """The paper's four metrics on the most skewed real data set, all of them measured."""

    id: ClassVar[str] = "dkg-table-3-spark"
    title: ClassVar[str] = "The methods on twitter-election, throughput and latency measured"
    reference: ClassVar[str] = "DKG, table 3, on Spark"
    summary: ClassVar[str] = (
        "5 sources, 10 workers, a synthetic look-alike of twitter-election of which one key has "
        f"68 %. {SPARK_NOTE}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The paper's methods, and planned grouping."""
        return list(every_run("twitter-election", scale))

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """The paper's figures and ours side by side."""
        method = Column("method", "Method")
        times = [
            method,
            Column("messages_per_second", "Throughput, messages/s, ours", ",d"),
            Column("paper_throughput", "paper", ",d"),
            Column("relative", "of SG's, ours", ".2f"),
            Column("paper_relative", "of SG's, paper", ".2f"),
            Column("makespan_ms", "Latency, ms, ours", ",d"),
            Column("paper_latency_ms", "paper", ",d"),
            Column("relative_latency", "of SG's, ours", ".2f"),
            Column("paper_relative_latency", "of SG's, paper", ".2f"),
            Column("latency_p50_ms", "An epoch, ms, p50", ",d"),
            Column("latency_p99_ms", "An epoch, ms, p99", ",d"),
        ]
        balance = [
            method,
            Column("stddev_percent", "StdDev, %, ours", ".4f"),
            Column("paper_stddev_percent", "paper", ".4f"),
            Column("dist_cost", "DistCost, ours", ".4f"),
            Column("paper_dist_cost", "paper", ".4f"),
        ]
        told = _told(frame)
        return [
            Table("Throughput and latency, measured", times, told),
            Table("Balance and replication", balance, told),
        ]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """The four metrics, the paper's and ours."""
        told = _told(frame)
        figures = pd.concat(
            told.assign(metric=metric, value=told[column], whose=whose)
            for metric, columns in _METRICS.items()
            for column, whose in zip(columns, ("ours", "paper"), strict=True)
        )
        figure = chart(
            figures.dropna(subset=["value"]),
            x=Axis("method", "Method", "category"),
            y=Axis("value", ""),
            group="whose",
            legend="Figures",
            panels=Grid("metric"),
            kind="bars",
        )
        return [Plot("The paper's metrics", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The order of the methods."""
        told = _told(frame).set_index("method").loc[PAPERS_METHODS]
        speed, latency, spread = (
            told[column] for column in ("messages_per_second", "makespan_ms", "stddev_percent")
        )
        fastest = speed.sort_values(ascending=False).index.tolist()
        gain, paper_gain = (
            percent_more(figures["DKG"], figures["PKG"])
            for figures in (speed, told["paper_throughput"])
        )
        return [
            Finding(
                "Throughput: SG is the fastest, then DKG, PKG, KG",
                ", ".join(f"{method} {speed[method]:,.0f}/s" for method in fastest),
                fastest == ["SG", "DKG", "PKG", "KG"],
            ),
            Finding(
                f"DKG has a much higher throughput ({paper_gain}) than PKG and a lower latency "
                f"({percent_more(PAPER['DKG'].latency_ms, PAPER['PKG'].latency_ms)})",
                f"throughput {gain}, latency {percent_more(latency['DKG'], latency['PKG'])}",
                speed["DKG"] > speed["PKG"] and latency["DKG"] < latency["PKG"],
            ),
            Finding(
                "StdDev: SG is the most balanced, then DKG, PKG, KG",
                ", ".join(f"{method} {spread[method]:.2f} %" for method in spread.index),
                spread.sort_values().index.tolist() == ["SG", "DKG", "PKG", "KG"],
            ),
        ]


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    told = named(frame)
    (best,) = told[told["method"] == "SG"].to_dict("records")
    paper = pd.DataFrame(
        [PAPER[method]._asdict() if method in PAPER else {} for method in told["method"]],
        index=told.index,
    ).add_prefix("paper_")
    return told.assign(
        **paper,
        relative=told["messages_per_second"] / best["messages_per_second"],
        paper_relative=paper["paper_throughput"] / PAPER["SG"].throughput,
        relative_latency=told["makespan_ms"] / best["makespan_ms"],
        paper_relative_latency=paper["paper_latency_ms"] / PAPER["SG"].latency_ms,
    )
