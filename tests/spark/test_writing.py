"""partition_for_write: the files that Spark's own writer then leaves are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.groupings import KeyStatistics
from evenkey.spark.routing.file_plans import parts_of, place_values

ROWS, FILES = 80_000, 16
MEAN = ROWS / FILES


@pytest.mark.slow(4)
def test_large_values_have_equal_files_and_small_ones_one(session, tmp_path):
    """Half of the rows have one day, a quarter another; null is a value too."""
    day = (
        "case when id % 8 < 4 then '2026-11-01' when id % 8 < 6 then '2026-11-02' "
        "when id % 8 = 6 then concat('2025-', id % 97) else null end"
    )
    df = session.range(0, ROWS, 1, 3).selectExpr("id", f"{day} as `day of.it`", "id % 3 as part")
    placed = operators.partition_for_write(df, ["day of.it"], files=FILES)
    assert placed.schema == df.schema
    placed.write.partitionBy("day of.it").parquet(str(tmp_path / "out"))
    written = session.read.parquet(str(tmp_path / "out"))
    files = written.groupBy("`day of.it`", F.input_file_name().alias("file")).count().collect()
    by_task: Counter[str] = Counter()
    by_day: dict[str | None, list[int]] = {}
    for day_of_it, file, rows in files:
        by_task[file.rpartition("/")[2].split("-")[1]] += rows
        by_day.setdefault(day_of_it, []).append(rows)
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == len(files)
    assert len(by_task) <= FILES
    assert max(by_task.values()) <= 1.1 * MEAN
    for name, least in (("2026-11-01", 8), ("2026-11-02", 4), (None, 2)):
        sizes = by_day.pop(name)
        assert len(sizes) == least, name
        assert max(sizes) <= 1.2 * min(sizes), name
    assert {len(sizes) for sizes in by_day.values()} == {1}
    assert len(by_day) == 97
    # Every row was written once.
    numbers = written.agg(F.count("id"), F.count_distinct("id"), F.sum("id")).collect()[0]
    assert tuple(numbers) == (ROWS, ROWS, ROWS * (ROWS - 1) // 2)


@pytest.mark.slow(5)
def test_several_columns_and_no_rows(session, tmp_path):
    df = session.range(0, 6000, 1, 3).selectExpr(
        "id", "if(id % 3 = 0, null, 'x') as a", "if(id % 3 = 1, null, 'x') as B"
    )
    operators.partition_for_write(df, ["a", "b"], files=2).write.partitionBy("a", "B").orc(
        str(tmp_path / "out")
    )
    left = Counter(str(file.parent) for file in (tmp_path / "out").rglob("*.orc"))
    # Three values with a third of the rows each fit into two files only if one is divided.
    assert sorted(left.values()) == [1, 1, 2]
    assert operators.partition_for_write(df.where("id < 0"), "a", files=3).count() == 0


@pytest.mark.slow(5)
def test_expressions_are_values_as_columns_are(session, tmp_path):
    """The day of a time, as an expression, has the files of a column with that day."""
    df = session.range(0, 6000, 1, 3).selectExpr(
        "timestamp_seconds(if(id % 4 < 3, 0, id % 3 * 86400)) as `sold.at`", "id % 2 as part"
    )
    by: list[Any] = [F.to_date(F.col("`sold.at`")), "part"]
    placed = operators.partition_for_write(df, by, files=4)
    assert placed.schema == df.schema
    dated = placed.withColumn("day", by[0])
    dated.write.partitionBy("day", "part").orc(str(tmp_path / "out"))
    files = Counter(str(file.parent) for file in (tmp_path / "out").rglob("*.orc"))
    assert sorted(files.values()) == [1, 1, 2, 2]
    assert session.read.orc(str(tmp_path / "out")).count() == 6000
    assert operators.partition_for_write(df, F.year(F.col("`sold.at`")), files=2).count() == 6000
    with pytest.raises(AnalysisException, match="generator"):
        operators.partition_for_write(df, F.explode(F.array("part", "part")), files=2)


@pytest.mark.slow(3)
@given(
    st.lists(st.one_of(st.integers(1, 30), st.integers(1, 5000)), min_size=1, max_size=80),
    st.integers(1, 40),
)
def test_plans_keep_their_bounds(rows, files):
    counts = np.array(rows)
    hashes = np.arange(len(rows), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    statistics = KeyStatistics(len(rows), 1 << 12)
    statistics.add_counted(hashes, counts.astype(np.float64))
    plan = place_values(statistics, files)
    mean = counts.sum() / files
    assert plan.loads.sum() == pytest.approx(counts.sum())
    assert plan.loads.max() <= 1.08 * mean + 1e-6
    rows_of = dict(zip(hashes.tolist(), rows, strict=True))
    for number, key in enumerate(plan.keys.tolist()):
        places = plan.places[plan.starts[number] : plan.starts[number + 1]].tolist()
        assert len(set(places)) == len(places)
        assert len(places) >= np.ceil(rows_of[key] / (1.08 * mean) - 1e-9)
        if rows_of[key] <= 0.08 * mean:
            assert len(places) == 1


@pytest.mark.parametrize(
    ("rows", "files", "parts"),
    [
        # Each value has as few files as possible, if all fit beside each other.
        ([50, 25, 25], 4, [2, 1, 1]),
        ([100], 4, [4]),
        ([10] * 10, 10, [1] * 10),
        ([10] * 10, 32, [3] * 10),
        ([90, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 2, [2] + [1] * 10),
    ],
)
def test_values_have_as_few_files_as_can_be(rows, files, parts):
    counts = np.array(rows, dtype=np.float64)
    assert parts_of(counts, counts.sum() / files, files).tolist() == parts
