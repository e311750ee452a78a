"""Predictions equal the results of the simulator."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.advice import advise, predict
from evenkey.simulation import simulate
from tests.advice.conftest import sample_of


def test_predictions_are_the_simulators():
    sample = sample_of("country-skew-r80")
    steps: list[tuple[int, int, str]] = []
    predictions = predict(
        sample, ["pkg", "planned"], [4, 8], sources=3, on_progress=lambda *step: steps.append(step)
    )
    names = ["sg", "kg", "pkg", "planned"]
    assert [(each.workers, each.grouping) for each in predictions] == [
        (workers, name) for workers in (4, 8) for name in names
    ]
    assert steps[2] == (2, 8, "pkg on 4 workers")
    assert len(steps) == 8
    for each in predictions:
        report = simulate(sample, each.grouping, workers=each.workers, sources=3)
        balanced = simulate(sample, "sg", workers=each.workers, sources=3)
        assert each.max_load == report.loads.max()
        assert each.max_over_mean == report.to_json()["max_over_mean"]
        assert each.dist_cost == report.to_json()["dist_cost"]
        assert each.dist_cost_lower_bound == report.to_json()["dist_cost_lower_bound"]
        assert each.cardinality_imbalance == report.metrics.cardinality_imbalance
        assert each.size_imbalance == each.max_load - report.loads.mean()
        assert each.relative_throughput == balanced.loads.max() / report.loads.max()


def test_planned_is_fitted_on_the_sample():
    (_, _, planned) = predict(sample_of("country-skew-r80", 20_000), ["planned"], [10])
    assert planned.max_over_mean < 1.05
    assert planned.dist_cost < 1.1


@pytest.mark.parametrize("workers", [[], [4, 0]])
def test_no_workers_are_an_error(setting, workers):
    with pytest.raises(ConfigurationError, match="worker counts of at least 1"):
        advise(sample_of("country-skew-r80"), setting, workers)
