"""Metrics of load, checked by hand; empty and invalid loads."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import imbalance, imbalance_fraction, max_over_mean, stddev_percent

METRICS = [max_over_mean, imbalance, imbalance_fraction, stddev_percent]


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        # max / mean, max - mean, (max - mean) / messages, deviation of the shares in percent
        ([5, 5], (1, 0, 0, 0)),
        ([10, 0], (2, 5, 0.5, 50)),  # shares 100 and 0 around 50
        ([6, 3, 3], (1.5, 2, 1 / 6, np.sqrt(1250 / 9))),  # shares 50, 25, 25 around 33 1/3
        ([4, 2, 1, 1, 2], (2, 2, 0.2, np.sqrt(120))),  # shares 40, 20, 10, 10, 20 around 20
        ([7], (1, 0, 0, 0)),
        ([0, 0, 0], (1, 0, 0, 0)),
    ],
)
def test_hand_checked(loads, expected):
    assert [metric(loads) for metric in METRICS] == pytest.approx(list(expected))
    assert [metric(np.array(loads)) for metric in METRICS] == pytest.approx(list(expected))


@pytest.mark.parametrize("metric", METRICS)
def test_idle_workers_count(metric):
    assert metric([3, 3, 0]) > metric([3, 3])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("loads", "fix"),
    [([], "one number per worker"), ([[1], [2]], "and at least one"), ([1, -2], "a load is -2")],
)
def test_senseless_loads(metric, loads, fix):
    with pytest.raises(ConfigurationError, match=fix):
        metric(loads)


def test_large_loads_do_not_overflow():
    loads = np.array([2**62, 0], dtype=np.int64)
    assert max_over_mean(loads) == 2
    assert stddev_percent(loads) == 50
