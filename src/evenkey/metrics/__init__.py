"""Metrics: pure functions over the messages that workers got."""

from __future__ import annotations

from evenkey.metrics.load import imbalance, imbalance_fraction, max_over_mean, stddev_percent
from evenkey.metrics.replication import PairCounts

__all__ = [
    "PairCounts",
    "imbalance",
    "imbalance_fraction",
    "max_over_mean",
    "stddev_percent",
]
