"""Scenarios of the pipeline run on the shared session."""

from __future__ import annotations

from typing import Any

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.pipeline import PipelineRun
from evenkey.papers.experiments.simulation import Simulation
from evenkey.simulation import simulate

STREAM = Dataset("zipf(z=1,keys=50)", 400)
SMALL: dict[str, Any] = {"sources": 2, "epochs": 2, "aggregators": 1}


def measured(**options) -> dict[str, Any]:
    seen: list[int] = []
    scenario = PipelineRun(STREAM, "kg", 3, repeats=1, **SMALL, **options)
    figures = scenario.measure(seen.append).figures
    assert seen[-1] == 400
    assert 0 not in seen  # 0 would be the small warm-up run
    return figures


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_a_scenario_is_run_by_the_pipeline():
    figures = measured()
    simulated = simulate(generated(STREAM.name, messages=400), "kg", workers=3, sources=2).to_json()
    for name in ("messages", "keys", "pairs", "max_over_mean", "stddev_percent", "dist_cost"):
        assert figures[name] == simulated[name]
    assert figures["epochs"] == 2
    assert figures["epoch_pairs_mean"] <= figures["epoch_pairs_max"] <= 50
    assert 0 < figures["latency_p50_ms"] <= figures["makespan_ms"]
    assert figures["machine"]

    read = measured(from_file=True, arrival_rate=200.0)
    timed = {name for name in figures if name.endswith(("_ms", "second", "seconds"))}
    assert {name for name in figures if figures[name] != read[name]} <= timed
    assert read["makespan_ms"] >= 2000  # 400 messages take two seconds to arrive
    assert (
        read["latency_mean_ms"] < read["makespan_ms"] - 1000
    )  # arrival times do not count as latency


@pytest.mark.soak(11)
@pytest.mark.usefixtures("spark")
def test_a_stream_that_comes_through_a_topic_gives_the_same_figures(broker):
    scenario = PipelineRun(STREAM, "pkg", 3, repeats=1, **SMALL)
    replayed = scenario.through(broker.server)
    assert replayed.id != scenario.id
    generated_ones, read = scenario.measure().figures, replayed.measure().figures
    for name in ("messages", "keys", "pairs", "max_over_mean", "dist_cost", "epochs"):
        assert read[name] == generated_ones[name]
    assert not [name for name in topics_of(broker) if name.startswith("evenkey-")]


def topics_of(broker) -> list[str]:
    from confluent_kafka.admin import AdminClient

    return list(AdminClient({"bootstrap.servers": broker.server}).list_topics(timeout=240).topics)


def test_streams_that_cannot_come_through_a_topic_are_refused():
    paced = PipelineRun(STREAM, "kg", 3, arrival_rate=200.0)
    with pytest.raises(ConfigurationError, match=r"200 a second here.*leave out kafka"):
        paced.through("127.0.0.1:9092")
    with pytest.raises(ConfigurationError, match="simulation scenarios read no topic"):
        Simulation(STREAM, "kg", 3).through("127.0.0.1:9092")


def test_ids_are_the_same_for_ever():
    # These ids find stored measurements of many hours, so they must never change.
    assert PipelineRun(STREAM, "kg", 3).id == "395df1a12be00e91"


def test_tasks_that_read_and_tasks_that_route_are_two_numbers():
    config = PipelineRun(STREAM, "kg", 3, sources=2, splitters=4).config()
    assert (config.sources, config.splitters, config.routers) == (2, 4, 4)
    assert PipelineRun(STREAM, "kg", 3, sources=2).config().routers == 2


def test_sessions_have_slots_for_all_workers_to_wait_at_once(monkeypatch):
    monkeypatch.delenv("SPARK_MASTER", raising=False)
    few, many = (PipelineRun(STREAM, "kg", workers).config().master for workers in (2, 100))
    assert few == many == "local[100,4]"
    monkeypatch.setenv("SPARK_MASTER", "spark://example:7077")
    assert PipelineRun(STREAM, "kg", 3).config().master == "spark://example:7077"
