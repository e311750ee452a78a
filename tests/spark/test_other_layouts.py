"""A user's stream continues exactly with other workers and another grouping."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.applications import heavy_hitters
from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import LocalStore, SharedMark
from evenkey.spark.aggregates.unchanged import SameAggregator
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.task_id import TaskId
from tests.spark import oracle
from tests.spark.offered import offer, stream_of

eks: Any = operators
MESSAGES = 240
LAYOUTS = [("planned", 4, 2), ("planned", 7, 3), ("dkg", 3, 4), ("planned", 4, 5)]
"""Grouping, number of workers, and number of epochs that exist by then."""
BEGIN = dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [("key", pa.string()), ("amount", pa.int64()), ("time", pa.timestamp("us", "UTC"))]
)


def rows_of(epoch):
    """Make the rows of an epoch: half have one key, some have null; all are in one hour."""
    keys = [
        "hot" if n % 2 else None if n % 20 == 0 else f"key {n * 7 % 31}" for n in range(MESSAGES)
    ]
    times = [BEGIN + dt.timedelta(seconds=epoch * 300 + n) for n in range(MESSAGES)]
    return [
        {"key": key, "amount": epoch + n, "time": time}
        for n, (key, time) in enumerate(zip(keys, times, strict=True))
    ]


def offered(directory, epochs, *, closed=False):
    """Write the first epochs of a stream; if `closed`, one more that closes all windows."""
    every = [rows_of(epoch) for epoch in range(epochs)]
    if closed:
        every.append([{"key": "end", "amount": 0, "time": BEGIN + dt.timedelta(days=3)}])
    offer(directory / "input", [pa.Table.from_pylist(rows, schema=SCHEMA) for rows in every])


class _KilledError(Exception):
    """Ends a query as the kill of its process would."""


def killed(epoch):
    """End a query while an epoch runs, so that the epoch is not committed."""
    raise _KilledError(epoch)


def windowed(session, directory, grouping, workers, epochs, *, after=lambda _: None, **closed):
    """Continue with a layout until all existing epochs are read."""
    offered(directory, epochs, **closed)
    summed = eks.aggregate(
        stream_of(session, directory / "input"),
        "key",
        grouping,
        workers,
        aggregators={"orders": "count", "total": "sum(column=amount)"},
        time="time",
        window="1 day",
        max_ahead=None,
        state=directory / "tables",
    )
    return oracle.run(summed, directory, after)


def of_the_query(directory, grouping, workers):
    (query,) = (each for each in (directory / "tables").iterdir() if each.name[0] != "_")
    return RoutingTables(query.parent, grouping, workers).of_query(query.name)


@pytest.mark.soak
def test_an_aggregate_goes_on_by_other_layouts(session, tmp_path):
    """One window stays open, and the parts that each layout left are merged."""
    for grouping, workers, epochs in LAYOUTS:
        assert windowed(session, tmp_path, grouping, workers, epochs) == {}
    last = LAYOUTS[-1][2]
    # One layout begins this epoch, and another one completes it.
    offered(tmp_path, last + 1)
    with pytest.raises(_KilledError):
        windowed(session, tmp_path, "planned", 6, last + 1, after=killed)
    found = windowed(session, tmp_path, "pkg", 2, last + 1, closed=True)

    counts: Counter[str | None] = Counter()
    totals: Counter[str | None] = Counter()
    for row in (row for epoch in range(last + 1) for row in rows_of(epoch)):
        counts[row["key"]] += 1
        totals[row["key"]] += row["amount"]
    (rows,) = (table.to_pylist() for table in found.values())
    assert {row["key"]: (row["orders"], row["total"]) for row in rows} == {
        key: (count, totals[key]) for key, count in counts.items()
    }
    assert len(rows) == len(counts)
    # Each layout has its own tables, one per epoch with rows; the first layout was used twice.
    for grouping, workers, tables in (("planned", 4, 3), ("planned", 7, 1), ("dkg", 3, 1)):
        assert len(of_the_query(tmp_path, grouping, workers).numbers()) == tables


@pytest.mark.soak
def test_a_route_goes_on_by_other_layouts(session, tmp_path):
    """Each row comes once, on a worker of the current layout."""
    seen = []
    for grouping, workers, epochs in (("dkg", 4, 1), ("dkg", 9, 3), ("planned", 3, 4)):
        offered(tmp_path, epochs)
        df = stream_of(session, tmp_path / "input")
        routed = eks.route(df, "key", grouping, workers, time="time", state=tmp_path / "tables")
        found = oracle.run(oracle.with_clues(eks.place(routed, workers)), tmp_path)
        for rows in found.values():
            assert set(rows["worker"].to_pylist()) <= set(range(workers))
        seen.append(list(found.values()))
    assert [len(each) for each in seen] == [1, 2, 1]
    amounts = [row for part in seen for rows in part for row in rows["amount"].to_pylist()]
    assert Counter(amounts) == Counter(row["amount"] for e in range(4) for row in rows_of(e))


def test_a_plan_for_others_is_none_to_a_query_that_has_begun(tmp_path):
    RoutingTables(tmp_path, "planned", 4).write(0, RoutingTable({}))
    other = RoutingTables(tmp_path, "planned", 5)
    with pytest.raises(ConfigurationError, match="written by planned with 4 workers"):
        other.before_query("query", 2)
    RoutingTables(tmp_path, "planned", 4).of_query("query").write(1, RoutingTable({}))
    assert other.before_query("query", 2) == RoutingTable()
    assert other.of_query("query").numbers() == []


def test_a_layout_that_is_pinned_is_refused_with_the_reason(tmp_path):
    LocalStore(tmp_path).put("_shared_storage_check/one", b"")
    mark = SharedMark(LocalStore(tmp_path), "_shared_storage_check/one", "here")

    def check(grouping, workers):
        tables = RoutingTables(tmp_path, grouping, workers)
        SameAggregator(tables, mark, "count", "", "it is so").check(TaskId("query", 0, 0))

    for _ in range(2):
        check("pkg", 4)
    for grouping, workers in (("pkg", 5), ("kg", 4)):
        with pytest.raises(ConfigurationError) as refused:
            check(grouping, workers)
        assert str(refused.value) == (
            f"grouping = '{grouping}', workers = {workers}: it is so; this query started with "
            "grouping 'pkg' and 4 workers: pass these, or start again with another checkpoint and "
            "another state"
        )


@pytest.mark.soak(10)
def test_errors_of_heavy_hitters_ask_for_the_layout_of_before(session, tmp_path):
    for workers, epochs in ((4, 1), (5, 2)):
        offered(tmp_path, epochs)
        found = heavy_hitters(
            stream_of(session, tmp_path / "input"),
            "key",
            k=3,
            grouping="pkg",
            workers=workers,
            time="time",
            window="1 day",
            state=tmp_path / "tables",
            max_ahead=None,
        )
        if epochs == 1:
            oracle.run(found.select(F.col("key"), "count"), tmp_path)
    with pytest.raises(StreamingQueryException, match="uses the workers that a key is on") as ended:
        oracle.run(found.select(F.col("key"), "count"), tmp_path)
    assert "this query started with grouping 'pkg' and 4 workers: pass these" in str(ended.value)
