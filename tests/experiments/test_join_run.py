"""Scenarios of joins, on the shared session."""

from __future__ import annotations

from typing import Any

import pytest

from evenkey.experiments.dataset import Dataset
from evenkey.experiments.joins.join_run import JoinRun

SMALL: dict[str, Any] = {
    "subscriptions": 100,
    "workers": 2,
    "sources": 2,
    "epochs": 3,
    "partitions": 6,
}


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
    assert figures["moved_partitions"] >= 1
    assert 0 < figures["latency_mean_ms"] < 1000 * 300 / figures["throughput"]
    assert figures["modelled_throughput"] > figures["throughput"]
    assert figures["machine"]
    assert measurement.series is not None
    rows = measurement.series.to_pylist()
    assert [row["seconds"] for row in rows] == [40, 80, 120]
    assert rows[0]["mldc"] == figures["mldc_first"]


def test_ids_are_the_same_for_ever():
    # Hours of measurements are found by these: a change here orphans them all.
    assert JoinRun(Dataset("publications", 300), "sps", "static-strl", 0.3).id == "bcaa81a3f525d258"
