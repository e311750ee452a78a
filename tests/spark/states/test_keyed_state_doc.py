"""The Python code of docs/keyed-state.md runs unchanged, and its streams are exact."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey.spark.states.key_batch import KeyBatch
from tests.snippets.blocks import snippets

START = datetime(2026, 1, 1, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")


@pytest.mark.slow(25)
@pytest.mark.classic("the query of the page runs in this process")
def test_python_of_the_document(spark, capsys):
    names: dict[str, Any] = {}
    for code in snippets("docs/keyed-state.md", "python"):
        exec(code, names)  # noqa: S102 - our own text
    assert "| ann|  2|" in capsys.readouterr().out
    query, place = names["query"], names["place"]
    try:
        while query.lastProgress is None or query.lastProgress["batchId"] < 1:
            query.awaitTermination(1)
    finally:
        query.stop()
    found = spark.read.parquet(str(place / "counts")).groupBy("user").agg(F.max("n").alias("n"))
    counts = {row["user"]: row["n"] for row in found.collect()}
    rows = sum(counts.values())
    assert rows > 0
    assert counts == {f"user {key}": len(range(key, rows, 97)) for key in range(97) if key < rows}
    assert names["sessions"].isStreaming
    assert names["merging"].isStreaming
    check_sessions(names["session"])
    check_merge(names["merge"])


def check_sessions(session):
    """Ann clicks twice, bob's session has ended, and eve clicks again after hers has ended."""
    ends = [None, START, START]
    states = pa.table(
        {"user": ["ann", "bob", "eve"], "n": [None, 5, 7], "ends": pa.array(ends, TIME)}
    )
    clicks = [START + timedelta(seconds=each) for each in (20, 10, 40)]
    rows = pa.table({"user": ["ann", "ann", "eve"], "timestamp": pa.array(clicks, TIME)})
    due = np.array([False, True, True])
    after, ended = session(KeyBatch(states, rows, np.array([0, 0, 2]), due, START))
    assert after["n"].to_pylist() == [2, None, 1]
    later = [START + timedelta(seconds=50), None, START + timedelta(seconds=70)]
    assert after["ends"].to_pylist() == later
    assert ended.to_pydict() == {"user": ["bob", "eve"], "n": [5, 7]}


def check_merge(merge):
    states = pa.table({"user": ["ann", "bob"], "n": [None, 5]})
    parts = pa.table({"user": ["ann", "bob", "bob"], "n": [1, 2, 3]})
    due = np.zeros(2, dtype=bool)
    after, results = merge(KeyBatch(states, parts, np.array([0, 1, 1]), due, START))
    assert after.to_pydict() == results.to_pydict() == {"user": ["ann", "bob"], "n": [1, 10]}
