"""The Python code of docs/keyed-state.md runs unchanged, and its streams are exact."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.snippets.blocks import snippets


@pytest.mark.slow(40)
@pytest.mark.classic("the query of the page runs in this process")
def test_python_of_the_document(spark, capsys):
    names: dict[str, Any] = {}
    for code in snippets("docs/keyed-state.md", "python"):
        exec(code, names)  # noqa: S102 - our own text
    assert "|ann|  2|" in capsys.readouterr().out
    query, place = names["query"], names["place"]
    try:
        while query.lastProgress is None or query.lastProgress["batchId"] < 3:
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
