"""A run that hangs in the middle of an epoch, is run again by another process, and wakes up."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter

import pyarrow.dataset as ds
import pytest

from evenkey.pipeline.exporters import History
from evenkey.pipeline.runs import read_results
from tests.runs.killing import finish, started, wait_for_the_middle

LINES = 3000


def command(path, output, cost_ms):
    return [
        *("--input", str(path), "--key", "user", "--grouping", "pkg", "--workers", "2"),
        *("--sources", "2", "--aggregators", "2", "--epochs", "3", "--cost-ms", str(cost_ms)),
        *("--output", str(output)),
    ]


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.timeout(600)
def test_it_publishes_nothing_and_reports_the_reason(tmp_path):
    path, output, log = tmp_path / "clicks.jsonl", tmp_path / "out", tmp_path / "log"
    keys = [f"key {number % 37}" if number % 3 else "hot" for number in range(LINES)]
    lines = ['{"name": 7}' if n % 50 == 7 else json.dumps({"user": k}) for n, k in enumerate(keys)]
    path.write_text("\n".join(lines))
    counts = Counter(key for number, key in enumerate(keys) if number % 50 != 7)
    with started(command(path, output, cost_ms=8), log) as hung:
        wait_for_the_middle(hung, output, log)
        os.killpg(hung.pid, signal.SIGSTOP)
        report = finish(command(path, output, cost_ms=0))
        assert (report["finished"], report["lines"], report["rejected"]) == (True, LINES, 60)
        assert report["messages"] == counts.total()
        before = everything(output)
        os.killpg(hung.pid, signal.SIGCONT)
        assert hung.wait(240) == 1
    assert "now belongs to process" in log.read_text()
    after = everything(output)
    assert {name: after.get(name) for name in before} == before
    # The files of its tasks under its own claim are in no commit, so they are never read.
    late = [name for name in after if name not in before]
    assert all("/state/parts/" in name and "/00000001/" in name for name in late)
    rows = ds.dataset(output / "results", partitioning="hive").to_table()
    totals: Counter[str] = Counter()
    for row in rows.to_pylist():
        totals[row["user"]] += row["count"]
    assert totals == counts
    assert read_results(output).num_rows == rows.num_rows
    dead_letters = ds.dataset(output / "dead-letters", partitioning="hive").to_table()
    assert sorted(dead_letters["position"].to_pylist()) == list(range(7, LINES, 50))
    ended = History(output / "history").ended()
    assert ended is not None
    assert ended[0] == "finished"
    again = finish(command(path, output, cost_ms=0))
    assert again == {**report, "finished_before": True}


def everything(output):
    """Return the files for readers, the commits and the histories."""
    places = ["results", "dead-letters", "history", "state/parts", "state/commits"]
    files = (file for place in places for file in (output / place).rglob("*") if file.is_file())
    return {str(file): file.read_bytes() for file in files if file.name != "alive"}
