"""PKG, figure 6: how often local estimation decides otherwise than the oracle (question Q2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.pkg.streams import STREAMS, dataset, zipf
from evenkey.experiments.pkg.techniques import BALANCED, pkg
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["Disagreement"]

_EXPONENTS = tuple(tenths / 10 for tenths in range(1, 13))
_SOURCES = (5, 10, 15, 20)
_KEYS = 10_000
_WORKERS = 5
_PAPER_JACCARD = 0.47


class Disagreement(Experiment):
    """Share of messages that local estimation sends elsewhere than a global oracle would."""

    id: ClassVar[str] = "pkg-figure-6"
    title: ClassVar[str] = "Decisions of local estimation against those of the oracle"
    reference: ClassVar[str] = "PKG, figure 6"
    summary: ClassVar[str] = (
        "Percentage of messages that sources with local load estimation send to another worker "
        "than one router with the true loads, which sees the same stream, does. ZF with "
        "K = 10,000 and W = 5, for exponents at which balance can be had. The Jaccard overlap "
        "that the paper gives for WP is that of the two sets of (message, worker) pairs; the "
        "paper does not say for how many workers, so each is shown."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every exponent with every number of sources, and the WP stream."""
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

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Disagreement by exponent and sources; overlap on WP beside the paper's."""
        points = _zipfs(frame)
        table = points.pivot_table("percent", "z", "sources").reset_index()
        table.columns = [str(name) for name in table.columns]
        columns = [
            Column("z", "z", ".1f"),
            *(Column(str(sources), f"S = {sources}, %", ".1f") for sources in _SOURCES),
        ]
        overlap = _wikipedia(frame).assign(paper=_PAPER_JACCARD)
        overlap_columns = [
            Column("dataset", "Stream"),
            Column("workers", "W", "d"),
            Column("jaccard", "Jaccard overlap, ours", ".2f"),
            Column("paper", "Paper, WP", ".2f"),
        ]
        return [
            Table("Messages sent elsewhere than the oracle would", columns, table, NOT_GIVEN),
            Table("Overlap of decisions on WP, 5 sources", overlap_columns, overlap),
        ]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A line a number of sources."""
        figure = chart(
            _zipfs(frame),
            x=Axis("z", "Zipf exponent, z"),
            y=Axis("percent", "Disagreement, % of messages"),
            group="sources",
            legend="Sources, S",
        )
        return [Plot("Disagreement with the global oracle", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Many decisions differ, fewer with skew, and balance is good all the same."""
        points = _zipfs(frame)
        least, most = (points[points["z"] == z]["percent"] for z in (_EXPONENTS[0], _EXPONENTS[-1]))
        worst = points["average_imbalance_fraction"].max()
        overlap = _wikipedia(frame)["jaccard"]
        return [
            Finding(
                "Increasing the skew reduces the disagreement, however many sources there are",
                f"from {least.min():.0f} % or more at z = {_EXPONENTS[0]} to {most.max():.0f} % "
                f"or less at z = {_EXPONENTS[-1]}",
                most.max() < least.min(),
            ),
            Finding(
                "Good load balance is had despite high disagreement",
                f"average imbalance is at most {worst:.1e} of the messages",
                worst < BALANCED,
            ),
            Finding(
                "Both G and L balance well on WP, though their choices agree for 47 % only",
                f"they agree for {100 * overlap.min():.0f} to {100 * overlap.max():.0f} %",
                overlap.max() < 0.75,
            ),
        ]


def _zipfs(frame: pd.DataFrame) -> pd.DataFrame:
    chosen = frame[frame["dataset"].str.startswith("zipf")]
    exponents = chosen["dataset"].str.extract(r"z=([\d.]+)", expand=False).astype(float)
    return chosen.assign(z=exponents, percent=100 * chosen["disagreement"])


def _wikipedia(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["dataset"] == STREAMS["WP"]]
