"""Joins, figure 4: throughput against skew."""

from __future__ import annotations

from evenkey.papers.experiments.joins.join_run import ASLEEP, MACHINE, MEDIANS, MODELLED, SKEW
from evenkey.papers.experiments.joins.mode_comparison import (
    CLUSTERED,
    SETTING_OF_MODES,
    ModesAgainstSkew,
    against_skew,
)
from evenkey.reports.pictures import Column


class ThroughputOfModes(ModesAgainstSkew):
    id = "joins-figure-4"
    title = "Throughput of joins against skew"
    summary = (
        f"{CLUSTERED} {MACHINE} {ASLEEP} {MODELLED} {MEDIANS} {SKEW} Load is seconds of work, so "
        "all figures but static loads and the skew differ from run to run. The last column is that "
        "of the first run."
    )
    charts = against_skew("throughput", "Publications/s", "modelled_throughput", "throughput")
    columns = (
        *SETTING_OF_MODES,
        Column("modelled_throughput", "Modelled, publications/s", ",.0f"),
        Column("throughput", "Measured, publications/s", ",.0f"),
        Column("redistributions", "Redistributions", ".0f"),
        Column("mldc_first", "MLDC, first epoch", ".2f"),
        Column("mldc_last", "last epoch", ".2f"),
        Column("static_loads", "Static loads", ",.0f"),
        Column("crossings_percent", "Epochs that cross the mean throughput, %", ".0f"),
    )
