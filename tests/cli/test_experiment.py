"""``evenkey experiment``: list, tables, pages, JSON."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from evenkey.papers import experiments
from evenkey.papers.experiments import QUICK, Outcome
from tests.experiments.conftest import SmallExperiment


@pytest.fixture
def small(monkeypatch):
    experiment = SmallExperiment()
    monkeypatch.setattr(experiments, "available", lambda: {experiment.id: experiment})
    return experiment


def test_list_names_experiments_and_their_references(invoke):
    outcome = invoke("experiment", "list")
    assert outcome.exit_code == 0
    assert "pkg-table-2" in outcome.stdout
    assert "DKG, figure 13 a to d" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_list_as_json(invoke):
    entries = json.loads(invoke("experiment", "list", "--json").stdout)["experiments"]
    assert entries[0].keys() == {"experiment", "reference", "title"}


@pytest.mark.usefixtures("small")
def test_run_prints_the_table_and_writes_the_page(invoke, tmp_path):
    outcome = invoke("experiment", "run", "small-table-1", "--output", tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    assert "Small, table 1: Squares <of numbers> (quick)" in outcome.stdout
    assert ["3", "9"] in [line.split() for line in outcome.stdout.splitlines()]
    rule = "squares: rises from Number = 1 to 2 to 3, much more at each step"
    assert f"holds: {rule}. Here: 2.25x to 9x in 3 settings." in outcome.stdout
    assert "left out: nowhere.txt.gz" in outcome.stdout
    assert re.match(r"small-table-1: [01] of 3 runs, ", outcome.stderr)
    assert (tmp_path / "small-table-1-quick.html").is_file()
    assert (tmp_path / "index.html").is_file()


@pytest.mark.usefixtures("small")
def test_run_as_json_prints_nothing_else(invoke, tmp_path):
    outcome = invoke("experiment", "run", "all", "--output", tmp_path, "--seed", "2", "--json")
    (result,) = json.loads(outcome.stdout)["results"]
    assert result["experiment"] == "small-table-1"
    assert result["tables"][0]["rows"][0] == {"number": 3, "square": 11}
    assert result["command"].endswith("--seed 2")


@pytest.mark.slow(5)
def test_a_word_selects_all_that_are_simulated_or_run_on_spark(invoke, monkeypatch, tmp_path):
    ran: list[str] = []

    def stop(experiment, *_, **__):
        ran.append(experiment.id)
        return Outcome(experiment, QUICK, 0, pd.DataFrame(), (), tmp_path, "")

    monkeypatch.setattr(experiments, "run", stop)
    chosen = {}
    for word in ("simulated", "spark", "all"):
        ran.clear()
        assert invoke("experiment", "run", word, "--output", tmp_path).exit_code == 0
        chosen[word] = set(ran)
    assert {"pkg-table-2", "dkg-table-3"} <= chosen["simulated"]
    assert {"pkg-table-3", "dkg-table-3-spark"} <= chosen["spark"]
    assert not chosen["simulated"] & chosen["spark"]
    assert chosen["simulated"] | chosen["spark"] == chosen["all"]


def test_bad_names_exit_with_2_before_anything_runs(invoke, tmp_path):
    for arguments, message in (
        (("pkg-tabel-2",), "did you mean 'pkg-table-2'"),
        (("pkg-table-2", "--scale", "huge"), "huge"),
        (("pkg-table-2", "--jobs", "0"), "jobs"),
    ):
        outcome = invoke("experiment", "run", *arguments, "--output", tmp_path / "out")
        assert outcome.exit_code == 2
        assert message in outcome.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "servers", "message"),
    [
        ("pkg-table-1", "127.0.0.1:9092", "scenarios read no topic; leave out kafka"),
        ("pkg-figure-10-a", "127.0.0.1:9092", "which only a generated stream supports"),
        ("dkg-table-3-spark", "localhost", "'localhost' is not HOST:PORT"),
        ("dkg-table-3-spark", "127.0.0.1:1", "no Kafka broker answers"),
    ],
)
def test_streams_that_cannot_come_from_kafka_exit_with_2(invoke, tmp_path, name, servers, message):
    outcome = invoke("experiment", "run", name, "--kafka", servers, "--output", tmp_path)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
