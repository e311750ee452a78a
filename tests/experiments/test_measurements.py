"""The measurements of scenarios, compared with plain counting."""

from __future__ import annotations

import gzip
from collections import Counter

import pytest

from evenkey.core.streams import generated
from evenkey.papers.experiments.experiment_data import EPINIONS, Dataset
from evenkey.papers.experiments.key_share import KeyShare, TopKeys
from evenkey.papers.experiments.simulation import Simulation
from evenkey.simulation import simulate

STREAM = Dataset("zipf(z=1,keys=50)", 3000)


def test_key_share_counts_messages_keys_and_the_top_key():
    ids = Counter(generated(STREAM.name, messages=STREAM.messages).ids(0, 3000).tolist())
    assert KeyShare(STREAM).measure().figures == {
        "messages": 3000,
        "weight": 3000,
        "keys": len(ids),
        "top_share_percent": pytest.approx(100 * max(ids.values()) / 3000),
    }


def test_top_keys_are_counted_by_period():
    stream = generated(STREAM.name, messages=STREAM.messages)
    (batch,) = stream.batches()
    overall = Counter(batch.ids.tolist())
    top = sorted(overall, key=lambda key: (-overall[key], key))[:5]
    counts = Counter((int(time // 100), key) for time, key in zip(batch.times, batch.ids.tolist(),
                                                                 strict=True))  # fmt: skip
    measured = TopKeys(STREAM, 100.0).measure()
    assert measured.figures == {"messages": 3000, "periods": 4}
    assert measured.series is not None
    assert measured.series.to_pylist() == [
        {"period": period, "key": str(key), "messages": counts[period, key]}
        for period in range(4)
        for key in top
    ]


def test_a_simulation_is_the_simulators():
    scenario = Simulation(STREAM, "pkg", 7, 3, hash="murmur3", agreement=True, samples=10)
    stream = generated(STREAM.name, messages=STREAM.messages)
    report = simulate(
        stream, "pkg", workers=7, sources=3, hash="murmur3", agreement=True, samples=10
    )
    measured = scenario.measure()
    reported = report.to_json()
    assert measured.figures["average_imbalance_fraction"] == reported["average_imbalance_fraction"]
    assert measured.figures["disagreement"] == reported["agreement"]["disagreement"]
    assert measured.series == report.series
    assert not {name for name in measured.figures if "second" in name}  # no times


def test_scenarios_of_one_pass_give_what_each_gives_alone():
    scenarios = [
        Simulation(STREAM, "pkg", 7, hash="murmur3", agreement=True, samples=10),
        Simulation(STREAM, "off-greedy", 3, estimation="global", replication=False),
        Simulation(STREAM, "planned", 5, epoch_messages=700),
        Simulation(STREAM, "pkg", 7, 9, feed="key", estimation="probing(seconds=30)"),
    ]
    assert Simulation.measure_all(scenarios) == [each.measure() for each in scenarios]


def test_without_replication_loads_are_the_same_and_no_pairs_are_kept():
    with_pairs, without = (
        Simulation(STREAM, "pkg", 7, replication=each).measure().figures for each in (True, False)
    )
    assert {**without, **{name: with_pairs[name] for name in ("keys", "pairs", "dist_cost")}} == (
        with_pairs
    )
    assert len(without) == len(with_pairs) - 3


def test_a_graph_is_read_from_the_folder_of_data(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENKEY_DATA", str(tmp_path))
    graph = Dataset(EPINIONS)
    assert "EVENKEY_DATA" in (graph.missing() or "")
    (tmp_path / EPINIONS).write_bytes(gzip.compress(b"# edges\n1 2\n3 2\n2 4\n"))
    assert graph.missing() is None
    assert KeyShare(graph).measure().figures["keys"] == 2
    measured = Simulation(graph, "kg", 3, 2, feed="key").measure()
    assert (measured.figures["messages"], measured.figures["dist_cost"]) == (3, 1.0)
