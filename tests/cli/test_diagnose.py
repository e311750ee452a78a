"""``evenkey diagnose``: text, JSON, page and errors, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.diagnosis.writing import Log, skewed


@pytest.fixture
def log(tmp_path):
    return skewed().write(tmp_path / "log")


def test_text(invoke, log):
    said = invoke("diagnose", log)
    assert said.exit_code == 0, said.stderr
    assert "log: 1 stage to change" in said.stdout
    assert "orders (app-orders): Spark 4.3.0, 4 slots, 60.0 s" in said.stdout
    assert "stage 0: FlatMapGroupsInPandas by customer, collect at /srv/orders.py:17" in said.stdout
    assert "About 2.5x faster: the largest task has 2.8 times the mean" in said.stdout
    assert '    eks.groupBy(df, "customer", workers=4).applyInPandas(' in said.stdout


def test_json(invoke, log):
    figures = json.loads(invoke("diagnose", log, "--json").stdout)
    assert figures["named"] == 1
    assert figures["thresholds"] == {
        "least_fullness": 1.5, "least_gain": 1.2, "least_seconds": 1.0
    }  # fmt: skip
    (one,) = figures["applications"]
    (finding,) = one["findings"]
    assert finding["max_over_mean"]["rows"] == 2.8
    assert finding["keys"] == ["customer"]
    assert [each["rows"] for each in finding["tasks_of_worst_run"]] == [100, 700, 100, 100]
    assert [each["how"] for each in finding["changes"]] == ["split", "whole"]
    assert figures["page"] is None


def test_limits_are_options(invoke, log):
    figures = json.loads(invoke("diagnose", log, "--json", "--least-gain", 3).stdout)
    (finding,) = figures["applications"][0]["findings"]
    assert (figures["named"], finding["verdict"]) == (0, "small")
    assert "2.50x faster: less than 3x" in finding["reason"]


def test_page(invoke, log, tmp_path):
    said = invoke("diagnose", log, "--page", tmp_path / "page.html")
    assert f"page: {tmp_path / 'page.html'}" in said.stdout.replace("\n", "")
    assert "<h1>1 stage to change" in (tmp_path / "page.html").read_text()


def test_nothing_to_change(invoke, tmp_path):
    said = invoke("diagnose", Log().write(tmp_path / "log"))
    assert said.exit_code == 0
    assert "no stages to change" in said.stdout
    assert "No keyed shuffle: no stage of a query reads rows by key." in said.stdout


def test_spark_is_not_imported(log):
    program = (
        "import sys; from evenkey.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "assert 'pyspark' not in sys.modules, 'imported'"
    )
    command = [sys.executable, "-c", program, "diagnose", str(log)]
    subprocess.run(command, check=True, capture_output=True)
