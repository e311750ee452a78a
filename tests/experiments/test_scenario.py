"""Scenarios have permanent ids."""

from __future__ import annotations

from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.key_share import KeyShare, TopKeys
from evenkey.papers.experiments.simulation import Simulation

STREAM = Dataset("zipf(z=1,keys=100)", 1000)


def test_ids_are_the_same_for_ever():
    # These ids find the results of earlier versions, so they must never change.
    assert KeyShare(STREAM).id == "9f55e004534a7d98"
    assert TopKeys(STREAM, 60.0).id == "22977d3c707741ec"
    assert Simulation(STREAM, "pkg", 10).id == "c5c65ea3d61003cc"


def test_a_default_that_is_named_makes_no_difference():
    assert Simulation(STREAM, "pkg", 10, sources=5, feed="shuffle").id == "c5c65ea3d61003cc"


def test_every_parameter_makes_a_difference():
    scenarios = [
        KeyShare(STREAM),
        Simulation(STREAM, "pkg", 10),
        Simulation(STREAM, "kg", 10),
        Simulation(STREAM, "pkg", 11),
        Simulation(STREAM, "pkg", 10, sources=6),
        Simulation(STREAM, "pkg", 10, hash="murmur3"),
        Simulation(STREAM, "pkg", 10, samples=9),
        Simulation(STREAM, "pkg", 10, replication=False),
        Simulation(Dataset(STREAM.name, 1001), "pkg", 10),
        Simulation(STREAM, "pkg", 10).seeded(1),
    ]
    assert len({scenario.id for scenario in scenarios}) == len(scenarios)


def test_parameters_hold_stream_and_seed():
    parameters = Simulation(STREAM, "pkg", 10).seeded(7).parameters
    assert parameters["kind"] == "simulation"
    assert parameters["dataset"] == STREAM.name
    assert (parameters["messages"], parameters["seed"]) == (1000, 7)
    assert (parameters["grouping"], parameters["workers"]) == ("pkg", 10)
