"""A tiny stream and its exact assignments, which Python and Spark must both reproduce.

``python -m tests.groupings.test_golden`` writes ``golden.json``. Run it only if a grouping is meant
to route differently, and say so in the changelog, because keys of queries that continue from a
checkpoint would move.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import evenkey.papers  # noqa: F401 - registers its groupings and data sets
from evenkey.core.hashing import hash_strings
from evenkey.groupings import available, parse

GOLDEN = Path(__file__).with_name("golden.json")
WORKERS = 5
SPELLINGS = (
    # Groupings that plan epochs have their own vectors, with their plans.
    *(name for name, grouping in sorted(available().items()) if not grouping.plans_epochs),
    "pkg(choices=3)",
    "pkg(variant=paper)",
    "cam(tolerance=0.2)",
    "dkg(variant=reference)",
    "dkg(scale_in=minus-root,expected_keys=20)",
)


def stream():
    """Make 60 messages over 200 s: half of them have one hot key, the others 30 keys."""
    unusual = [
        "",
        " ",
        "0",
        "a\tb",
        "Türkiye",
        "日本",
        "🎈",
        "e\u0301",
        "x" * 31,
        "x" * 32,
        "y" * 99,
    ]
    cold = [*unusual, *(f"user {number}" for number in range(28))]
    return [
        (round(i * 200 / 59, 3), "Turkey" if i % 5 in (0, 1, 3) else cold[i * 11 % len(cold)])
        for i in range(60)
    ]


def plan_of(spelling, messages):
    """Return the plan of a grouping that needs frequencies, from those of the stream itself."""
    grouping = parse(spelling)
    if not grouping.given_frequencies:
        return None
    keys, counts = np.unique(hash_strings([key for _, key in messages]), return_counts=True)
    return grouping.plan(keys, counts.astype(np.float64), WORKERS)


def routed(spelling, messages):
    times = np.array([time for time, _ in messages])
    keys = hash_strings([key for _, key in messages])
    router = parse(spelling).router(WORKERS)
    router.remember(plan_of(spelling, messages) or {})
    return router.route(keys, times).tolist()


def write():
    messages = stream()
    lines = [json.dumps(message) for message in messages]
    assignments = [
        f"    {json.dumps(spelling)}: {json.dumps(routed(spelling, messages))}"
        for spelling in SPELLINGS
    ]
    GOLDEN.write_text(
        f'{{\n  "workers": {WORKERS},\n  "messages": [\n    '
        + ",\n    ".join(lines)
        + '\n  ],\n  "assignments": {\n'
        + ",\n".join(assignments)
        + "\n  }\n}\n"
    )


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_assignments(golden, spelling):
    assert routed(spelling, golden["messages"]) == golden["assignments"][spelling]


def test_every_grouping_has_its_own_assignments(golden):
    """The stream is so skewed and long that each grouping routes it differently."""
    assignments = golden["assignments"]
    assert golden["workers"] == WORKERS
    assert tuple(assignments) == SPELLINGS
    assert len({tuple(workers) for workers in assignments.values()}) == len(SPELLINGS)
    held_by = defaultdict(set)
    for spelling, workers in assignments.items():
        for (_, key), worker in zip(golden["messages"], workers, strict=True):
            if key == "Turkey":
                held_by[spelling].add(worker)
    assert len(held_by["kg"]) == 1
    assert len(held_by["pkg"]) == 2
    assert len(held_by["dkg"]) > 2
    assert len(held_by["dkg(variant=reference)"]) > 2


@pytest.mark.slow(11)
def test_spark_assigns_the_same(golden, spark, tmp_path):
    from evenkey.spark import RoutingTable, RoutingTables, route

    start = datetime(2020, 1, 1, tzinfo=UTC)
    rows = [
        (position, key, start + timedelta(seconds=time))
        for position, (time, key) in enumerate(golden["messages"])
    ]
    df = spark.createDataFrame(rows, "position int, key string, time timestamp").coalesce(1)
    for number, spelling in enumerate(SPELLINGS):
        state = tmp_path / str(number)
        plan = plan_of(spelling, golden["messages"])
        if plan is not None:
            RoutingTables(state, str(parse(spelling)), WORKERS).write(0, RoutingTable(plan))
        df = route(df, "key", spelling, WORKERS, time="time", state=state, column=f"w{number}")
    table = df.toArrow()
    assert table["position"].to_pylist() == list(range(len(rows)))
    for number, spelling in enumerate(SPELLINGS):
        assert table[f"w{number}"].to_pylist() == golden["assignments"][spelling]


if __name__ == "__main__":
    write()
