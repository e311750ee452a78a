"""A run that is killed in the middle of an epoch, and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pyarrow.dataset as ds
import pytest

EPOCHS = 4
LINES = 4000


@pytest.fixture
def lines(tmp_path):
    """A file of JSON lines, one in a hundred of them bad, with the true sums and counts."""
    path = tmp_path / "clicks.jsonl"
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    with path.open("w") as file:
        for number in range(LINES):
            if number % 100 == 50:
                print('{"user": null}', file=file)
                continue
            key = "hot" if number % 10 < 8 else f"cold {number % 97}"
            print(json.dumps({"user": key, "n": number % 5 + 1}), file=file)
            sums[key] += number % 5 + 1
            counts[key] += 1
    return path, sums, counts


def command(path, output, grouping, cost_ms):
    return [
        *(sys.executable, "-m", "evenkey", "run", "--json"),
        *("--input", str(path), "--key", "user", "--count", "n"),
        *("--aggregator", "sum(column=count)", "--grouping", grouping),
        *("--workers", "4", "--sources", "3", "--aggregators", "2", "--epochs", str(EPOCHS)),
        *("--cost-ms", str(cost_ms), "--output", str(output)),
    ]


def in_the_middle_of_an_epoch(output):
    checkpoint = output / "state" / "checkpoint"
    started = {path.name for path in (checkpoint / "offsets").glob("[0-9]*")}
    ended = {path.name for path in (checkpoint / "commits").glob("[0-9]*")}
    return len(started - ended) == 1 and len(ended) >= 1


def kill_in_the_middle(process, output, log):
    while not in_the_middle_of_an_epoch(output):
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    # Epochs last for seconds of simulated cost, so this one is far from its end.
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # The JVM may outlive its driver for a moment.
    time.sleep(3)
    assert in_the_middle_of_an_epoch(output)


@pytest.mark.faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize("grouping", ["sg", "kg", "pkg", "dkg"])
def test_a_killed_driver_loses_nothing_and_counts_nothing_twice(lines, tmp_path, grouping):
    path, sums, counts = lines
    output = tmp_path / "out"
    log = tmp_path / "log"
    with log.open("w") as written:
        process = subprocess.Popen(
            command(path, output, grouping, cost_ms=5),
            stdout=subprocess.DEVNULL,
            stderr=written,
            start_new_session=True,
        )
    kill_in_the_middle(process, output, log)

    again = subprocess.run(
        command(path, output, grouping, cost_ms=0), capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["finished"]
    assert (report["lines"], report["messages"], report["rejected"]) == (LINES, LINES - 40, 40)
    assert report["epochs"] == EPOCHS

    rows = ds.dataset(output / "results", partitioning="hive").to_table().to_pylist()
    assert len({(row["window_start"], row["key"]) for row in rows}) == len(rows)
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row["key"]] += row["sum"]
    assert totals == sums
    letters = ds.dataset(output / "dead-letters", partitioning="hive").to_table()
    assert sorted(letters["position"].to_pylist()) == list(range(50, LINES, 100))
    placed = ds.dataset(output / "state" / "placed", partitioning="hive").to_table()
    held: Counter[str] = Counter()
    for row in placed.to_pylist():
        held[row["key"]] += row["messages"]
    assert held == counts
