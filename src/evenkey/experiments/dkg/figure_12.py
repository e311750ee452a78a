"""DKG, figure 12: more workers."""

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

__all__ = ["WORKERS", "MoreWorkers"]

WORKERS = (10, 50, 100)


class MoreWorkers(Experiment):
    """The four methods on twitter-election with 10, 50 and 100 workers."""

    id: ClassVar[str] = "dkg-figure-12"
    title: ClassVar[str] = "More workers"
    reference: ClassVar[str] = "DKG, figure 12 a to d"
    summary: ClassVar[str] = f"A look-alike of twitter-election, 5 sources. {MODEL_NOTE}"

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods with every number of workers."""
        stream = dataset("twitter-election", scale)
        return [each for workers in WORKERS for each in every_method(stream, workers)]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a number of workers and method."""
        return [metrics_table(frame, Column("workers", "Workers", "d"))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A plot a metric, a line a method."""
        return plot_each(frame, Axis("workers", "Workers", "category"))

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Workers help little."""
        told = named(frame)
        spread = told.pivot_table("stddev_percent", "workers", "method")
        fullest = (told["max_over_mean"] / told["workers"]).groupby(
            [told["method"], told["workers"]]
        ).mean().unstack()  # fmt: skip
        gain = {
            method: fullest.loc[method, 10] / fullest.loc[method, 100] for method in ("KG", "PKG")
        }
        order = ["SG", "DKG", "PKG", "KG"]
        return [
            Finding(
                "StdDev decreases for all methods as workers are added; KG has the highest, SG "
                "the lowest, DKG is much better than PKG",
                "in that order with "
                + ", ".join(
                    str(workers)
                    for workers, row in spread.iterrows()
                    if row.sort_values().index.tolist() == order
                )
                + " workers",
                all(row.sort_values().index.tolist() == order for _, row in spread.iterrows())
                and (spread.loc[100] <= spread.loc[10] + 0.01).all(),
            ),
            Finding(
                "More workers barely change the time that KG and PKG take when the skew is high",
                "ten times the workers lower the load of the fullest by "
                + " and ".join(f"{ratio:.2f} ({method})" for method, ratio in gain.items()),
                max(gain.values()) < 1.2,
            ),
        ]
