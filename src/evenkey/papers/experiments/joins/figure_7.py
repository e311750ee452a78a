"""Joins, figure 7: maximum load distance coefficient (MLDC) through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.joins.join_run import CLOCK, MACHINE, MEDIANS, SKEW
from evenkey.papers.experiments.joins.mode_comparison import SETTING
from evenkey.papers.experiments.joins.through_time import ThroughTime, through_time
from evenkey.reports.pictures import Axis, Column

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame

_THRESHOLD = 0.5


class DistanceThroughTime(ThroughTime):
    id = "joins-figure-7"
    title = "Maximum load distance coefficient (MLDC) of sPS through time"
    summary = (
        "The chart shows the epochs of one run; it shares its results with figure 6. MLDC of "
        "Dynamic LB STAL is of seconds of work, and so is that of Static STAL; partitions move "
        "when it is above 0.5, in the sum over the last 30 s. Part of a slot's work is overhead "
        f"that skew does not change, so MLDC begins lower than the share of items says. {MACHINE} "
        f"{MEDIANS} {SKEW} {CLOCK}"
    )
    charts = (
        through_time(
            "MLDC through time",
            Axis("mldc", "MLDC"),
            "Partitions move above the threshold.",
            baseline="threshold",
        ),
    )
    table = "MLDC"
    columns = (
        *SETTING,
        Column("mldc_first", "MLDC, first epoch", ".2f"),
        Column("mldc_last", "last epoch", ".2f"),
        Column("redistributions", "Redistributions", ".0f"),
        Column("moved_partitions", "Moved partitions", ".0f"),
    )
    note = (
        "A realised share s on 3 of 16 workers, equal among the three, is initially an MLDC of "
        "16 s / 3 - 1 of items; of seconds it differs."
    )

    def labelled(self, frame: Frame) -> Frame:
        return super().labelled(frame).assign(threshold=_THRESHOLD)
