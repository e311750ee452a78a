"""Results in files: written by tasks, with the types of Spark's own files, visible after commit."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.kafka.client import ClientSettings
from evenkey.kafka.topic_address import Address
from evenkey.pipeline.runs import read_results
from evenkey.pipeline.runs.output.commits import Commits, epoch_name
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from evenkey.pipeline.runs.output.sinks import FileSink
from evenkey.pipeline.runs.output.topic_sink import KafkaSink

SCHEMA = (
    "window_start timestamp, key string, count bigint, mean double, small int, "
    "list array<bigint>, pair struct<a: int, b: string>, bytes binary, yes boolean, "
    "day date, price decimal(10,2)"
)
AT = datetime(2020, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)


@pytest.fixture
def results(spark):
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    rows: list[tuple[object, ...]] = [
        (AT, f"key {n}", n, n / 7, n, [n, None], (n, "b"), b"\xff", True, AT.date(), None)
        for n in range(10)
    ]
    rows.append((None, None, None, float("nan"), None, None, None, None, None, None, None))
    return own.createDataFrame(rows, SCHEMA).repartition(3)


def as_json(rows):
    lines = rows.select(F.to_json(F.struct(*rows.columns)).alias("line")).collect()
    return sorted(row["line"] for row in lines)


def kept(commits, results, form, epoch=0):
    commits.commit(epoch_name(epoch), {}, FileSink(commits, form).write(results, epoch))


@pytest.mark.slow(6)
def test_parquet_has_the_types_that_spark_writes(results, tmp_path):
    results.sparkSession.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    kept(Commits(tmp_path, 1), results, "parquet")
    results.write.parquet(str(tmp_path / "sparks"))
    ours, sparks = (ds.dataset(tmp_path / name) for name in ("results", "sparks"))
    assert ours.schema.remove_metadata() == sparks.schema.remove_metadata()
    first = [next((tmp_path / name).rglob("part-*.parquet")) for name in ("results", "sparks")]
    assert len({str(pq.ParquetFile(file).schema).split("\n", 2)[2] for file in first}) == 1
    order = [("key", "ascending")]
    assert str(ours.to_table().sort_by(order)) == str(sparks.to_table().sort_by(order))
    again = results.sparkSession.read.parquet(str(tmp_path / "results"))
    assert again.drop("epoch").schema == results.schema
    assert read_results(tmp_path).num_rows == 11


@pytest.mark.slow(1)
@pytest.mark.parametrize("form", ["parquet", "json"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times_survive_a_round_trip_as_instants(results, tmp_path, zone, form):
    spark = results.sparkSession
    spark.conf.set("spark.sql.session.timeZone", zone)
    times = results.limit(1).select(
        F.lit(AT).alias("window_start"),
        F.lit(AT).cast("timestamp").alias("window_end"),
        F.expr("timestamp_ntz'2020-01-01 07:08:09'").alias("local"),
    )
    kept(Commits(tmp_path, 1), times, form)
    read = read_results(tmp_path)
    assert read.schema.field("window_end").type == pa.timestamp("us", "UTC")
    at = AT if form == "parquet" else AT.replace(microsecond=AT.microsecond // 1000 * 1000)
    assert read["window_start"].to_pylist() == read["window_end"].to_pylist() == [at]
    if form == "parquet":
        (file,) = (tmp_path / "results").rglob("*.parquet")
        assert pd.read_parquet(file)["window_end"].to_list() == [AT]
        sparks = spark.read.parquet(str(file))
        assert dict(sparks.dtypes)["local"] == "timestamp_ntz"
        assert sparks.where(F.unix_micros("window_end") == F.unix_micros(F.lit(AT))).count() == 1


@pytest.mark.slow(5)
def test_json_lines_equal_sparks(results, tmp_path):
    kept(Commits(tmp_path, 1), results, "json")
    results.write.json(str(tmp_path / "sparks"))
    lines = [
        sorted("".join(file.read_text() for file in (tmp_path / name).rglob("*.json")).split("\n"))
        for name in ("results", "sparks")
    ]
    assert lines[0] == lines[1]
    with pytest.raises(RunError, match=r"epoch=00000000 .* several types .*: parse the lines"):
        read_results(tmp_path)


def test_json_lines_are_read_as_a_table(results, tmp_path):
    kept(Commits(tmp_path, 1), results.select("key", "count"), "json")
    table = read_results(tmp_path).sort_by("count")
    assert table["count"].to_pylist() == [*range(10), None]
    assert table["key"].to_pylist()[:2] == ["key 0", "key 1"]


def test_an_epoch_without_results_leaves_no_directory(results, tmp_path):
    commits = Commits(tmp_path, 1)
    kept(commits, results.limit(0), "parquet")
    assert not (tmp_path / "results").exists()
    assert commits.epochs() == [0]
    assert read_results(tmp_path).num_rows == 0


def test_a_directory_without_a_run_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="holds no run: pass the output"):
        read_results(tmp_path)


def test_a_topic_receives_the_committed_rows_of_any_process(results, tmp_path, monkeypatch):
    """A run that wakes up may have rounded differently; it sends the committed rows."""
    sent = []

    def note(_, rows, by, topic):
        sent.append((topic, by, as_json(rows)))

    monkeypatch.setattr(KafkaSink, "_write", note)
    address, settings = Address.parse("127.0.0.1:9092/results"), ClientSettings()
    dead_letters = pa.table({"position": [7], "line": ["?"], "reason": ["no key"]})
    rounded = results.withColumn("mean", results["mean"] * (1 + 1e-15))
    for claim, rows in ((1, results), (2, rounded)):
        commits = Commits(tmp_path, claim)
        files = EpochFiles(commits)
        rejected = dead_letters if claim == 1 else dead_letters.slice(0, 0)
        files.write("dead-letters", 5, 0, rejected)
        sink = KafkaSink(FileSink(commits, "parquet"), address, "rejected", settings, files)
        commits.commit(epoch_name(5), {}, sink.write(rows, 5))
        sink.committed(rows, 5)
    first, second = sent[:2], sent[2:]
    assert first == second
    assert [(topic, by) for topic, by, _ in first] == [
        ("results", ["window_start", "key"]),
        ("rejected", ["position"]),
    ]
    assert first[0][2] == as_json(results)
    assert [json.loads(line)["reason"] for line in first[1][2]] == ["no key"]
