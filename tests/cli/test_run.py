"""``evenkey run``: its output, with a fake pipeline and once on Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

from evenkey.cli import main

RUN = ("run", "--dataset", "country-skew-r80", "--messages", "50000")


@pytest.mark.usefixtures("pipeline")
def test_summary_has_the_figures_and_the_location_of_the_output(invoke):
    outcome = invoke(*RUN)
    assert outcome.exit_code == 0
    for text in (
        "country-skew-r80 under dkg",
        "50,000 of 204 keys",
        "10 of 50,010 lines",
        "1.316",
        "4.70 %",
        "DistCost 3.21",
        "epochs 8",
        "makespan 12.3 s",
        "throughput 3,400 /s",
        "epoch duration p50 1,500 ms",
        "out/results",
        "out/dead",
        "out/state",
    ):
        assert text in " ".join(outcome.stdout.split())
    assert "p99" not in outcome.stdout  # not known for fewer than 100 epochs
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_summary_omits_what_does_not_exist(invoke, pipeline):
    nowhere = {"results": None, "dead_letters": "out/dead", "state": None}
    pipeline.changes = {"rejected": 0, "late": 3, "output": nowhere, "finished": False}
    outcome = invoke(*RUN)
    assert "out/" not in outcome.stdout
    assert "3 partial results" in outcome.stdout
    assert "the same command continues" in outcome.stdout


def test_a_long_path_in_the_summary_is_not_broken(invoke, pipeline):
    place = f"/srv/{'results-of-clicks/' * 8}results"
    pipeline.changes = {"output": {"results": place, "dead_letters": None, "state": None}}
    assert f"  {place}\n" in invoke(*RUN).stdout


def test_summary_counts_exported_and_dropped_points(invoke, pipeline):
    summary = {"to": "influxdb://box/db", "points": 1500, "dropped": 20, "error": "no answer"}
    pipeline.changes = {"exports": [summary]}
    outcome = invoke(*RUN, "--export", "influxdb://box/db", "--export", "parquet:metrics")
    assert pipeline.configs[0].export == ("influxdb://box/db", "parquet:metrics")
    line = " ".join(outcome.stdout.split())
    assert "export influxdb://box/db: 1,500 points, 20 dropped (no answer)" in line


def test_a_password_in_an_address_is_not_printed(invoke):
    outcome = invoke("--debug", *RUN, "--export", "influxdb://me:hunter2@box/db")
    assert outcome.exit_code == 2
    assert "set EVENKEY_INFLUXDB_PASSWORD" in " ".join(outcome.stderr.split())
    assert "hunter2" not in outcome.stdout + outcome.stderr


def test_results_in_memory_are_previewed(invoke, pipeline):
    pipeline.table = pa.table({"key": [f"key[{i}]" for i in range(12)], "count": range(12)})
    outcome = invoke(*RUN)
    assert "key[9]" in outcome.stdout
    assert "key[10]" not in outcome.stdout
    assert "2 more; --output DIRECTORY keeps them all" in outcome.stdout


@pytest.mark.usefixtures("pipeline")
def test_progress_goes_to_standard_error_one_line_per_epoch(invoke):
    lines = invoke(*RUN).stderr.splitlines()
    assert lines == [
        "dkg: starting Spark, 0:00",
        "dkg: compiling and starting Python, 0:00",
        "dkg: epoch 0, 25,000 of 50,000 messages, max/mean 1.316, 4,321/s, 0:00, 0:06 left",
        "dkg: closing, 0:00",
    ]


def test_standard_output_is_one_json_object(pipeline, monkeypatch, capfd):
    def chatter():
        sys.stdout.write("from Python\n")
        os.write(1, b"from the descriptor\n")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)

    pipeline.before = chatter
    monkeypatch.setattr(sys, "argv", ["evenkey", *RUN, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    printed = capfd.readouterr()
    figures = json.loads(printed.out)
    assert figures["max_over_mean"] == 1.31623
    assert figures["average_imbalance_fraction"] is None
    assert figures["configuration"]["messages"] == 50_000
    for text in ("from Python", "from the descriptor", "from a child", "dkg: closing"):
        assert text in printed.err


@pytest.mark.slow(5)
@pytest.mark.usefixtures("spark")
def test_run_reports_under_the_shared_names_on_spark(invoke, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("to be or not to be\n" * 20)
    job = [
        *("run", "--input", text, "--split", "words", "--workers", 2, "--sources", 1),
        *("--epochs", 2, "--aggregators", 1, "--output", output),
    ]
    outcome = invoke(*job, "--grouping", "pkg", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    figures = json.loads(outcome.stdout)
    assert (figures["messages"], figures["keys"], figures["rejected"]) == (120, 4, 0)
    for name in (
        *("dataset", "grouping", "workers", "sources", "max_over_mean", "imbalance_fraction"),
        *("average_imbalance_fraction", "stddev_percent", "dist_cost"),
        *("dist_cost_lower_bound", "pairs", "seconds"),
        *("makespan_ms", "messages_per_second", "epochs", "duration_p50_ms", "epoch_max_over_mean"),
        *("epoch_stddev_percent", "epoch_dist_cost", "epoch_dist_cost_lower_bound"),
    ):
        assert figures[name] is not None

    other = invoke(*job, "--grouping", "pkg", "--aggregator", "sum(column=count)")
    assert other.exit_code == 2
    assert "holds another run" in other.stderr

    again = invoke(*job, "--grouping", "pkg")
    assert again.exit_code == 0, again.stderr
    assert "120 of 4 keys" in again.stdout
