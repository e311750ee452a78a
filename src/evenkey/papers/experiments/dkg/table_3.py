"""DKG, table 3: the methods on twitter-election."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.methods import named
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame


class _PaperRow(NamedTuple):
    latency_ms: float
    stddev_percent: float
    dist_cost: float
    throughput: float


PAPER = {
    "SG": _PaperRow(559_329, 0.0001, 2.4491, 9_511),
    "KG": _PaperRow(3_955_045, 20.3202, 1.0000, 1_344),
    "PKG": _PaperRow(1_941_879, 12.3513, 1.1647, 2_739),
    "DKG": _PaperRow(1_174_979, 4.0972, 1.2414, 4_529),
}
"""The paper's table, by method; throughput in records per second."""


_PANELS = {
    "StdDev, %": "stddev_percent",
    "DistCost, workers a key": "dist_cost",
    "Throughput, of SG's": "relative",
    "Latency, of SG's": "relative_latency",
}
"""Columns to draw beside those of the paper, by title. Latency is drawn only if it was measured."""


class TwitterElection(Comparison):
    id = "dkg-table-3"
    title = "The methods on twitter-election"
    settings = (Setting("twitter-election"),)
    varied = Axis("method", "Method", "category")
    summary = (
        "5 spouts, 10 workers, a synthetic look-alike of twitter-election of which one key has "
        "68 %. Throughput is shown relative to SG's. The paper's SG has a DistCost of 2.45 only: "
        "most of its keys occur two or three times."
    )

    def labelled(self, frame: Frame) -> Frame:
        rows = named(frame)
        paper = [PAPER[method]._asdict() if method in PAPER else {} for method in rows["method"]]
        rows = rows.join(pd.DataFrame(paper, index=rows.index).add_prefix("paper_"))
        figures = {
            "relative": "messages_per_second" if self.on_spark else "throughput_percent",
            "paper_relative": "paper_throughput",
        }
        if self.on_spark:
            figures["relative_latency"] = "makespan_ms"
            figures["paper_relative_latency"] = "paper_latency_ms"
        return rows.assign(**{name: _of_sg(rows, figure) for name, figure in figures.items()})

    def tables(self, frame: Frame) -> list[Table]:
        method = Column("method", "Method")
        balance = [
            Column("stddev_percent", "StdDev, %, ours", ".4f"),
            Column("paper_stddev_percent", "StdDev, %, paper", ".4f"),
            Column("dist_cost", "DistCost, ours", ".4f"),
            Column("paper_dist_cost", "DistCost, paper", ".4f"),
        ]
        relative = [
            Column("relative", "of SG's, ours", ".2f"),
            Column("paper_relative", "of SG's, paper", ".2f"),
        ]
        times = [
            Column("messages_per_second", "Throughput, messages/s, ours", ",d"),
            Column("paper_throughput", "paper", ",d"),
            *relative,
            Column("makespan_ms", "Latency, ms, ours", ",d"),
            Column("paper_latency_ms", "paper", ",d"),
            Column("relative_latency", "of SG's, ours", ".2f"),
            Column("paper_relative_latency", "of SG's, paper", ".2f"),
            Column("latency_p50_ms", "An epoch, ms, p50", ",d"),
        ]
        if not self.on_spark:
            bound = [replace(relative[0], title="Throughput bound, of SG's, ours"), relative[1]]
            return [Table("Metrics on twitter-election", [method, *balance, *bound], frame)]
        return [
            Table("Throughput and latency, measured", [method, *times], frame),
            Table("Balance and replication", [method, *balance], frame),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        panels = {title: column for title, column in _PANELS.items() if column in frame}
        values = pd.concat(
            frame.assign(metric=title, ours=frame[column], paper=frame[f"paper_{column}"])
            for title, column in panels.items()
        )
        chart = Chart(
            "The paper's metrics" if self.on_spark else "Balance, replication and throughput",
            self.varied,
            Axis("value", ""),
            panels=Grid("metric", width=2 if self.on_spark else 3),
            kind="bars",
            beside={"ours": "ours", "paper": "paper"},
        )
        return [chart.plot(values)]


def _of_sg(frame: Frame, figure: str) -> pd.Series[float]:
    """Divide a figure of each method by the figure of SG."""
    return frame[figure] / frame.loc[frame["method"] == "SG", figure].iloc[0]
