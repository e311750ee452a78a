"""Operators while executors come and go, tasks run twice, disks are full, and rows are extreme."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from tests.faults.operated import OURS, compare, contents, plain, skewed
from tests.faults.outside import command
from tests.session import compiling

pytestmark = [
    pytest.mark.soak(30),
    pytest.mark.faults,
    pytest.mark.classic("starts clusters of its own, and looks into the driver"),
    pytest.mark.timeout(1800),
]
AGG = "groupBy, agg"
EQUAL = dict.fromkeys(OURS, True)


def test_executors_that_come_and_go(tmp_path):
    words = [sys.executable, "-m", "tests.faults.operated", str(tmp_path), "executors come and go"]
    ended = command(words, seconds=1500)
    assert ended.code == 0, ended.err[-4000:]
    found = json.loads(ended.out.splitlines()[-1])
    assert found["equal"] == EQUAL
    assert found["executors"] > 2, "no executor went: this shows nothing"


def test_a_full_disk_of_executors(disk):
    """Spark's own files fill the disk: the job fails with the reason; with more space it works."""
    place = disk("size=200k")
    words = [sys.executable, "-m", "tests.faults.operated", str(place), "none"]
    ended = command(words)
    assert ended.code != 0
    assert "equal" not in ended.out
    assert "No space left on device" in ended.err
    disk("size=200m")
    ended = command(words)
    assert ended.code == 0, ended.err[-4000:]
    assert json.loads(ended.out.splitlines()[-1])["equal"] == EQUAL


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_rows(spark, rows):
    assert compare(skewed(spark, rows)) == EQUAL


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers(spark, workers):
    rows = skewed(spark, 10)
    calls = [
        lambda: operators.route(rows, "key", "dkg", workers),
        lambda: operators.place(operators.route(rows, "key", "kg", 2), workers),
        lambda: operators.groupBy(rows, "key", workers=workers),
        lambda: operators.join(rows, rows, "key", "left", workers),
        lambda: operators.partition_for_write(rows, "key", workers),
        lambda: operators.aggregate(rows, "key", "dkg", workers),
    ]
    for call in calls:
        with pytest.raises(ConfigurationError, match=f"= {workers}: .*at least 1"):
            call()


def test_one_worker(spark, monkeypatch):
    monkeypatch.setattr("tests.faults.operated.WORKERS", 1)
    assert compare(skewed(spark, 5000)) == EQUAL


def test_two_million_keys(spark):
    """Only one key occurs often."""
    key = F.when(F.col("id") % 10 < 2, "hot").otherwise(F.col("id").cast("string"))
    rows = compiling(spark).range(0, 2_500_000, 1, 4).select("id", key.alias("key"))

    def summed(made):
        wide = [name for name in ("id", "key", "name", "rows", "ids") if name in made.columns]
        return made.agg(F.count("*"), F.sum(F.xxhash64(*wide).cast("decimal(20,0)"))).collect()

    same = summed(rows)
    for name in ("route and place, planned", "route and place, dkg", "partition_for_write"):
        assert summed(OURS[name](rows)) == same, name
    for name in ("join", AGG):
        assert summed(OURS[name](rows)) == summed(plain(rows, name)), name
    counted = OURS["aggregate"](rows).agg(F.count("*"), F.sum("count")).collect()
    assert [tuple(row) for row in counted] == [(2_000_001, 2_500_000)]


def test_keys_of_a_megabyte(spark):
    character = F.when(F.col("id") % 2 == 0, "a").otherwise(F.char(F.col("id") % 20 + 98))
    rows = spark.range(0, 60, 1, 2).select("id", F.repeat(character, 1 << 20).alias("key"))
    assert compare(rows) == EQUAL


def test_5_000_columns(spark, tmp_path):
    narrow = skewed(spark, 200, 2).toArrow()
    more = {f"c{number}": pc.add(narrow["id"], number) for number in range(4998)}
    # Files: over local rows, Spark's optimizer would itself compute each plan, and slowly.
    rows = pa.table({"id": narrow["id"], "key": narrow["key"], **more})
    for number in range(2):
        parquet.write_table(rows.slice(100 * number, 100), tmp_path / f"{number}.parquet")
    wide = spark.read.parquet(str(tmp_path))
    assert wide.rdd.getNumPartitions() == 2
    same = contents(wide)
    for name in ("route and place, planned", "route and place, dkg", "partition_for_write"):
        assert contents(OURS[name](wide)) == same, name
    assert contents(OURS["join"](wide)) == contents(plain(wide, "join"))
    assert contents(OURS[AGG](wide)) == contents(plain(wide, AGG))
