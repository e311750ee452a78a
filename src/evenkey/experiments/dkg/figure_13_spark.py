"""DKG, figure 13, on Spark: more sources (the paper's spouts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.figure_13 import SOURCES
from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.on_spark import PAPERS_METHODS, SPARK_NOTE, OnSpark, every_run
from evenkey.experiments.experiment import Finding
from evenkey.experiments.figures import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["MoreSourcesOnSpark"]

_LITTLE = 0.25
"""Part of a throughput by which it may change and count as unchanged."""


class MoreSourcesOnSpark(OnSpark):
    """Every method on twitter-election with 5 to 20 sources."""

    id: ClassVar[str] = "dkg-figure-13-spark"
    title: ClassVar[str] = "More sources, throughput and latency measured"
    reference: ClassVar[str] = "DKG, figure 13 a to d, on Spark"
    setting: ClassVar[Axis] = Axis("sources", "Sources (spouts)", "category")
    summary: ClassVar[str] = f"A look-alike of twitter-election, 10 workers. {SPARK_NOTE}"

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every method with every number of sources."""
        return [
            each
            for sources in SOURCES
            for each in every_run("twitter-election", scale, sources=sources)
        ]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Sources make no difference."""
        speed = named(frame).pivot_table("messages_per_second", "sources", "method")
        papers = speed[PAPERS_METHODS]
        change = (papers.max() / papers.min() - 1)[["KG", "PKG", "DKG"]]
        ahead = (papers["DKG"] / papers[["KG", "PKG"]].max(axis="columns")).min()
        return [
            Finding(
                "The number of sources has no effect under high skew",
                "throughput changes by "
                + ", ".join(f"{100 * part:.0f} % ({name})" for name, part in change.items()),
                change.max() < _LITTLE,
            ),
            Finding(
                "DKG has a better throughput than KG and PKG",
                f"at least {ahead:.2f} times theirs with any number of sources",
                ahead > 1,
            ),
        ]
