"""A rehearsal of Algorithm 1 keeps to its periods and pauses."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.joins import DynamicDistributor

WORKERS, PARTITIONS = 4, 16


def moves(distributor, loads, epoch_seconds):
    """Return the seconds after which partitions move."""
    placed = distributor.rehearse(loads, WORKERS, epoch_seconds=epoch_seconds)
    assert len(placed) == len(loads)
    return [
        epoch_seconds * epoch
        for epoch in range(1, len(placed))
        if placed[epoch] != placed[epoch - 1]
    ]


def skewed(epochs, every=None):
    """Return loads of which partitions of one worker have most; of another one `every` epochs."""
    loads = np.full((epochs, PARTITIONS), 100.0)
    for epoch in range(epochs):
        hot = 0 if every is None else epoch // every
        loads[epoch, hot % WORKERS :: WORKERS] = 1000.0
    return loads


@pytest.mark.parametrize("epoch_seconds", [0.5, 2.0, 10.0])
def test_partitions_move_at_the_first_check(epoch_seconds):
    found = moves(DynamicDistributor(copies=False), skewed(40), epoch_seconds)
    assert found == [10.0]


def test_pauses_last_n_periods():
    loads = skewed(120, every=10)
    waiting = moves(DynamicDistributor(copies=False), loads, 2.0)
    eager = moves(DynamicDistributor(copies=False, wait_periods=0, min_improvement=0), loads, 2.0)
    assert len(waiting) > 2
    assert np.diff(waiting).min() >= 30
    assert np.diff(eager).tolist() == [20.0] * (len(eager) - 1)  # as the skew moves


def test_nothing_moves_below_the_threshold_or_before_enough_items():
    assert moves(DynamicDistributor(copies=False, threshold=9), skewed(40), 2.0) == []
    assert moves(DynamicDistributor(copies=False, min_items=10**9), skewed(40), 2.0) == []
