"""DKG, figure 10, on Spark: each method against the skewness."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.metrics import MEASURED, plot_parts
from evenkey.experiments.dkg.on_spark import PAPERS_METHODS, SPARK_NOTE
from evenkey.experiments.dkg.skewness import SKEWNESS
from evenkey.experiments.dkg.skewness_spark import SkewnessOnSpark
from evenkey.experiments.experiment import Finding, Plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["MethodsAgainstSkewnessOnSpark"]

_STEADY = 0.8
"""Part of its best throughput that a method keeps which skew does not change."""


class MethodsAgainstSkewnessOnSpark(SkewnessOnSpark):
    """How each method's metrics change with the skewness, throughput and latency measured."""

    id: ClassVar[str] = "dkg-figure-10-spark"
    title: ClassVar[str] = "Each method against the skewness, throughput and latency measured"
    reference: ClassVar[str] = "DKG, figure 10 a to d, on Spark"
    summary: ClassVar[str] = (
        "Country streams, 5 sources, 10 workers. A panel a method; each metric is divided by the "
        f"highest value of all methods. {SPARK_NOTE}"
    )

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a method, a line a metric."""
        return [plot_parts(frame, SKEWNESS, group="metric", panel="method", metrics=MEASURED)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Which method stands what."""
        speed = named(frame).pivot_table("messages_per_second", "skewness", "method")
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
