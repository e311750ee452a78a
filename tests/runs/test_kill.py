"""A run that is killed in the middle of an epoch and restarted."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow.dataset as ds
import pytest

from tests.runs.killing import finish, kill_in_the_middle, placed, started

EPOCHS = 4
LINES = 4000


@pytest.fixture
def lines(tmp_path):
    """Write a file of JSON lines, one in a hundred invalid; return it, and true sums and counts."""
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
        *("--input", str(path), "--key", "user", "--count", "n"),
        *("--aggregator", "sum(column=count)", "--grouping", grouping),
        *("--workers", "4", "--sources", "3", "--aggregators", "2", "--epochs", str(EPOCHS)),
        *("--cost-ms", str(cost_ms), "--output", str(output)),
    ]


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "grouping",
    [
        pytest.param("dkg", marks=pytest.mark.faults),
        *(pytest.param(each, marks=pytest.mark.soak) for each in ("planned", "sg", "kg", "pkg")),
    ],
)
def test_a_killed_driver_loses_nothing_and_counts_nothing_twice(lines, tmp_path, grouping):
    path, sums, counts = lines
    output = tmp_path / "out"
    log = tmp_path / "log"
    with started(command(path, output, grouping, cost_ms=5), log) as process:
        kill_in_the_middle(process, output, log)

    report = finish(command(path, output, grouping, cost_ms=0))
    assert report["finished"]
    assert (report["lines"], report["messages"], report["rejected"]) == (LINES, LINES - 40, 40)
    assert report["epochs"] == EPOCHS

    rows = ds.dataset(output / "results", partitioning="hive").to_table().to_pylist()
    assert len({(row["window_start"], row["user"]) for row in rows}) == len(rows)
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row["user"]] += row["sum"]
    assert totals == sums
    dead_letters = ds.dataset(output / "dead-letters", partitioning="hive").to_table()
    assert sorted(dead_letters["position"].to_pylist()) == list(range(50, LINES, 100))
    held: Counter[str] = Counter()
    for row in placed(output).to_pylist():
        held[row["key"]] += row["messages"]
    assert held == counts
