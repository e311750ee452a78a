"""Joins, figure 8: redistribution time against the size of the static side."""

from __future__ import annotations

from dataclasses import replace

from evenkey.papers.experiments import Experiment, Frame, Scale
from evenkey.papers.experiments.joins.join_run import MACHINE, MEDIANS, JoinRun, join_run
from evenkey.reports.pictures import Axis, Chart, Column, Plot

_SUBSCRIPTIONS = {
    "quick": (1000, 2000, 4000, 8000),
    "medium": (10_000, 20_000, 30_000),
    "full": (10_000, 20_000, 30_000, 40_000, 50_000),
}
"""Numbers of subscriptions, by the name of the scale."""


class RedistributionTime(Experiment):
    id = "joins-figure-8"
    title = "Redistribution time against static data size"
    summary = (
        "sPS runs in mode Dynamic LB STAL at s = 0.7, and partitions are forced to move before "
        "the third epoch. The paper draws a line for each number of concurrent jobs; in Structured "
        "Streaming a query runs one micro-batch at a time, so there is one line, and the tasks of "
        "an epoch are what runs side by side. The sizes are ours: the paper gives none. "
        f"{MACHINE} {MEDIANS}"
    )

    table = "Redistribution time"
    columns = (
        Column("subscriptions", "Subscriptions", ",d"),
        Column("moved_partitions", "Moved partitions", ".0f"),
        Column("redistribution_seconds", "Decision and longest slot, s", ".3f"),
        Column("load_seconds", "Loading of all slots, s", ".3f"),
    )
    charts = (
        Chart(
            "Redistribution time",
            Axis("subscriptions", "Subscriptions"),
            Axis("taken", "Time, ms"),
            legend="Time of",
            beside={"decision and longest slot": "redistribution_ms", "all slots": "load_ms"},
        ),
    )

    def plots(self, frame: Frame) -> list[Plot]:
        in_ms = frame.assign(
            redistribution_ms=1000 * frame["redistribution_seconds"],
            load_ms=1000 * frame["load_seconds"],
        )
        return [chart.plot(in_ms) for chart in self.charts]

    def scenarios(self, scale: Scale) -> list[JoinRun]:
        return [
            replace(
                join_run(
                    scale,
                    "sps",
                    "dynamic-lb-stal",
                    0.7,
                    subscriptions=subscriptions,
                    force_redistribution=2,
                    shorter=4,
                ),
                slow_down=1.0,  # matching is not timed
            )
            for subscriptions in _SUBSCRIPTIONS[scale.name]
        ]
