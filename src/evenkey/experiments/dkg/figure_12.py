"""DKG, figure 12: more workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import (
    FIGURES,
    MODEL_NOTE,
    dataset,
    every_method,
    figure_axis,
    figure_columns,
    named,
)
from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["MoreWorkers"]

_WORKERS = (10, 50, 100)


class MoreWorkers(Experiment):
    """The four methods on twitter-election with 10, 50 and 100 workers."""

    id: ClassVar[str] = "dkg-figure-12"
    title: ClassVar[str] = "More workers"
    reference: ClassVar[str] = "DKG, figure 12 a to d"
    summary: ClassVar[str] = f"A look-alike of twitter-election, 5 sources. {MODEL_NOTE}"

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The four methods with every number of workers."""
        stream = dataset("twitter-election", scale)
        return [each for workers in _WORKERS for each in every_method(stream, workers)]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a number of workers and method."""
        columns = [
            Column("workers", "Workers", "d"),
            Column("method", "Method"),
            *figure_columns(),
            Column("paper", "Paper"),
        ]
        return [Table("Metrics", columns, named(frame).assign(paper=NOT_GIVEN))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A plot a metric, a line a method."""
        return [
            Plot(title, chart(
                named(frame),
                x=Axis("workers", "Workers", "category"),
                y=figure_axis(figure),
                group="method",
                legend="Method",
            ))
            for figure, title in FIGURES.items()
        ]  # fmt: skip

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Workers help little."""
        told = named(frame)
        spread = told.pivot_table("stddev_percent", "workers", "method")
        fullest = (told["max_over_mean"] / told["workers"]).groupby(
            [told["method"], told["workers"]]
        ).mean().unstack()  # fmt: skip
        gain = {method: fullest.loc[method, 10] / fullest.loc[method, 100] for method in ("KG", "PKG")}
        order = ["SG", "DKG", "PKG", "KG"]
        return [
            Finding(
                "StdDev decreases for all methods as workers are added; KG has the highest, SG "
                "the lowest, DKG is much better than PKG",
                "in that order with " + ", ".join(
                    str(workers) for workers, row in spread.iterrows()
                    if row.sort_values().index.tolist() == order
                ) + " workers",
                all(row.sort_values().index.tolist() == order for _, row in spread.iterrows())
                and bool((spread.loc[100] <= spread.loc[10] + _NOISE).all()),
            ),
            Finding(
                "More workers barely change the time that KG and PKG take when the skew is high",
                "ten times the workers lower the load of the fullest by "
                + " and ".join(f"{ratio:.2f} ({method})" for method, ratio in gain.items()),
                max(gain.values()) < _BARELY,
            ),
        ]


_NOISE = 0.01
_BARELY = 1.2
