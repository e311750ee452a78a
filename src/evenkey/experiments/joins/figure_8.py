"""Joins, figure 8: redistribution time against the size of the static side."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.frames import side_by_side
from evenkey.experiments.joins.join_run import DEVIATIONS, join_run
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["RedistributionTime"]

_SUBSCRIPTIONS = (10_000, 20_000, 30_000, 40_000, 50_000)
_QUICK = (1000, 2000, 4000, 8000)


class RedistributionTime(Experiment):
    """How long a forced redistribution of sPS takes."""

    id: ClassVar[str] = "joins-figure-8"
    title: ClassVar[str] = "Redistribution time against static data size"
    reference: ClassVar[str] = "Joins, figure 8"
    summary: ClassVar[str] = (
        "sPS in mode Dynamic LB STAL at s = 0.7, partitions forced to move before the third "
        "epoch. The paper draws a line for each number of concurrent jobs; in Structured Streaming "
        "a query runs one micro-batch at a time, so there is one line, and the tasks of an epoch "
        f"are what runs side by side. The sizes are ours: the paper gives none. {DEVIATIONS}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """A run a size."""
        sizes = _SUBSCRIPTIONS if scale.most_messages is None else _QUICK
        return [
            join_run(
                scale,
                "sps",
                "dynamic-lb-stal",
                0.7,
                subscriptions=subscriptions,
                force_redistribution=2,
            )
            for subscriptions in sizes
        ]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """What it took."""
        columns = [
            Column("subscriptions", "Subscriptions", ",d"),
            Column("moved_partitions", "Moved partitions", ".0f"),
            Column("redistribution_seconds", "Decision and longest slot, s", ".3f"),
            Column("load_seconds", "Loading of all slots, s", ".3f"),
        ]
        note = "The paper draws this; its figures are not given as numbers."
        return [Table("Redistribution time", columns, frame, note)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Both times against the size."""
        told = side_by_side(
            frame,
            "taken",
            {"redistribution_seconds": "decision and longest slot", "load_seconds": "all slots"},
        )
        figure = chart(
            told,
            x=Axis("subscriptions", "Subscriptions"),
            y=Axis("taken", "Seconds"),
            group="whose",
            legend="Time of",
        )
        return [Plot("Redistribution time", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """It grows with the size."""
        ordered = frame.sort_values("subscriptions")
        first, last = ordered["load_seconds"].iloc[0], ordered["load_seconds"].iloc[-1]
        return [
            Finding(
                "Redistribution time grows with the size of the static data",
                f"{1000 * first:.1f} ms of loading for {ordered['subscriptions'].iloc[0]:,} "
                f"subscriptions, {1000 * last:.1f} ms for {ordered['subscriptions'].iloc[-1]:,}",
                last > first,
            )
        ]
