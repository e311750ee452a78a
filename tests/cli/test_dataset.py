"""``evenkey dataset``: list, describe, write."""

from __future__ import annotations

import json

from evenkey.core.streams import catalogue


def test_list_names_every_family(invoke):
    outcome = invoke("dataset", "list")
    assert outcome.exit_code == 0
    assert all(entry.spelling in outcome.stdout for entry in catalogue())


def test_describe_lists_the_hottest_keys(invoke):
    arguments = ("dataset", "describe", "country-skew-r80", "--messages", 2000, "--top", 3)
    outcome, figures = invoke(*arguments), json.loads(invoke(*arguments, "--json").stdout)
    assert "country-skew-r80: 2,000 messages, " in outcome.stdout
    assert (figures["messages"], len(figures["top"])) == (2000, 3)
    first = figures["top"][0]
    assert first["key"] == "Turkey"
    assert f"{first['share_percent']:.2f}" in outcome.stdout


def test_look_alikes_are_printed_beside_published_figures(invoke):
    listed = invoke("dataset", "list").stdout
    assert "Synthetic" in listed
    assert "31,000,000" in listed
    arguments = ("dataset", "describe", "cashtags-like", "--messages", 5000)
    outcome, figures = invoke(*arguments), json.loads(invoke(*arguments, "--json").stdout)
    assert "690,000 messages, 2,900 keys, top key 3.29 %" in " ".join(outcome.stdout.split())
    assert figures["published"] == {
        "source": "PKG paper, table 1",
        "messages": 690_000,
        "keys": 2900,
        "top_share_percent": 3.29,
    }
    plain = invoke("dataset", "describe", "uniform(keys=5)", "--messages", 20, "--json")
    assert json.loads(plain.stdout)["published"] is None


def test_write_prints_the_file_and_refuses_to_overwrite_it(invoke, tmp_path):
    file = tmp_path / "below" / "messages.txt"
    arguments = ("dataset", "write", "uniform(keys=5)", file, "--messages", 20)
    outcome = invoke(*arguments)
    assert outcome.exit_code == 0, outcome.stderr
    assert str(file) in outcome.stdout.replace("\n", "")
    assert len(file.read_text().splitlines()) == 20
    again = invoke(*arguments)
    assert again.exit_code == 2
    assert "exists" in again.stderr
    assert invoke(*arguments, "--overwrite", "--format", "csv").exit_code == 0
    assert file.read_text().startswith('"key"')


def test_unknown_datasets_and_formats_exit_with_2(invoke, tmp_path):
    assert "unknown dataset 'nope'" in invoke("dataset", "describe", "nope").stderr
    for arguments in (
        ("nope", tmp_path / "a"),
        ("uniform(keys=5)", tmp_path / "a", "--format", "x"),
    ):
        assert invoke("dataset", "write", *arguments).exit_code == 2
    assert list(tmp_path.iterdir()) == []
