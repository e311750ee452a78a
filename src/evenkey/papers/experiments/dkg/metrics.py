"""The DKG paper's metrics, with their table and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd

from evenkey.papers.experiments import NOT_GIVEN, Frame
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from collections.abc import Mapping


_PART = Axis("part", "Part of the highest value")


class Metric(NamedTuple):
    """How to show a column of results: a short name, a title with the unit, and a format."""

    short: str
    title: str
    form: str


_BALANCE = {
    "stddev_percent": Metric("StdDev", "StdDev of loads, % of their sum", ".3f"),
    "dist_cost": Metric("DistCost", "DistCost, workers a key", ".3f"),
}

SIMULATED = {
    **_BALANCE,
    "max_over_mean": Metric("Maximum load", "Maximum load, over the mean", ".3f"),
    "throughput_percent": Metric("Throughput", "Throughput bound, % of balanced loads", ".1f"),
}
"""Metrics of simulations, by column of the frame."""

MEASURED = {
    "makespan_ms": Metric("Latency", "Latency (makespan), ms", ",d"),
    **_BALANCE,
    "messages_per_second": Metric("Throughput", "Throughput, messages/s", ",d"),
}
"""The paper's four metrics as the pipeline measures them, by column of the frame."""


def metrics_table(frame: Frame, setting: Column, metrics: Mapping[str, Metric]) -> Table:
    """Make the table of all metrics, one row per setting and method."""
    figures = [Column(name, metric.title, metric.form) for name, metric in metrics.items()]
    return Table("Metrics", [setting, Column("method", "Method"), *figures], frame, NOT_GIVEN)


def plot_each(frame: Frame, x: Axis, metrics: Mapping[str, Metric]) -> list[Plot]:
    """Make one plot per metric, with one line per method."""
    return [
        Chart(metric.title, x, Axis(name, metric.title), "method").plot(frame)
        for name, metric in metrics.items()
    ]


def plot_parts(
    frame: Frame,
    x: Axis,
    metrics: Mapping[str, Metric],
    *,
    group: str,
    panel: str,
    within: str | None = None,
    kind: Literal["lines", "bars"] = "lines",
    note: str = "",
) -> Plot:
    """Plot each metric divided by its highest value, as the paper does.

    Parameters
    ----------
    frame
        Results. The plot repeats each row for every metric and adds the columns ``metric`` and
        ``part``. `x`, `group` and `panel` may name these two columns as well.
    x, group, panel
        Columns of the x axis, of the colours and of the panels.
    metrics
        The metrics, by column of `frame`.
    within
        Column that divides the rows into sets; a metric is divided by its highest value in the
        set. None: a metric is divided by its highest value in all rows.
    kind
        Kind of marks.
    note
        Text below the plot.
    """
    chart = Chart(
        "Metrics as parts of the highest",
        x,
        _PART,
        group,
        panels=Grid(panel),
        kind=kind,
        note=note,
    )
    return chart.plot(_parts_of_highest(frame, within, metrics))


def _parts_of_highest(frame: Frame, within: str | None, metrics: Mapping[str, Metric]) -> Frame:
    """Return one row per result and metric, with the metric divided by its highest value."""
    figures = frame[list(metrics)]
    highest = figures.max() if within is None else figures.groupby(frame[within]).transform("max")
    parts = figures / highest
    return pd.concat(
        frame.assign(metric=metric.short, part=parts[name]) for name, metric in metrics.items()
    )
