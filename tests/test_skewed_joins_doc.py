"""The Python code of docs/skewed-joins.md runs unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.snippets.blocks import snippets
from tests.snippets.shown import not_shown, usual_partitions


@pytest.mark.slow(7)
def test_python_of_the_document(spark, tmp_path, capsys):
    threshold = "spark.sql.autoBroadcastJoinThreshold"
    before = str(spark.conf.get(threshold))
    names: dict[str, Any] = {}
    try:
        # Spark writes relative to the directory in which Java was started.
        with usual_partitions(spark):
            for code in snippets("docs/skewed-joins.md", "python"):
                here = code.replace('"sales"', repr(str(tmp_path / "sales")))
                exec(here, names)  # noqa: S102 - our own text
        assert not_shown(capsys.readouterr().out, "docs/skewed-joins.md") == []
        joined = names["after"]
        assert joined.columns == names["before"].columns
        tasks = joined.groupBy(F.spark_partition_id()).count().collect()
        assert sum(rows for _, rows in tasks) == 100_000
        assert max(rows for _, rows in tasks) == pytest.approx(100_000 / 16, rel=0.1)
        assert names["by_condition"].columns == ["customer", "order", "number", "place"]
        assert names["by_several"].count() == 100_000
        assert names["by_day"].columns == names["by_month"].columns == names["sold"].columns
    finally:
        spark.conf.set(threshold, before)
    files = {
        day.name: len(list(day.glob("*.parquet")))
        for day in (tmp_path / "sales").iterdir()
        if day.is_dir()
    }
    assert files.pop("day=2026-11-22") == 5
    assert set(files.values()) == {1}
