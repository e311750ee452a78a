"""Joins, figure 5: latency against skew."""

from __future__ import annotations

from evenkey.papers.experiments.joins.join_run import (
    ASLEEP,
    CLOCK,
    MACHINE,
    MEDIANS,
    MODELLED,
    SKEW,
)
from evenkey.papers.experiments.joins.mode_comparison import (
    CLUSTERED,
    SETTING_OF_MODES,
    ModesAgainstSkew,
    against_skew,
)
from evenkey.reports.pictures import Column


class LatencyOfModes(ModesAgainstSkew):
    id = "joins-figure-5"
    title = "Latency of joins against skew"
    summary = (
        "The time that an epoch takes; it shares its results with figure 4. "
        f"{CLUSTERED} {MACHINE} {ASLEEP} {MODELLED} {MEDIANS} {SKEW} {CLOCK}"
    )
    charts = against_skew("latency", "ms", "modelled_latency_ms", "latency_mean_ms")
    columns = (
        *SETTING_OF_MODES,
        Column("modelled_latency_ms", "Modelled, ms", ",.1f"),
        Column("latency_mean_ms", "Measured, ms", ",.0f"),
    )
