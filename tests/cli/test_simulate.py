"""``evenkey simulate``: the real simulator on small streams, and its output."""

from __future__ import annotations

import gzip
import json

import pytest

SIMULATE = ("simulate", "--dataset", "country-skew-r80", "--messages", 3000)
SHARED = [
    "dataset",
    "grouping",
    "workers",
    "sources",
    "feed",
    "estimation",
    "hash",
    "seed",
    "messages",
    "keys",
    "max_over_mean",
    "imbalance_fraction",
    "average_imbalance_fraction",
    "stddev_percent",
    "dist_cost",
    "dist_cost_lower_bound",
    "size_imbalance",
    "cardinality_imbalance",
    "key_split_ratio",
    "pairs",
    "seconds",
    "makespan_ms",
    "messages_per_second",
    "routing_messages_per_second",
    "memory_bytes",
]
EPOCHS = [
    "epochs",
    "epoch_max_over_mean",
    "epoch_stddev_percent",
    "epoch_dist_cost",
    "epoch_dist_cost_lower_bound",
    "moved_keys",
    "moved_load",
    "epoch_moved_keys",
    "epoch_moved_load",
]


def simulated(invoke, *options):
    outcome = invoke(*SIMULATE, "--json", *options)
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


@pytest.mark.slow(4)
def test_json_has_the_shared_names(invoke):
    figures = simulated(invoke, "--grouping", "kg", "--workers", 8, "--cost-ms", 2)
    assert set(SHARED) <= figures.keys()
    assert {"agreement", *EPOCHS} & figures.keys() == {"moved_keys", "moved_load"}
    assert (figures["messages"], figures["keys"], figures["dist_cost"]) == (3000, 197, 1.0)
    assert figures["makespan_ms"] == 2 * max(figures["loads"])


def test_options_reach_the_simulator(invoke):
    options = ("--grouping", "pkg", "--sources", 3, "--feed", "key", "--hash", "murmur3")
    figures = simulated(
        invoke, *options, "--estimation", "probing(60)", "--seed", 7, "--rate", 10,
        "--agreement", "--route-by", "weights", "--epoch-messages", 1000, "--readers", 2,
    )  # fmt: skip
    expected = {
        "grouping": "pkg",
        "workers": 10,
        "sources": 3,
        "readers": 2,
        "feed": "key",
        "hash": "murmur3",
        "estimation": "probing(seconds=60)",
        "seed": 7,
        "rate": 10,
        "route_by": "weights",
        "observe_by": "messages",
        "epoch_messages": 1000,
        "epochs": 3,
    }
    assert {name: figures[name] for name in expected} == expected
    assert 0 < figures["agreement"]["jaccard"] <= 1
    assert set(EPOCHS) <= figures.keys()


def test_several_groupings(invoke):
    results = simulated(invoke, "--groupings", "sg,PKG(choices=2)")["results"]
    assert [each["grouping"] for each in results] == ["sg", "pkg"]
    outcome = invoke(*SIMULATE, "--groupings", "sg,kg,dkg(variant=reference)", "--workers", 204)
    rows = {
        line.split()[0]: line.split()[1:] for line in outcome.stdout.splitlines() if line.split()
    }
    assert "3,000 messages, 197 keys" in outcome.stdout
    assert rows["kg"][2] == "1.00"
    assert float(rows["sg"][0]) < float(rows["kg"][0])
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_table_has_columns_for_epochs_and_agreement(invoke):
    outcome = invoke(*SIMULATE, "--grouping", "kg", "--agreement", "--epoch-messages", 1000)
    assert "worst epoch" in outcome.stdout
    assert "100.0" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_files_are_read_as_run_reads_them(invoke, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("k,n\na,2\nbad\nb,3\na,4\nc,100\n")
    options = ("simulate", "--input", file, "--key", "k", "--count", "n", "--grouping", "kg")
    outcome = invoke(*options, "--observe-by", "weights", "--messages", 4, "--json")
    figures = json.loads(outcome.stdout)
    assert figures["dataset"] == str(file)
    assert (figures["messages"], figures["keys"], figures["rejected"]) == (3, 2, 1)
    assert sum(figures["loads"]) == 9
    assert sum(figures["messages_held"]) == 3
    assert figures["makespan_ms"] == max(figures["messages_held"])
    assert figures["seed"] is None
    assert "lines rejected: 1" in invoke(*options).stdout


def test_an_input_without_a_message_is_an_error(invoke, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("k,n\na,none\nb,\n")
    outcome = invoke("simulate", "--input", file, "--key", "k", "--count", "n")
    assert outcome.exit_code == 2
    assert "none of 2 lines is a message" in " ".join(outcome.stderr.split())


def test_null_is_a_key(invoke, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"k": null}\n{"k": null}\n{"k": "null"}\n')
    options = ("--input", file, "--key", "k", "--hash", "murmur3", "--json")
    figures = json.loads(invoke("simulate", *options).stdout)
    assert (figures["messages"], figures["keys"], figures["rejected"]) == (3, 2, 0)


def test_compressed_edges_go_to_sources_by_their_senders(invoke, tmp_path):
    file = tmp_path / "graph.txt.gz"
    file.write_bytes(gzip.compress(b"# from to\n" + b"".join(b"7 %d\n" % i for i in range(50))))
    options = ("simulate", "--input", file, "--split", "edges", "--grouping", "sg", "--json")
    # Fed by their only sender, all messages go to one source, which routes them round-robin. Fed
    # by key, they would go to several sources.
    figures = json.loads(invoke(*options, "--feed", "key").stdout)
    assert (figures["messages"], figures["keys"], figures["rejected"]) == (50, 50, 0)
    assert figures["loads"] == [5] * 10
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(file.read_bytes()[:-20])
    outcome = invoke("simulate", "--input", damaged)
    assert outcome.exit_code == 2
    assert str(damaged) in outcome.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--groupings", "kg,pkg", "--grouping", "sg"), "pass one of the two"),
        (("--groupings", "kg,pgk"), "unknown grouping 'pgk'"),
        (("--workers", 0), "workers = 0"),
        (("--estimation", "probing(0)"), "above 0 seconds"),
        (("--estimation", "probing(5)", "--grouping", "sg"), "does not use loads"),
        (("--feed", "keys"), "unknown feed 'keys'"),
        (("--cost-ms", -1), "--cost-ms"),
        (("--input", "nowhere"), "dataset and input are given"),
    ],
)
def test_bad_options_exit_with_2(invoke, options, message):
    outcome = invoke(*SIMULATE, *options)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert outcome.stdout == ""


def test_own_files_with_composite_keys_and_times(invoke, tmp_path):
    lines = ["region,user,at"]
    lines += [
        f"{'EU' if n % 2 else ''},user {n % 5},{1_700_000_000 + n * 7919 % 1000}"
        for n in range(400)
    ]
    lines += ["EU,user 1,soon", ",,1700000000"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    outcome = invoke(
        *("simulate", "--input", tmp_path / "a.csv", "--key", "region,user", "--time", "at"),
        *("--grouping", "dkg", "--workers", 4, "--json"),
    )
    assert outcome.exit_code == 0, outcome.stderr
    figures = json.loads(outcome.stdout)
    assert (figures["messages"], figures["keys"], figures["rejected"]) == (401, 11, 1)
