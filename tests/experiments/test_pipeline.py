"""Scenarios of the pipeline, on the shared session."""

from __future__ import annotations

from typing import Any

import pytest

from evenkey.experiments.dataset import Dataset
from evenkey.experiments.pipeline import PipelineRun
from evenkey.simulation import simulate
from evenkey.streams import generated

STREAM = Dataset("zipf(z=1,keys=50)", 400)
SMALL: dict[str, Any] = {"sources": 2, "epochs": 2, "aggregators": 1}


@pytest.mark.usefixtures("spark")
def test_a_scenario_is_run_by_the_pipeline_as_often_as_it_says():
    seen: list[int] = []
    scenario = PipelineRun(STREAM, "kg", 3, repeats=2, **SMALL)
    figures: dict[str, Any] = scenario.measure(seen.append).figures
    report = simulate(generated(STREAM.name, messages=400), "kg", workers=3, sources=2)
    assert seen[-1] == 400
    assert 0 not in seen  # the small run before the first
    assert figures["messages"] == 400
    assert figures["pairs"] == figures["keys"] == report.to_json()["keys"]
    assert figures["max_over_mean"] == report.to_json()["max_over_mean"]
    assert figures["epochs"] == 2
    assert figures["epoch_pairs_mean"] <= figures["epoch_pairs_max"] <= 50
    assert 0 < figures["latency_p50_ms"] <= figures["latency_p99_ms"] <= figures["makespan_ms"]
    assert figures["machine"]


def test_ids_are_the_same_for_ever():
    # Hours of measurements are found by these: a change here orphans them all.
    assert PipelineRun(STREAM, "kg", 3).id == "395df1a12be00e91"


def test_sessions_have_slots_for_all_workers_to_wait_at_once(monkeypatch):
    monkeypatch.delenv("SPARK_MASTER", raising=False)
    few, many = (PipelineRun(STREAM, "kg", workers).config().master for workers in (2, 100))
    assert few == many == "local[100,4]"
    monkeypatch.setenv("SPARK_MASTER", "spark://example:7077")
    assert PipelineRun(STREAM, "kg", 3).config().master == "spark://example:7077"
