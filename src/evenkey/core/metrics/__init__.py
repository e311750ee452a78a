"""Metrics: pure functions over the loads of workers, and the declarations of all figures."""

from __future__ import annotations

from evenkey.core.metrics.base import Figure, Figures, Value, figure, known
from evenkey.core.metrics.durations import makespan, messages_per_second
from evenkey.core.metrics.figures import (
    FIGURES,
    Balance,
    EpochMetrics,
    JoinFigures,
    Outcome,
    Pace,
    RunMetrics,
    Spread,
    Standing,
    epoch_figures,
    shown_in,
)
from evenkey.core.metrics.load import (
    imbalance,
    imbalance_fraction,
    load_distances,
    max_load_distance,
    max_over_mean,
    stddev_percent,
)
from evenkey.core.metrics.replication import LoadCounts, PairCounts, dist_cost_lower_bound
from evenkey.core.metrics.seen import Paced, Seen, Stood, Taken

__all__ = [
    "FIGURES",
    "Balance",
    "EpochMetrics",
    "Figure",
    "Figures",
    "JoinFigures",
    "LoadCounts",
    "Outcome",
    "Pace",
    "Paced",
    "PairCounts",
    "RunMetrics",
    "Seen",
    "Spread",
    "Standing",
    "Stood",
    "Taken",
    "Value",
    "dist_cost_lower_bound",
    "epoch_figures",
    "figure",
    "imbalance",
    "imbalance_fraction",
    "known",
    "load_distances",
    "makespan",
    "max_load_distance",
    "max_over_mean",
    "messages_per_second",
    "shown_in",
    "stddev_percent",
]
