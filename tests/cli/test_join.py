"""``evenkey join``: options and printed metrics, with fake runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

import evenkey.papers.publish_subscribe
from evenkey.kafka.topic_producer import Produced
from evenkey.pipeline.runs import EpochProgress

FIGURES: dict[str, Any] = {
    "messages": 20_000,
    "realised_skew": 0.51,
    "finished_before": False,
    "subscriptions": 10_000,
    "partitions": 64,
    "rejected": 3,
    "matches": 92_144,
    "pairs_digest": "92144-11b3",
    "expected_digest": "92144-11b3",
    "mldc": [2.7312, 0.2],
    "max_over_mean": 2.1184,
    "stddev_percent": 4.5,
    "redistributions": [{"epoch": 1, "moved_partitions": [4, 7, 9], "seconds": 0.2}],
    "static_loads": 67,
    "epoch_static_loads": [64, 3],
    "modelled_makespan_seconds": 12.345,
    "makespan_ms": 34_500.0,
    "epochs": 2,
    "messages_per_second": 580.4,
    "duration_p50_ms": 1500.2,
    "duration_p99_ms": None,
    "publication_latency_ms": {"mean": 812.4, "p50": 790.0, "p99": None},
    "results": "out/results",
    "finished": True,
}


@dataclass
class FakeReport:
    config: Any
    skew: float | None = 0.7

    def to_json(self):
        names = {name: getattr(self.config, name) for name in ("pipeline", "mode", "workers")}
        digest = "1-0" if self.config.mode == "static-stal" else FIGURES["pairs_digest"]
        return {**FIGURES, **names, "pairs_digest": digest}


@pytest.fixture
def configs(monkeypatch):
    asked = []

    def run(config, *, on_progress):
        asked.append(config)
        on_progress(EpochProgress(config.name, 0, 10_000, 20_000, 3.7, 580.0, "running"))
        return FakeReport(config)

    def compare(config, modes, *, on_progress):
        return [run(config.with_options(mode=mode), on_progress=on_progress) for mode in modes]

    monkeypatch.setitem(vars(evenkey.papers.publish_subscribe), "run_join", run)
    monkeypatch.setitem(vars(evenkey.papers.publish_subscribe), "compare_joins", compare)
    return asked


def test_options_reach_the_configuration_and_figures_are_printed(invoke, configs):
    outcome = invoke(
        "join",
        "run",
        "--pipeline",
        "risps",
        "--mode",
        "static-strl",
        "--skew",
        "0.7",
        "--workers",
        "4",
        "--threshold",
        "0.4",
        "--verify",
    )
    assert outcome.exit_code == 0, outcome.output
    (config,) = configs
    assert (config.name, config.skew, config.workers) == ("risps static-strl", 0.7, 4)
    assert (config.threshold, config.verify, config.partitions_or_default) == (0.4, True, 16)
    for text in (
        "20,000, 3 rejected",
        "2.731 0.200",
        "2.118",
        "3 before 1",
        "12.35 s",
        "equal pairs",
    ):
        assert text in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_json_has_the_figures_and_the_configuration(invoke, configs):
    outcome = invoke("join", "run", "--json")
    printed = json.loads(outcome.stdout)
    assert printed["mldc"] == [2.7312, 0.2]
    assert printed["configuration"]["mode"] == configs[0].mode == "dynamic-lb-stal"


def test_a_comparison_has_a_row_per_mode_and_reports_unequal_pairs(invoke, configs):
    outcome = invoke("join", "compare", "--modes", "static-strl,dynamic-lb-stal")
    assert [config.mode for config in configs] == ["static-strl", "dynamic-lb-stal"]
    assert "pairs of all modes: equal (92144-11b3)" in outcome.stdout
    assert "2.731 to 0.200" in outcome.stdout
    outcome = invoke("join", "compare", "--json")
    assert len(json.loads(outcome.stdout)["results"]) == 6
    outcome = invoke("join", "compare", "--modes", "static-strl,static-stal")
    assert "NOT EQUAL" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--mode", "statc-strl"), "did you mean 'static-strl'"),
        (("run", "--skew", "1.5"), "skew = 1.5"),
        (("compare", "--modes", "static-strl,static-strl"), "none twice"),
        (("compare", "--modes", ""), "pass at least one mode"),
        (("run", "--polygons", "none.geojson"), "none.geojson does not exist"),
    ],
)
@pytest.mark.usefixtures("configs")
def test_invalid_options_exit_with_2(invoke, arguments, message):
    outcome = invoke("join", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr


def test_publications_are_produced_into_a_topic(invoke, monkeypatch):
    asked = []

    def produce(config, address, **options):
        asked.append((config.skew, config.partitions_or_default, str(address), options))
        return Produced(config.publications, 2.0)

    monkeypatch.setitem(vars(evenkey.papers.publish_subscribe), "produce_publications", produce)
    arguments = ("join", "produce", "localhost:9092/places", "--skew", "0.7", "--workers", "4")
    outcome = invoke(*arguments, "--publications", "3000", "--topic-partitions", "8", "--live")
    assert outcome.exit_code == 0, outcome.output
    assert "3,000 publications sent to localhost:9092/places" in outcome.stdout
    ((skew, partitions, address, options),) = asked
    assert (skew, partitions, address) == (0.7, 16, "localhost:9092/places")
    assert (options["partitions"], options["live"]) == (8, True)
    printed = json.loads(invoke(*arguments, "--json").stdout)
    assert (printed["topic"], printed["messages_per_second"]) == ("places", 10_000)
    assert invoke("join", "produce", "localhost/places").exit_code == 2
    assert (
        invoke("join", "produce", "localhost:9092/places", "--mode", "static-stal").exit_code == 2
    )
