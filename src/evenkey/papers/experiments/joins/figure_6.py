"""Joins, figure 6: throughput through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.joins.join_run import (
    ASLEEP,
    CLOCK,
    MACHINE,
    MEDIANS,
    MODELLED,
    SKEW,
)
from evenkey.papers.experiments.joins.mode_comparison import SETTING
from evenkey.papers.experiments.joins.through_time import STREAM, ThroughTime, through_time
from evenkey.reports.pictures import Axis, Column

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame


class ThroughputThroughTime(ThroughTime):
    id = "joins-figure-6"
    title = "Throughput of sPS through time"
    summary = (
        "The charts show the epochs of one run, the table all runs. "
        f"{STREAM} {MACHINE} {ASLEEP} {MODELLED} {MEDIANS} {SKEW} {CLOCK}"
    )
    charts = (
        through_time("Modelled throughput", Axis("modelled_throughput", "Publications/s")),
        through_time("Measured throughput", Axis("throughput", "Publications/s")),
    )
    table = "Average throughput"
    columns = (
        *SETTING,
        Column("modelled_throughput", "Modelled, publications/s", ",.0f"),
        Column("throughput", "Measured, publications/s", ",.0f"),
        Column("longest_move", "Longest epoch with a move, over the median of the others", ".2f"),
    )

    def labelled(self, frame: Frame) -> Frame:
        return super().labelled(frame.assign(longest_move=frame.get("longest_move")))
