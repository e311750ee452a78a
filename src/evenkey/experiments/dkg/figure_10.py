"""DKG, figure 10: each method against the skewness."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.metrics import MODEL_NOTE, plot_parts
from evenkey.experiments.dkg.skewness import SKEWNESS, Skewness
from evenkey.experiments.experiment import Finding, Plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["MethodsAgainstSkewness"]

_MODERATE, _SEVERE = 30, 60


class MethodsAgainstSkewness(Skewness):
    """How each method's metrics change with the skewness."""

    id: ClassVar[str] = "dkg-figure-10"
    title: ClassVar[str] = "Each method against the skewness"
    reference: ClassVar[str] = "DKG, figure 10 a to d"
    summary: ClassVar[str] = (
        "Country streams, 5 sources, 10 workers. A panel a method; each metric is divided by the "
        f"highest value of all methods. {MODEL_NOTE}"
    )

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a method, a line a metric."""
        return [plot_parts(frame, SKEWNESS, group="metric", panel="method")]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Which method stands what."""
        bound = named(frame).pivot_table("throughput_percent", "skewness", "method")
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
