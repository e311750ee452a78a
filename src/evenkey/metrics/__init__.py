"""Metrics: pure functions over the messages that workers got."""

from __future__ import annotations

from evenkey.metrics.epoch import EpochMetrics, epoch_figures
from evenkey.metrics.load import imbalance, imbalance_fraction, max_over_mean, stddev_percent
from evenkey.metrics.load_distance import load_distances, max_load_distance
from evenkey.metrics.replication import PairCounts, dist_cost_lower_bound
from evenkey.metrics.throughput import messages_per_second

__all__ = [
    "EpochMetrics",
    "PairCounts",
    "dist_cost_lower_bound",
    "epoch_figures",
    "imbalance",
    "imbalance_fraction",
    "load_distances",
    "max_load_distance",
    "max_over_mean",
    "messages_per_second",
    "stddev_percent",
]
