"""DKG, figure 12, on Spark: more workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.figure_12 import WORKERS
from evenkey.experiments.dkg.methods import named
from evenkey.experiments.dkg.on_spark import PAPERS_METHODS, SPARK_NOTE, OnSpark, every_run
from evenkey.experiments.experiment import Finding
from evenkey.experiments.figures import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["MoreWorkersOnSpark"]


class MoreWorkersOnSpark(OnSpark):
    """Every method on twitter-election with 10, 50 and 100 workers."""

    id: ClassVar[str] = "dkg-figure-12-spark"
    title: ClassVar[str] = "More workers, throughput and latency measured"
    reference: ClassVar[str] = "DKG, figure 12 a to d, on Spark"
    setting: ClassVar[Axis] = Axis("workers", "Workers", "category")
    summary: ClassVar[str] = (
        f"A look-alike of twitter-election, 5 sources. {SPARK_NOTE} Spark starts a task a worker "
        "in each epoch, which costs these cores some seconds with 100 of them; where messages are "
        "few, as at scale quick, that is more than the workers save."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every method with every number of workers."""
        return [
            each
            for workers in WORKERS
            for each in every_run("twitter-election", scale, workers=workers)
        ]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Workers help little."""
        latency = named(frame).pivot_table("makespan_ms", "workers", "method")[PAPERS_METHODS]
        change = latency.loc[max(WORKERS)] / latency.loc[min(WORKERS)]
        slowest = latency.idxmax(axis="columns") == "KG"
        fastest = latency.idxmin(axis="columns") == "SG"
        return [
            Finding(
                "KG has the highest latency, SG the lowest, with any number of workers",
                f"KG is the slowest with {slowest.sum()}, SG the fastest with {fastest.sum()} of "
                f"{len(latency)} numbers of workers",
                slowest.all() and fastest.all(),
            ),
            Finding(
                "DKG's latency is better than PKG's",
                ", ".join(
                    f"{workers} workers: {row['DKG'] / 1000:.1f} s against {row['PKG'] / 1000:.1f}"
                    for workers, row in latency.iterrows()
                ),
                (latency["DKG"] < latency["PKG"]).all(),
            ),
            Finding(
                "More workers do not make KG and PKG faster when the skew is high",
                "ten times the workers take "
                + " and ".join(f"{change[name]:.2f} ({name})" for name in ("KG", "PKG"))
                + " times as long",
                change[["KG", "PKG"]].min() > 0.8,
            ),
        ]
