"""Joins, figure 7: maximum load distance coefficient (MLDC) through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.joins.join_run import ASLEEP, CLOCK, MACHINE, MEDIANS, SKEW
from evenkey.papers.experiments.joins.mode_comparison import SETTING
from evenkey.papers.experiments.joins.through_time import STREAM, ThroughTime, through_time
from evenkey.reports.pictures import Axis, Column

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame

_THRESHOLD = 0.5


class DistanceThroughTime(ThroughTime):
    id = "joins-figure-7"
    title = "Maximum load distance coefficient (MLDC) of sPS through time"
    summary = (
        "The chart shows the epochs of one run; it shares its results with figure 6. MLDC is "
        "that of seconds of work. Partitions move when that of the last 30 s is above 0.5. Items "
        "differ in cost, so MLDC differs from what the share of items says, from epoch to epoch. "
        f"{STREAM} {MACHINE} {ASLEEP} {MEDIANS} {SKEW} {CLOCK}"
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
        "`16 / 3 * s - 1` of items; of seconds it differs."
    )

    def labelled(self, frame: Frame) -> Frame:
        return super().labelled(frame).assign(threshold=_THRESHOLD)
