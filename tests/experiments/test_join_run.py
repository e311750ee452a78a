"""Scenarios of joins run on the shared session."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from evenkey.papers.experiments import QUICK, find
from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.joins.join_run import JoinRun, join_run

SMALL: dict[str, Any] = {
    "subscriptions": 100,
    "workers": 2,
    "sources": 2,
    "epochs": 3,
    "partitions": 6,
}


@pytest.mark.slow(3)
@pytest.mark.usefixtures("spark")
def test_a_scenario_is_run_by_the_pipeline():
    seen: list[int] = []
    stream = Dataset("publications", 300)
    scenario = JoinRun(
        stream, "spis", "dynamic-db-stal", 0.7, force_redistribution=1, repeats=1, **SMALL
    )
    measurement = scenario.measure(seen.append)
    figures: dict[str, Any] = measurement.figures
    assert seen[-1] == 300
    assert figures["redistributions"] >= 1
    assert 0 < figures["realised_skew"] < 1
    assert figures["moved_partitions"] >= 1
    assert 0 < figures["latency_mean_ms"] < 1000 * 300 / figures["throughput"]
    assert figures["modelled_throughput"] > figures["throughput"]
    assert figures["machine"]
    assert measurement.series is not None
    rows = measurement.series.to_pylist()
    assert [row["seconds"] for row in rows] == [40, 80, 120]
    assert rows[0]["mldc"] == figures["mldc_first"]


def test_ids_are_the_same_for_ever():
    # These ids find stored measurements of many hours, so they must never change.
    assert JoinRun(Dataset("publications", 300), "sps", "static-strl", 0.3).id == "bcaa81a3f525d258"


def test_results_of_streams_with_other_skew_are_measured_again():
    scenario = join_run(QUICK, "rihps", "static-strl", 0.3)
    assert scenario.id != dataclasses.replace(scenario, revision=1).id


@pytest.mark.parametrize("figure", ["joins-figure-4", "joins-figure-5"])
def test_the_axis_shows_the_skew_that_came_out(figure):
    experiment = find(figure)
    frame = made_up_frame(experiment.scenarios(QUICK))
    for plot in experiment.plots(frame):
        image: Any = Figure()
        plot.fill(image, 960)
        panels = image.axes
        drawn = {x for panel in panels for line in panel.lines for x in line.get_xdata()}
        assert drawn == set(frame["realised_skew"])
        assert "realised" in panels[-1].get_xlabel()


def made_up_frame(scenarios):
    """Make up stored results: the nominal skew, and a slightly lower actual one."""
    return pd.DataFrame(
        {**each.parameters, "realised_skew": 0.9 * each.skew, "throughput": 1.0}
        | dict.fromkeys(("modelled_throughput", "modelled_latency_ms", "latency_mean_ms"), 1.0)
        for each in scenarios
    )
