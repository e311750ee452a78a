"""A sum that does not fit its type becomes null and is counted; the stream continues."""

from __future__ import annotations

import json
import os

import pytest

from evenkey import spark as operators
from evenkey.spark.aggregates.merged_states import OVERFLOWS
from evenkey.spark.keys.observed import observed_metrics
from tests.spark.oracle import run
from tests.tiers import most_in_soak

MOST = (1 << 63) - 1
AMOUNTS = [("a", MOST), ("a", MOST), ("b", MOST), ("b", 5), ("b", -5), ("c", 7), ("d", None)]
SUMS = {"a": None, "b": MOST, "c": 7, "d": None}


@pytest.fixture(params=["true", "false"])
def ansi(spark, request):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield
    spark.conf.set("spark.sql.ansi.enabled", before)


@pytest.mark.slow(2)
@pytest.mark.usefixtures("ansi")
@pytest.mark.parametrize(
    ("grouping", "partitions"),
    most_in_soak([("kg", 1), ("kg", 7), ("sg", 1), ("sg", 7)], 2, slow=[("sg", 7)]),
)
def test_sums_of_integers(spark, grouping, partitions):
    df = spark.createDataFrame(AMOUNTS, "k string, n bigint").repartition(partitions)
    found = operators.aggregate(df, "k", grouping, 3, "sum(column=n)")
    assert found.schema["sum"].dataType.simpleString() == "bigint"
    assert {row["k"]: row["sum"] for row in found.collect()} == SUMS
    means = operators.aggregate(df, "k", grouping, 3, "mean(column=n)").collect()
    assert {row["k"]: row["mean"] for row in means} == {
        "a": float(MOST),
        "b": MOST / 3,
        "c": 7.0,
        "d": None,
    }


@pytest.mark.slow(1)
@pytest.mark.usefixtures("ansi")
@pytest.mark.parametrize("grouping", ["kg", "sg"])
def test_sums_of_decimals(spark, grouping):
    digits = "9" * 38
    values = [("a", digits), ("a", digits), ("b", digits), ("c", "1"), ("c", "2"), ("d", None)]
    df = spark.createDataFrame(values, "k string, n string")
    df = df.selectExpr("k", "CAST(n AS decimal(38, 0)) AS n").repartition(5)
    found = operators.aggregate(df, "k", grouping, 3, "sum(column=n)").collect()
    sums = {row["k"]: None if row["sum"] is None else int(row["sum"]) for row in found}
    assert sums == {"a": None, "b": int(digits), "c": 3, "d": None}


@pytest.mark.slow(4)
@pytest.mark.usefixtures("ansi")
@pytest.mark.parametrize("ansi", most_in_soak(["true", "false"], 4, slow=["true"]), indirect=True)
def test_a_stream_counts_them_and_goes_on(spark, tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    lines = [{"k": k, "n": n, "at": "2026-01-01T00:00:10Z"} for k, n in AMOUNTS]
    lines.append({"k": "z", "n": 1, "at": "2026-01-01T01:00:00Z"})
    for number, line in enumerate(lines):
        (source / f"{number}.json").write_text(json.dumps(line))
        os.utime(source / f"{number}.json", (number, number))  # Spark reads the oldest first
    stream = spark.readStream.schema("k string, n bigint, at timestamp")
    stream = stream.option("maxFilesPerTrigger", 2).json(str(source))
    found = operators.aggregate(
        stream, "k", "pkg", 2, "sum(column=n)", time="at", window="1 minute"
    )
    progress = []
    epochs = run(found, tmp_path, after_query=lambda query: progress.extend(query.recentProgress))
    sums = {row["k"]: row["sum"] for rows in epochs.values() for row in rows.to_pylist()}
    assert sums == SUMS
    figures = [figure for each in progress for figure in observed_metrics(each, OVERFLOWS)]
    assert sum(each["overflows"] for each in figures) == 1
