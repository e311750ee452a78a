"""Plans in whole runs: keys counted first if required, plans continued after a pause."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from evenkey import PipelineConfig, run
from evenkey.groupings import parse
from evenkey.pipeline.aggregate.key_planner import KeyPlanner
from evenkey.spark.plans.tables import RoutingTables
from tests.pausing import when_running

WORKERS, LINES = 4, 6000


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Write lines with one hot key in the first half, and another in the second half."""
    path = tmp_path_factory.mktemp("input") / "clicks.jsonl"
    users = [
        f"hot {number * 2 // LINES}" if number % 10 < 6 else f"cold {number * 7919 % 300}"
        for number in range(LINES)
    ]
    path.write_text("".join(f"{json.dumps({'user': user})}\n" for user in users))
    return path, Counter(users)


@pytest.mark.soak(4)
@pytest.mark.usefixtures("spark")
def test_a_paused_run_continues_with_its_plans(clicks, tmp_path):
    path, expected = clicks
    config = PipelineConfig(
        input=(path,),
        key="user",
        grouping="planned",
        workers=WORKERS,
        sources=2,
        aggregators=2,
        epochs=4,
        output=tmp_path,
    )
    paused = tmp_path / "state" / "paused"
    first = run(config, on_progress=when_running(paused))
    assert not first.finished
    tables = RoutingTables(tmp_path / "state" / "tables", config.grouping, WORKERS)
    before = tables.numbers()
    assert before
    report = run(config)
    assert report.finished
    assert tables.numbers()[: len(before)] == before
    counts: Counter[str] = Counter()
    for row in ds.dataset(report.results, partitioning="hive").to_table().to_pylist():
        counts[row["user"]] += row["count"]
    assert counts == expected
    # The third epoch has another hot key. All epochs are counted first, because keys are few.
    assert [epoch.max_over_mean < 1.05 for epoch in report.epochs] == [True] * 4
    assert all(epoch.pairs <= epoch.keys + WORKERS - 1 for epoch in report.epochs)


def test_counts_are_by_worker_unless_the_number_of_workers_has_changed(tmp_path):
    directory: Any = SimpleNamespace(files=None, workers_of=None, tables=tmp_path)
    session: Any = None
    grouping: Any = parse("planned")
    planner = KeyPlanner(session, grouping, 4, directory, None)
    table = pa.table(
        {"key": ["a", "b", "a"], "worker": [0, 1, 1], "messages": [3, 2, 1], "weight": [3, 2, 1]}
    )
    assert {*planner._held(table, workers=4)} == {0, 1}
    assert {*planner._held(table, workers=8)} == {0}
