"""The Python code of docs/asof-joins.md runs unchanged, and its figures are those of the page."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.snippets.blocks import snippets
from tests.snippets.shown import not_shown, usual_partitions
from tests.spark.asof.timed_rows import by_pandas


@pytest.mark.slow(20)
def test_python_of_the_document(spark, capsys):
    names: dict[str, Any] = {}
    with usual_partitions(spark):
        for code in snippets("docs/asof-joins.md", "python"):
            exec(code, names)  # noqa: S102 - our own text
    assert not_shown(capsys.readouterr().out, "docs/asof-joins.md") == []
    names["priced"].cache()
    priced = names["priced"].where("trade % 50 = 0")
    assert priced.columns == ["symbol", "traded_at", "trade", "quoted_at", "bid"]
    trades = names["trades"].where("trade % 50 = 0").withColumnRenamed("trade", "id")
    quotes = names["quotes"].withColumn("seq", F.unix_seconds("quoted_at"))
    sides = trades.withColumnRenamed("traded_at", "at"), quotes.withColumnRenamed("quoted_at", "at")
    seconds = F.unix_seconds("quoted_at").alias("seq")
    found = {row["trade"]: row["seq"] for row in priced.select("trade", seconds).collect()}
    assert found == by_pandas(*sides, ["symbol"], "at")
    tasks = names["priced"].groupBy(F.spark_partition_id()).count().collect()
    assert sum(rows for _, rows in tasks) == 100_000
    assert max(rows for _, rows in tasks) == pytest.approx(100_000 / 16, rel=0.3)
    assert 0 < names["recent"].count() < 100_000
