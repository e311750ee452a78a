"""Metrics of an epoch, and metrics that summarize all epochs."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.metrics import EpochMetrics, PairCounts, epoch_figures


def test_metrics_are_those_of_the_messages_of_each_worker():
    counts = PairCounts(workers=2)
    counts.add(np.array([0, 0, 1]), np.array([7, 8, 7], dtype=np.uint64), np.array([1, 4, 1]))
    metrics = EpochMetrics.of_epoch(3, counts, 5)
    assert (metrics.epoch, metrics.messages, metrics.keys, metrics.pairs) == (3, 5, 2, 3)
    assert (metrics.max_over_mean, metrics.dist_cost) == (5 / 3, 1.5)
    assert metrics.dist_cost_lower_bound == 1.5
    assert (metrics.size_imbalance, metrics.cardinality_imbalance) == (2.0, 0.5)
    assert metrics.key_split_ratio == metrics.dist_cost
    assert metrics.stddev_percent == pytest.approx(100 / 3)


def test_no_epochs_have_no_median():
    nothing = {"p50": None, "max": None}
    assert epoch_figures([]) == {
        "epoch_max_over_mean": nothing,
        "epoch_imbalance_fraction": nothing,
        "epoch_stddev_percent": nothing,
        "epoch_dist_cost": nothing,
        "epoch_dist_cost_lower_bound": nothing,
        "epoch_moved_keys": nothing,
        "epoch_moved_load": nothing,
        "epoch_size_imbalance": nothing,
        "epoch_cardinality_imbalance": nothing,
        "epoch_key_split_ratio": nothing,
    }
