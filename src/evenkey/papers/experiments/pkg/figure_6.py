"""PKG, figure 6: how often local estimation and the oracle choose different workers (Q2)."""

from __future__ import annotations

from evenkey.papers.experiments import (
    NOT_GIVEN,
    Experiment,
    Frame,
    Scale,
    Simulation,
    spelled,
)
from evenkey.papers.experiments.pkg.paper_streams import STREAMS, dataset, zipf
from evenkey.papers.experiments.pkg.techniques import EXPONENT, IMBALANCE, pkg
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

_EXPONENTS = tuple(tenths / 10 for tenths in range(1, 13))
_SOURCES = (5, 10, 15, 20)
_KEYS = 10_000
_WORKERS = 5
_PAPER_JACCARD = 0.47


class Disagreement(Experiment):
    id = "pkg-figure-6"
    title = "Decisions of local estimation against those of the oracle"
    summary = (
        "Percentage of messages that sources with local load estimation send to another worker "
        "than one router with the true loads, which sees the same stream, does. ZF with "
        "K = 10,000 and W = 5, for exponents at which balance can be had. The Jaccard overlap "
        "that the paper gives for WP is that of the two sets of (message, worker) pairs; the "
        "paper does not say for how many workers, so each is shown."
    )

    charts = (
        Chart(
            "Disagreement with the global oracle",
            EXPONENT,
            Axis("percent", "Disagreement, % of messages"),
            "sources",
            "Sources, S",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        zipfs = (zipf(z, _KEYS, scale) for z in _EXPONENTS)
        wikipedia = dataset("WP", scale)
        return [
            *(
                pkg(stream, _WORKERS, estimation="local", sources=sources, agreement=True)
                for stream in zipfs
                for sources in _SOURCES
            ),
            *(pkg(wikipedia, workers, estimation="local", agreement=True) for workers in (5, 10)),
        ]

    def tables(self, frame: Frame) -> list[Table]:
        overlap = _wikipedia(frame).assign(paper=_PAPER_JACCARD)
        overlap_columns = [
            Column("dataset", "Stream"),
            Column("workers", "W", "d"),
            Column("jaccard", "Jaccard overlap, ours", ".2f"),
            Column("paper", "Paper, WP", ".2f"),
        ]
        return [
            Table.crossed(
                "Messages sent elsewhere than the oracle would",
                _zipfs(frame),
                [Column("z", "z", ".1f")],
                "sources",
                Column("percent", "S = {}, %", ".1f"),
                NOT_GIVEN,
            ),
            Table("Overlap of decisions on WP, 5 sources", overlap_columns, overlap),
            Table.crossed(
                "Average imbalance of local estimation",
                _zipfs(frame),
                [Column("z", "z", ".1f")],
                "sources",
                Column(IMBALANCE.column, "S = {}", ".1e"),
                NOT_GIVEN,
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_zipfs(frame)) for chart in self.charts]


def _zipfs(frame: Frame) -> Frame:
    chosen = frame[frame["dataset"].str.startswith("zipf")]
    return chosen.assign(z=spelled(chosen["dataset"], "z"), percent=100 * chosen["disagreement"])


def _wikipedia(frame: Frame) -> Frame:
    return frame[frame["dataset"] == STREAMS["WP"]]
