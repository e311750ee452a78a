"""Counts of an epoch are those of its workers, as long as these are the present ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from evenkey.groupings import parse
from evenkey.pipeline.aggregate.key_planner import KeyPlanner


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
