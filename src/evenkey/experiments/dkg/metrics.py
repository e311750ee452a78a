"""The DKG paper's metrics: their table and their plots."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from evenkey.experiments.dkg.methods import named
from evenkey.experiments.experiment import NOT_GIVEN, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.table import Column, Table

__all__ = ["MODEL_NOTE", "PART", "metrics_table", "parts_of_highest", "plot_each"]

MODEL_NOTE = (
    "Latency and throughput are the paper's measurements on a cluster; the simulator has no such "
    "clock. Where the workers are the bottleneck the time is in proportion to the load of the "
    "fullest worker, and the throughput to its inverse: these stand in for them."
)

PART = Axis("part", "Part of the highest value")


class _Metric(NamedTuple):
    short: str
    title: str
    form: str


_METRICS = {
    "stddev_percent": _Metric("StdDev", "StdDev of loads, % of all messages", ".3f"),
    "dist_cost": _Metric("DistCost", "DistCost, workers a key", ".3f"),
    "max_over_mean": _Metric("Fullest worker", "Fullest worker, of the mean load", ".3f"),
    "throughput_percent": _Metric("Throughput", "Throughput bound, % of even loads", ".1f"),
}
"""By column of the frame."""


def metrics_table(frame: pd.DataFrame, *settings: Column) -> Table:
    """Make the table of all metrics, a row a setting and method."""
    metrics = [Column(name, metric.title, metric.form) for name, metric in _METRICS.items()]
    columns = [*settings, Column("method", "Method"), *metrics]
    return Table("Metrics", columns, named(frame), NOT_GIVEN)


def plot_each(frame: pd.DataFrame, x: Axis) -> list[Plot]:
    """Make a plot a metric, with a line a method."""
    told = named(frame)
    return [
        Plot(
            metric.title,
            chart(told, x=x, y=Axis(name, metric.title), group="method", legend="Method"),
        )
        for name, metric in _METRICS.items()
    ]


def parts_of_highest(frame: pd.DataFrame, within: str | None = None) -> pd.DataFrame:
    """Divide each metric by its highest value, as the paper does.

    Parameters
    ----------
    frame
        Results.
    within
        Column for each of whose values there is a highest one; None takes that of all rows.

    Returns
    -------
    DataFrame
        A row a result and metric: columns ``metric`` and ``part`` besides the others.
    """
    told = named(frame)
    metrics = told[list(_METRICS)]
    highest = metrics.max() if within is None else metrics.groupby(told[within]).transform("max")
    parts = metrics / highest
    return pd.concat(
        told.assign(metric=metric.short, part=parts[name]) for name, metric in _METRICS.items()
    )
