"""``evenkey advise``: text, JSON, page and errors, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.advice.conftest import write_visits

OPTIONS = ("--key", "country", "--groupings", "pkg,planned")


@pytest.fixture
def visits(tmp_path):
    return write_visits(tmp_path)


def test_text(invoke, visits):
    outcome = invoke("advise", visits, *OPTIONS, "--workers", "8,4")
    assert outcome.exit_code == 0, outcome.stderr
    title, headline, *_ = outcome.stdout.splitlines()
    assert title == "Use planned on 8 workers"
    assert headline.startswith("About 6.")
    assert "x faster than groupBy on 8 workers with planned, if the work" in headline
    before, measured, _ = outcome.stdout.partition("3,000 messages, ")
    assert measured
    assert "planned on 8 workers: the maximum load is" in " ".join(before.split())
    assert "aggregator=Work()" in before
    assert "3,000 messages" in outcome.stdout
    assert "Zipf" not in outcome.stdout  # one key has 78 %: the best fit is off by more than 10 %
    assert "All lines were read." in outcome.stdout
    rows = [line.split() for line in outcome.stdout.splitlines()]
    assert ["Turkey", "2,341", "78.03"] in rows
    assert [row[0] for row in rows if len(row) == 4 and row[0] in ("kg", "pkg", "planned")] == (
        2 * ["kg", "pkg", "planned"]
    )
    for line in ('key="country"', 'grouping="planned"', "workers=8", "aggregator=Work()"):
        assert f"    {line},\n" in outcome.stdout


def test_json(invoke, visits):
    outcome = invoke("advise", visits, *OPTIONS, "--workers", 4, "--sample", 1000, "--json")
    figures = json.loads(outcome.stdout)
    assert figures["sample"] == {
        "lines": 1000, "of_lines": 3000, "sampling": "even", "rejected": 0
    }  # fmt: skip
    assert figures["messages"] == 1000
    assert figures["p1"] == figures["top_keys"][0]["share"]
    assert figures["most_workers"]["pkg"] == 2 / figures["p1"]
    assert {each["workers"] for each in figures["predictions"]} == {1, 2, 4, 8}
    assert figures["recommendation"]["grouping"] == "planned"
    assert figures["recommendation"]["needed"] is True
    assert "1,000 of 3,000 lines (even)" in figures["recommendation"]["caution"]
    assert figures["page"] is None


def test_no_grouping_for_a_plain_count(invoke, visits):
    outcome = invoke("advise", visits, *OPTIONS, "--aggregator", "count", "--json")
    recommendation = json.loads(outcome.stdout)["recommendation"]
    assert (recommendation["needed"], recommendation["grouping"]) == (False, None)
    assert "Spark combines" in recommendation["reasons"][0]
    assert 'df.groupBy("country").agg(F.count("*"))' in recommendation["code"]


@pytest.mark.slow(2)
def test_page(invoke, visits, tmp_path):
    outcome = invoke("advise", visits, *OPTIONS, "--html", tmp_path / "page.html")
    assert f"page: {tmp_path / 'page.html'}" in outcome.stdout
    assert "<h1>Use planned on 10 workers</h1>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--workers", "4,x"), "workers = '4,x'"),
        (("--workers", "0"), "workers = '0'"),
        (("--groupings", "pgk"), "did you mean 'pkg'"),
        (("--aggregator", "median"), "unknown aggregator 'median'"),
        (("--sample", "0"), "sample = 0"),
        (("--sampling", "last"), "unknown sampling 'last'"),
        (("--html", "no/such/page.html"), "folder that exists"),
        (("--split", "edges"), "edges"),
    ],
)
def test_bad_options_exit_with_2(invoke, visits, options, message):
    outcome = invoke("advise", visits, "--key", "country", *options)
    assert outcome.exit_code == 2
    assert message in outcome.stderr


@pytest.mark.slow(2)
def test_spark_is_not_imported(visits):
    program = (
        "import sys; from evenkey.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "assert 'pyspark' not in sys.modules, 'imported'"
    )
    command = [sys.executable, "-c", program, "advise", str(visits), *OPTIONS]
    subprocess.run(command, check=True, capture_output=True)


def test_a_composite_key_and_a_time(invoke, tmp_path):
    rows = [
        {"region": None if n % 3 else "EU", "user": n % 2, "at": 10**12 + n} for n in range(300)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = ("--key", "region,user", "--time", "at", "--groupings", "planned")
    outcome = invoke("advise", tmp_path / "a.jsonl", *options)
    assert outcome.exit_code == 0, outcome.stderr
    assert '[null,"1"]' in outcome.stdout
    assert '    key=["region", "user"],\n' in outcome.stdout
