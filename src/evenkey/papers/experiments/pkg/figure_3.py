"""PKG, figure 3: hot keys that change."""

from __future__ import annotations

from dataclasses import replace

from evenkey.papers.experiments import (
    FULL,
    NOT_GIVEN,
    Experiment,
    Frame,
    Scale,
    TopKeys,
    series,
)
from evenkey.papers.experiments.pkg.paper_streams import SECONDS, dataset
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

_WEEKS = 4


class CashtagDrift(Experiment):
    id = "pkg-figure-3"
    title = "The five most frequent cashtags, week by week"
    summary = (
        "How often the five cashtags that are the most frequent ones overall occur in each week "
        "of the stream that stands in for CT. It is short, and run whole at every scale."
    )

    charts = (
        Chart(
            "Frequency of the five most frequent cashtags",
            Axis("week", "Week", "category"),
            Axis("messages", "Messages in the week"),
            "key",
            "Cashtag",
        ),
    )

    def scenarios(self, scale: Scale) -> list[TopKeys]:
        del scale
        # The chart shows the names of keys, and hashes none of them.
        cashtags = replace(dataset("CT", FULL, timed=True), prefix="")
        return [TopKeys(cashtags, SECONDS["CT"] / _WEEKS)]

    def labelled(self, frame: Frame) -> Frame:
        points = series(frame)
        return points.assign(week=points["period"] + 1)

    def plots(self, frame: Frame) -> list[Plot]:
        named = frame.assign(key="cashtag " + frame["key"].astype(str))
        return [chart.plot(named) for chart in self.charts]

    def tables(self, frame: Frame) -> list[Table]:
        weeks = [Column("week", "Week", "d")]
        messages = Column("messages", "{}", ",d")
        return [Table.crossed("Messages a week", frame, weeks, "key", messages, NOT_GIVEN)]
