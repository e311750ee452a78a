"""Joins, figure 6: throughput through time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis
from evenkey.experiments.joins.join_run import DEVIATIONS
from evenkey.experiments.joins.through_time import both_modes, through_time
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["ThroughputThroughTime"]


class ThroughputThroughTime(Experiment):
    """Throughput of sPS epoch by epoch."""

    id: ClassVar[str] = "joins-figure-6"
    title: ClassVar[str] = "Throughput of sPS through time"
    reference: ClassVar[str] = "Joins, figure 6"
    summary: ClassVar[str] = f"The epochs of one run. {DEVIATIONS}"

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Dynamic LB STAL and Static STAL at every skew."""
        return both_modes(scale)

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Averages."""
        columns = [
            Column("skew", "Skew, nominal s", ".1f"),
            Column("realised_skew", "realised", ".2f"),
            Column("mode", "Mode"),
            Column("modelled_throughput", "Modelled, publications/s", ",.0f"),
            Column("throughput", "Measured, publications/s", ",.0f"),
        ]
        note = "The paper draws this; its figures are not given as numbers."
        return [Table("Average throughput", columns, frame, note)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Modelled and measured throughput of each epoch."""
        return [
            Plot(f"{name} throughput", through_time(frame, Axis(column, "Publications/s")))
            for name, column in (("Modelled", "modelled_throughput"), ("Measured", "throughput"))
        ]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The difference grows with the skew."""
        wide = frame.pivot_table("modelled_throughput", "skew", "mode")
        gain = wide["dynamic-lb-stal"] / wide["static-stal"]
        least, most = gain.loc[gain.index.min()], gain.loc[gain.index.max()]
        return [
            Finding(
                "The difference in throughput grows with the skew coefficient",
                f"{least:.2f} times static at s = {gain.index.min()}, {most:.2f} times at "
                f"s = {gain.index.max()} (modelled)",
                most > least,
            )
        ]
