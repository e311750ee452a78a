"""The DKG paper's metrics: their table and their plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.experiment import NOT_GIVEN, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MEASURED",
    "MODEL_NOTE",
    "SIMULATED",
    "Metric",
    "metrics_table",
    "plot_each",
    "plot_parts",
]

MODEL_NOTE = (
    "Latency and throughput are the paper's measurements on a cluster; the simulator has no such "
    "clock. Where the workers are the bottleneck the time is in proportion to the load of the "
    "fullest worker, and the throughput to its inverse: these stand in for them."
)

_PART = Axis("part", "Part of the highest value")


class Metric(NamedTuple):
    """A column of the frame: its short name in plots, its title with the unit, its format."""

    short: str
    title: str
    form: str


_BALANCE = {
    "stddev_percent": Metric("StdDev", "StdDev of loads, % of their sum", ".3f"),
    "dist_cost": Metric("DistCost", "DistCost, workers a key", ".3f"),
}

SIMULATED = {
    **_BALANCE,
    "max_over_mean": Metric("Fullest worker", "Fullest worker, of the mean load", ".3f"),
    "throughput_percent": Metric("Throughput", "Throughput bound, % of even loads", ".1f"),
}
"""Metrics of simulations, by column of the frame."""

MEASURED = {
    "makespan_ms": Metric("Latency", "Latency (makespan), ms", ",d"),
    **_BALANCE,
    "messages_per_second": Metric("Throughput", "Throughput, messages/s", ",d"),
}
"""The paper's four metrics as the pipeline measures them, by column of the frame."""


def metrics_table(
    frame: pd.DataFrame, *settings: Column, metrics: Mapping[str, Metric] = SIMULATED
) -> Table:
    """Make the table of all metrics, a row a setting and method."""
    figures = [Column(name, metric.title, metric.form) for name, metric in metrics.items()]
    columns = [*settings, Column("method", "Method"), *figures]
    return Table("Metrics", columns, named(frame), NOT_GIVEN)


def plot_each(
    frame: pd.DataFrame, x: Axis, metrics: Mapping[str, Metric] = SIMULATED
) -> list[Plot]:
    """Make a plot a metric, with a line a method."""
    told = named(frame)
    return [
        Plot(
            metric.title,
            chart(told, x=x, y=Axis(name, metric.title), group="method", legend="Method"),
        )
        for name, metric in metrics.items()
    ]


def plot_parts(
    frame: pd.DataFrame,
    x: Axis,
    *,
    group: str,
    panel: str,
    within: str | None = None,
    kind: Literal["lines", "bars"] = "lines",
    metrics: Mapping[str, Metric] = SIMULATED,
    note: str = "",
) -> Plot:
    """Plot each metric divided by its highest value, as the paper does.

    Parameters
    ----------
    frame
        Results; the columns ``metric`` and ``part`` come in addition, with a row a metric.
    x, group, panel
        Columns along the axis, with a colour each, and with a panel each.
    within
        Column for each of whose values there is a highest one; None takes that of all rows.
    kind
        Of marks.
    metrics
        Which.
    note
        Stands below the plot.
    """
    figure = chart(
        _parts_of_highest(named(frame), within, metrics),
        x=x,
        y=_PART,
        group=group,
        legend=group.capitalize(),
        panels=Grid(panel),
        kind=kind,
    )
    return Plot("Metrics as parts of the highest", figure, note)


def _parts_of_highest(
    frame: pd.DataFrame, within: str | None, metrics: Mapping[str, Metric]
) -> pd.DataFrame:
    """A row a result and metric, with the metric's part of its highest value."""
    figures = frame[list(metrics)]
    highest = figures.max() if within is None else figures.groupby(frame[within]).transform("max")
    parts = figures / highest
    return pd.concat(
        frame.assign(metric=metric.short, part=parts[name]) for name, metric in metrics.items()
    )
