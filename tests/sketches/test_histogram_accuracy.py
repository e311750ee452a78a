"""The errors of ranks and quantiles of histograms, both unmerged and merged."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.sketches import ApproximateHistogram

COUNT, BINS, PARTS = 40_000, 64, 16
RANK_ERROR = 0.03
"""Largest error as a share of the weight; the exponential distribution reaches 2.4 %."""

RANDOM = np.random.default_rng(7)
DISTRIBUTIONS = {
    "normal": RANDOM.normal(size=COUNT),
    "uniform": RANDOM.uniform(size=COUNT),
    "exponential": RANDOM.exponential(size=COUNT),
    "log-normal": RANDOM.lognormal(size=COUNT),
    "two peaks": np.concatenate(
        [RANDOM.normal(-4, 1, COUNT // 2), RANDOM.normal(4, 0.2, COUNT // 2)]
    ),
    "sorted": np.sort(RANDOM.normal(size=COUNT)),
}


def in_one_piece(values):
    histogram = ApproximateHistogram(BINS)
    histogram.update(values)
    return histogram


def merged(values):
    parts = [in_one_piece(part) for part in np.array_split(values, PARTS)]
    histogram = parts[0]
    for part in parts[1:]:
        histogram = histogram.merge(part)
    return histogram


def ranks(values, points):
    """Return the share of the values at or below each point."""
    return np.searchsorted(np.sort(values), points, side="right") / len(values)


@pytest.mark.parametrize("make", [in_one_piece, merged])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_sum(name, make):
    values = DISTRIBUTIONS[name]
    points = np.quantile(values, np.linspace(0, 1, 301))
    errors = make(values).sum(points) / COUNT - ranks(values, points)
    assert np.abs(errors).max() < RANK_ERROR


@pytest.mark.parametrize("make", [in_one_piece, merged])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_uniform(name, make):
    values = DISTRIBUTIONS[name]
    errors = ranks(values, make(values).uniform(20)) - np.arange(1, 20) / 20
    assert np.abs(errors).max() < RANK_ERROR


def test_more_bins_come_closer():
    points = np.quantile(DISTRIBUTIONS["normal"], np.linspace(0, 1, 301))
    worst = []
    for bins in (8, 32, 128):
        histogram = ApproximateHistogram(bins)
        histogram.update(DISTRIBUTIONS["normal"])
        errors = histogram.sum(points) / COUNT - ranks(DISTRIBUTIONS["normal"], points)
        worst.append(np.abs(errors).max())
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] < worst[0] / 4
