"""``evenkey compare``: one row per grouping."""

from __future__ import annotations

import json

import pytest

COMPARE = ("compare", "--dataset", "country-skew-r80")


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of each table row, by the row's first cell."""
    split = (line.split() for line in text.splitlines())
    return {cells[0]: cells[1:] for cells in split if len(cells) > 5}


def test_table_has_a_row_per_grouping_and_the_ratio_to_key_grouping(invoke, pipeline):
    pipeline.changes = {"rejected": 0}
    outcome = invoke(*COMPARE, "--groupings", "sg,kg,pkg,dkg(variant=reference)")
    assert outcome.exit_code == 0, outcome.stderr
    table = rows(outcome.stdout)
    assert table["kg"] == ["1.316", "4.70", "3.21", "12", "1,000", "12.35", "1.00"]
    assert table["sg"][-1] == "2.50"
    assert table["pkg"][-1] == "1.80"
    assert "dkg(variant=reference)" in outcome.stdout
    assert "sg: results in out/results" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80


@pytest.mark.usefixtures("pipeline")
def test_without_key_grouping_there_is_no_ratio(invoke):
    outcome = invoke(*COMPARE, "--groupings", "sg,dkg")
    assert "x kg" not in outcome.stdout
    assert len(rows(outcome.stdout)["sg"]) == 6
    assert "sg: 10 lines rejected, in out/dead" in outcome.stdout


def test_failed_exports_are_reported(invoke, pipeline):
    summary = {"to": "influxdb://box/db", "points": 0, "dropped": 20, "error": "no answer"}
    pipeline.changes = {"exports": [summary, {**summary, "to": "parquet:m", "error": None}]}
    outcome = invoke(*COMPARE, "--groupings", "sg")
    assert "sg: export to influxdb://box/db: 0 points, 20 dropped (no answer)" in outcome.stdout
    assert "parquet:m" not in outcome.stdout


def test_the_papers_groupings_are_compared_by_default(invoke, pipeline):
    assert invoke(*COMPARE).exit_code == 0
    assert [each.grouping for each in pipeline.configs] == ["sg", "kg", "pkg", "dkg"]


@pytest.mark.usefixtures("pipeline")
def test_json_has_one_object_per_grouping(invoke):
    outcome = invoke(*COMPARE, "--groupings", "kg, PKG(choices=2) ,dkg(warm_up=5)", "--json")
    figures = json.loads(outcome.stdout)
    names = ["kg", "pkg", "dkg(warm_up=5)"]
    assert [each["grouping"] for each in figures["results"]] == names
    assert figures["configuration"]["groupings"] == names
    assert "grouping" not in figures["configuration"]


@pytest.mark.parametrize(
    ("groupings", "message"),
    [
        ("kg,pgk", "unknown grouping 'pgk' (did you mean 'pkg'?)"),
        ("kg,pkg,pkg(choices=2)", "pkg is named twice"),
        (" , ", "name at least one"),
        ("kg,pkg(", "grouping = 'pkg(' cannot be read"),
    ],
)
def test_bad_lists_exit_with_2_before_anything_runs(invoke, pipeline, groupings, message):
    outcome = invoke(*COMPARE, "--groupings", groupings)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert pipeline.configs == []
