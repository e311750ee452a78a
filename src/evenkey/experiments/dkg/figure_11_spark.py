"""DKG, figure 11, on Spark: each metric against the skewness."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.on_spark import PAPERS_METHODS, SPARK_NOTE, percent_more
from evenkey.experiments.dkg.skewness_spark import SkewnessOnSpark
from evenkey.experiments.experiment import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["MetricsAgainstSkewnessOnSpark"]


class MetricsAgainstSkewnessOnSpark(SkewnessOnSpark):
    """How the methods compare in each metric as the skewness grows, all of them measured."""

    id: ClassVar[str] = "dkg-figure-11-spark"
    title: ClassVar[str] = "Each metric against the skewness, throughput and latency measured"
    reference: ClassVar[str] = "DKG, figure 11 a to d, on Spark"
    summary: ClassVar[str] = f"Country streams, 5 sources, 10 workers. {SPARK_NOTE}"

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The paper's gains of DKG over PKG."""
        told = named(frame)
        speed, latency = (
            told.pivot_table(figure, "skewness", "method")
            for figure in ("messages_per_second", "makespan_ms")
        )
        high = speed.loc[80:90]
        most = (high["DKG"] / high["PKG"]).idxmax()
        skewed = speed.loc[60:90]
        fastest = speed[PAPERS_METHODS].idxmax(axis="columns") == "SG"
        return [
            Finding(
                "At 30 % skewness DKG has up to 8 % more throughput than PKG and up to 7 % less "
                "latency",
                _gain(speed, latency, 30),
                speed.loc[30, "DKG"] > speed.loc[30, "PKG"],
            ),
            Finding(
                "Above 80 % DKG has up to 93 % more throughput than PKG and up to 48 % less "
                "latency",
                f"{_gain(speed, latency, most)}, at {most} %",
                (high["DKG"] > 1.5 * high["PKG"]).all(),
            ),
            Finding(
                "When the skewness is above 30 % DKG has a better throughput than PKG and KG",
                ", ".join(
                    f"{skewness} %: {row['DKG']:,.0f}/s against {row['PKG']:,.0f} and "
                    f"{row['KG']:,.0f}"
                    for skewness, row in skewed.iterrows()
                ),
                (skewed["DKG"] > skewed[["PKG", "KG"]].max(axis="columns")).all(),
            ),
            Finding(
                "SG always has a higher throughput than the other methods",
                f"at {fastest.sum()} of {len(fastest)} skewness ratios",
                fastest.all(),
            ),
        ]


def _gain(speed: pd.DataFrame, latency: pd.DataFrame, skewness: float) -> str:
    throughput, time = (
        percent_more(figures.loc[skewness, "DKG"], figures.loc[skewness, "PKG"])
        for figures in (speed, latency)
    )
    return f"throughput {throughput}, latency {time}"
