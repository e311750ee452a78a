"""DKG, figure 11: each metric against the skewness."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.metrics import MODEL_NOTE, plot_each
from evenkey.experiments.dkg.skewness import SKEWNESS, Skewness
from evenkey.experiments.experiment import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.experiment import Plot

__all__ = ["MetricsAgainstSkewness"]

_HIGH = 40


class MetricsAgainstSkewness(Skewness):
    """How the methods compare in each metric as the skewness grows."""

    id: ClassVar[str] = "dkg-figure-11"
    title: ClassVar[str] = "Each metric against the skewness"
    reference: ClassVar[str] = "DKG, figure 11 a to d"
    summary: ClassVar[str] = f"Country streams, 5 sources, 10 workers. {MODEL_NOTE}"

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A plot a metric, a line a method."""
        return plot_each(frame, SKEWNESS)

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """What high skew does to each metric."""
        told = named(frame)
        spread = told.pivot_table("stddev_percent", "skewness", "method")
        cost = told.pivot_table("dist_cost", "skewness", "method")
        high = spread.loc[_HIGH:]
        common = cost.drop(index=100)
        return [
            Finding(
                "DKG has clearly better StdDev than PKG and KG after 30 % skewness",
                f"from {_HIGH} % on at most {high['DKG'].max():.1f} %, PKG at least "
                f"{high['PKG'].min():.1f} %, KG at least {high['KG'].min():.1f} %",
                (high["DKG"] < high[["PKG", "KG"]].min(axis=1)).all(),
            ),
            Finding(
                "PKG's StdDev increases with the skewness all the time",
                f"from {spread['PKG'].iloc[0]:.1f} to {spread['PKG'].iloc[-1]:.1f} %",
                high["PKG"].is_monotonic_increasing,
            ),
            Finding(
                "SG has the worst DistCost; the other methods are very similar, with a peak of "
                "DKG at 100 %",
                f"below 100 %: SG {common['SG'].min():.1f} or more, the others at most "
                f"{common[['KG', 'PKG', 'DKG']].to_numpy().max():.1f}; DKG at 100 %: "
                f"{cost.loc[100, 'DKG']:.1f}",
                common["SG"].min() > common[["KG", "PKG", "DKG"]].to_numpy().max()
                and cost["DKG"].idxmax() == 100,
            ),
        ]
