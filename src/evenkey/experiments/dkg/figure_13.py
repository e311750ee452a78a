"""DKG, figure 13: more sources (the paper's spouts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import dataset, every_method, named
from evenkey.experiments.dkg.metrics import MODEL_NOTE, metrics_table, plot_each
from evenkey.experiments.experiment import Experiment, Finding
from evenkey.experiments.figures import Axis
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.experiment import Plot
    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario
    from evenkey.experiments.table import Table

__all__ = ["SOURCES", "MoreSources"]

SOURCES = (5, 10, 15, 20)


class MoreSources(Experiment):
    """The four methods on twitter-election with 5 to 20 sources."""

    id: ClassVar[str] = "dkg-figure-13"
    title: ClassVar[str] = "More sources"
    reference: ClassVar[str] = "DKG, figure 13 a to d"
    summary: ClassVar[str] = f"A look-alike of twitter-election, 10 workers. {MODEL_NOTE}"

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods with every number of sources."""
        stream = dataset("twitter-election", scale)
        return [each for sources in SOURCES for each in every_method(stream, sources=sources)]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a number of sources and method."""
        return [metrics_table(frame, Column("sources", "Sources", "d"))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A plot a metric, a line a method."""
        return plot_each(frame, Axis("sources", "Sources (spouts)", "category"))

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Sources make no difference."""
        told = named(frame)
        spread = told.pivot_table("stddev_percent", "sources", "method")
        change = (spread.max() - spread.min()).max()
        better = (spread["DKG"] < spread[["PKG", "KG"]].min(axis=1)).all()
        return [
            Finding(
                "The number of sources has no effect under high skew",
                f"no method's StdDev changes by more than {change:.2f} percentage points",
                change < 1,
            ),
            Finding(
                "DKG has better StdDev than KG and PKG",
                f"at most {spread['DKG'].max():.2f} %, PKG at least {spread['PKG'].min():.2f} %",
                better,
            ),
        ]
