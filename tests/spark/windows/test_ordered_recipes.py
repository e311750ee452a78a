"""The recipes of docs/ordered-recipes.md give what Spark's own windows or plain Python give."""

from __future__ import annotations

import bisect
import datetime as dt
from collections import defaultdict
from typing import Any

import pytest

from tests.snippets.blocks import snippets


@pytest.fixture(scope="module")
def names(spark):
    """Run the code of the page once, with few tasks, and return its names."""
    assert spark.version
    code = "\n".join(snippets("docs/ordered-recipes.md", "python"))
    code = code.replace("20_000", "2_000").replace("workers=16", "workers=5")
    found: dict[str, Any] = {}
    exec(code, found)  # noqa: S102 - our own text
    return found


@pytest.fixture(scope="module")
def users(names):
    """Return the events of each user in order."""
    rows: dict[int, list[Any]] = defaultdict(list)
    for row in names["events"].sort("at", "id").collect():
        rows[row["user"]].append(row)
    return rows


def by_id(df, name):
    return {row["id"]: row[name] for row in df.select("id", name).collect()}


@pytest.mark.soak(25)
def test_sessions_by_gaps(names, users):
    wanted = {}
    for rows in users.values():
        session, previous = 0, None
        for row in rows:
            if previous is None or row["at"] - previous > dt.timedelta(minutes=20):
                session += 1
            wanted[row["id"]], previous = session, row["at"]
    assert by_id(names["sessions"], "session") == wanted
    assert max(wanted.values()) > 10


@pytest.mark.slow(2)
def test_running_balance_and_known_values(names, users):
    balances: dict[int, int | None] = {}
    known: dict[int, int | None] = {}
    for rows in users.values():
        amounts: list[int] = []
        for row in rows:
            amounts += [] if row["amount"] is None else [row["amount"]]
            balances[row["id"]] = sum(amounts) if amounts else None
            known[row["id"]] = amounts[-1] if amounts else None
    assert by_id(names["balances"], "balance") == balances
    assert by_id(names["filled"], "known") == known


@pytest.mark.slow(3)
def test_moving_average_by_time(names, users):
    found = by_id(names["means"], "mean")
    hour = dt.timedelta(hours=1)
    for rows in users.values():
        for row in rows:
            near = [
                each["amount"]
                for each in rows
                if row["at"] - hour <= each["at"] <= row["at"] and each["amount"] is not None
            ]
            mean = sum(near) / len(near) if near else None
            assert found[row["id"]] == (None if mean is None else pytest.approx(mean))


@pytest.mark.slow(1)
def test_changes(names, users):
    wanted = set()
    for rows in users.values():
        states = [None, *(row["status"] for row in rows)]
        wanted |= {
            row["id"] for row, was in zip(rows, states, strict=False) if row["status"] != was
        }
    assert by_id(names["changes"], "status").keys() == wanted


@pytest.mark.slow(2)
def test_a_value_for_each_hour(names, users):
    hours = names["hourly"].collect()
    assert {row["user"] for row in hours} == users.keys()
    for user, rows in users.items():
        known = [row for row in rows if row["amount"] is not None]
        times = [row["at"] for row in known]
        own = [row for row in hours if row["user"] == user]
        assert len({row["hour"] for row in own}) == len(own)
        first, last = rows[0]["at"].replace(minute=0, second=0), rows[-1]["at"]
        assert len(own) == (last - first) // dt.timedelta(hours=1) + 1
        for row in own:
            number = bisect.bisect_right(times, row["hour"])
            assert row["amount"] == (known[number - 1]["amount"] if number else None)


def _descending(row):
    return row["amount"] is None, -(row["amount"] or 0), row["id"]


@pytest.mark.slow(2)
def test_latest_and_top_rows(names, users):
    latest = {rows[-1]["id"] for rows in users.values()}
    assert by_id(names["latest"], "id").keys() == latest
    assert {id_ for id_, flag in by_id(names["flagged"], "is_latest").items() if flag} == latest
    assert names["flagged"].count() == sum(map(len, users.values()))
    top = set()
    for rows in users.values():
        best = sorted(
            rows, key=lambda row: (row["amount"] is None, -(row["amount"] or 0), row["id"])
        )
        most = 0.1 * max(len(rows) - 1, 1)
        top |= {row["id"] for number, row in enumerate(best) if number <= most}
    assert by_id(names["top_tenth"], "id").keys() == top
