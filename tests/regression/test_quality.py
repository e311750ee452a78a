"""Balance and replication of every grouping change only on purpose."""

from __future__ import annotations

import pytest

from evenkey.groupings import available
from tests.regression import bench

SCENARIOS = bench.scenarios()


@pytest.mark.parametrize("name", SCENARIOS)
def test_figures_are_the_frozen_ones(name):
    before, now = bench.frozen()[name], SCENARIOS[name].measure()
    assert before.keys() == now.keys()
    changed = bench.differences(before, now)
    assert not changed, f"{name}: if this is meant, run `make freeze` and commit figures.json"


def test_every_grouping_has_a_scenario_or_an_excuse():
    assert bench.unaccounted() == {}


def test_every_scenario_is_frozen_and_nothing_else():
    assert bench.frozen().keys() == SCENARIOS.keys()


def test_a_figure_too_far_away_is_reported():
    before = dict.fromkeys(bench.TOLERANCES, 2.0)
    now = {**before, "dist_cost": 2.0 * 1.02, "max_over_mean": 2.0 * 0.98, "memory_bytes": 2.1}
    assert bench.differences(before, now) == {
        "dist_cost": "was 2, is 2.04",
        "max_over_mean": "was 2, is 1.96",
    }


def test_a_grouping_without_scenario_is_reported(monkeypatch):
    pkg = available()["pkg"]
    monkeypatch.setattr(bench, "available", lambda: {"pkg": pkg, "new": pkg, "odd": pkg})
    monkeypatch.setattr(bench, "EXCUSES", {"odd": "why", "pkg": "why", "gone": "why"})
    fixes = bench.unaccounted()
    assert set(fixes) == {"new", "pkg", "gone"}
    assert "add it" in fixes["new"]
