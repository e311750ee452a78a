"""``evenkey experiment``: list, tables, pages, JSON."""

from __future__ import annotations

import json

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


def test_list_names_experiments_and_their_places(invoke):
    told = invoke("experiment", "list")
    assert told.exit_code == 0
    assert "pkg-table-2" in told.stdout
    assert "DKG, figure 13 a to d" in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 80


def test_list_as_json(invoke):
    entries = json.loads(invoke("experiment", "list", "--json").stdout)["experiments"]
    assert entries[0].keys() == {"experiment", "reference", "title"}


@pytest.mark.usefixtures("small")
def test_run_prints_the_table_and_writes_the_page(invoke, tmp_path):
    told = invoke("experiment", "run", "small-table-1", "--output", tmp_path)
    assert told.exit_code == 0, told.stderr
    assert "Small, table 1: Squares <of numbers> (quick)" in told.stdout
    assert ["3", "9"] in [line.split() for line in told.stdout.splitlines()]
    assert "agrees: squares are large. Here: they are." in told.stdout
    assert "left out: nowhere.txt.gz" in told.stdout
    assert "3 of 3 scenarios" in told.stderr
    assert (tmp_path / "small-table-1-quick.html").is_file()
    assert (tmp_path / "index.html").is_file()


@pytest.mark.usefixtures("small")
def test_run_as_json_prints_nothing_else(invoke, tmp_path):
    told = invoke("experiment", "run", "all", "--output", tmp_path, "--seed", "2", "--json")
    (result,) = json.loads(told.stdout)["results"]
    assert result["experiment"] == "small-table-1"
    assert result["tables"][0]["rows"][0] == {"number": 3, "square": 11}
    assert result["command"].endswith("--seed 2")


@pytest.mark.slow(5)
def test_a_word_stands_for_all_that_are_simulated_or_run_on_spark(invoke, monkeypatch, tmp_path):
    ran: list[str] = []

    def stop(experiment, *_, **__):
        ran.append(experiment.id)
        return Outcome(experiment, QUICK, 0, pd.DataFrame(), (), tmp_path, "")

    monkeypatch.setattr(experiments, "run", stop)
    told = {}
    for word in ("simulated", "spark", "all"):
        ran.clear()
        assert invoke("experiment", "run", word, "--output", tmp_path).exit_code == 0
        told[word] = set(ran)
    assert {"pkg-table-2", "dkg-table-3"} <= told["simulated"]
    assert {"pkg-table-3", "dkg-table-3-spark"} <= told["spark"]
    assert not told["simulated"] & told["spark"]
    assert told["simulated"] | told["spark"] == told["all"]


def test_bad_names_exit_with_2_before_anything_runs(invoke, tmp_path):
    for arguments, message in (
        (("pkg-tabel-2",), "did you mean 'pkg-table-2'"),
        (("pkg-table-2", "--scale", "huge"), "huge"),
        (("pkg-table-2", "--jobs", "0"), "jobs"),
    ):
        told = invoke("experiment", "run", *arguments, "--output", tmp_path / "out")
        assert told.exit_code == 2
        assert message in told.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "servers", "message"),
    [
        ("pkg-table-1", "127.0.0.1:9092", "scenarios read no topic; leave kafka out"),
        ("pkg-figure-10-a", "127.0.0.1:9092", "which is for the generator alone"),
        ("dkg-table-3-spark", "localhost", "'localhost' is no HOST:PORT"),
        ("dkg-table-3-spark", "127.0.0.1:1", "no Kafka broker answers"),
    ],
)
def test_streams_that_cannot_come_from_kafka_exit_with_2(invoke, tmp_path, name, servers, message):
    told = invoke("experiment", "run", name, "--kafka", servers, "--output", tmp_path)
    assert told.exit_code == 2
    assert message in told.stderr
