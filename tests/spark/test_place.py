"""place: every row is in the partition of its worker."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.spark.routing.to_workers import _murmur3, _split, split_column
from tests.spark import oracle
from tests.tiers import most_in_soak

WORKERS = 4  # equals the number of shuffle partitions


@pytest.fixture(scope="module")
def batch(session):
    df = oracle.skewed(session, 6000, 3)
    return operators.route(df, "key", "pkg(choices=3)", WORKERS)


@pytest.fixture(scope="module")
def stream():
    return generated("zipf(z=1.3,keys=500)", messages=6000, rate=20)


def in_partition():
    return F.spark_partition_id().alias("partition")


def test_partition_i_holds_just_the_rows_of_worker_i(batch):
    placed = operators.place(batch, WORKERS)
    rows = placed.select("*", in_partition()).toArrow()
    assert rows["partition"].to_pylist() == rows["worker"].to_pylist()
    a_row_each = placed.mapInArrow(lambda _: iter([pa.record_batch({"n": [1]})]), "n long")
    assert a_row_each.count() == WORKERS
    assert rows.drop_columns("partition").sort_by("id") == batch.toArrow().sort_by("id")


def test_partition_i_holds_just_the_rows_of_worker_i_in_a_stream(session, stream, tmp_path):
    df = oracle.streaming(session, stream, tmp_path, epochs=2)
    routed = operators.route(df, "key", "pkg", WORKERS, column="w o`r")
    placed = operators.place(routed, WORKERS, column="w o`r")
    epochs = oracle.run(placed.select("*", in_partition()), tmp_path)
    assert [rows.num_rows for rows in epochs.values()] == [3000, 3000]
    for rows in epochs.values():
        assert rows["partition"].to_pylist() == rows["w o`r"].to_pylist()
        assert set(rows["partition"].to_pylist()) == set(range(WORKERS))


@pytest.mark.slow(1)
@pytest.mark.parametrize("grouping", most_in_soak(["kg", "pkg", "planned"], 1, slow=["pkg"]))
def test_the_next_operator_by_worker_needs_no_further_shuffle(session, grouping):
    df = oracle.skewed(session, 600, 3)
    placed = operators.place(operators.route(df, "key", grouping, WORKERS), WORKERS)
    other = placed.select("worker", F.col("id").alias("other"))
    windows = Window.partitionBy("worker").orderBy("id")
    followed = {
        "groupBy": placed.groupBy("worker").count(),
        "window": placed.withColumn("number", F.row_number().over(windows)),
        "distinct": placed.select("worker").distinct(),
        "join": placed.join(other.hint("shuffle_hash"), "worker"),
    }
    shuffles = {name: oracle.plan_of(each).count("Exchange ") for name, each in followed.items()}
    assert shuffles == {"groupBy": 1, "window": 1, "distinct": 1, "join": 2}


@pytest.mark.parametrize("kind", ["double", "string", "decimal(10,0)", "boolean", "date"])
def test_workers_that_are_no_whole_numbers_are_refused(session, kind):
    df = session.sql(f"SELECT 1 AS id, CAST(NULL AS {kind}) AS worker")
    for by in ("partition", "split"):
        with pytest.raises(ConfigurationError, match=r"column = 'worker' is of type") as refused:
            operators.place(df, WORKERS, by=by, key="id" if by == "split" else None)
        assert f"of type {kind}: workers are whole numbers from 0 to 3" in str(refused.value)


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint"])
def test_workers_of_each_type_of_whole_numbers_are_placed(session, kind):
    df = session.range(40).select(F.expr(f"CAST(id % {WORKERS} AS {kind})").alias("worker"))
    rows = operators.place(df, WORKERS).select("*", in_partition()).toArrow()
    assert rows.schema.field("worker").type == pa.int32()
    assert rows["partition"].to_pylist() == rows["worker"].to_pylist()
    assert rows.num_rows == 40


@pytest.mark.parametrize("by", ["partition", "split"])
@pytest.mark.parametrize("worker", [None, -1, WORKERS, 1 << 32])
def test_a_worker_that_there_is_not_fails_the_job(session, by, worker):
    table = pa.table({"key": ["a", "b"], "worker": pa.array([0, worker], pa.int64())})
    key = "key" if by == "split" else None
    placed = operators.place(session.createDataFrame(table), WORKERS, by=by, key=key)
    with pytest.raises(PySparkException, match="worker must be 0 to 3 in every row: route first"):
        placed.collect()


@pytest.mark.slow(3)
@pytest.mark.parametrize("workers", most_in_soak([16, 7, 1], 3, slow=[7]))
def test_split_keeps_groups_on_their_workers_in_a_batch(session, workers):
    df = oracle.skewed(session, 200_000, 4).withColumn("time", F.col("time").cast("date"))
    routed = operators.route(df, ["key", "time"], "pkg(choices=5)", workers)
    placed = operators.place(routed, workers, by="split", key=["key", "time"])
    assert placed.where("worker <> spark_partition_id()").count() == 0
    groups = placed.groupBy("key", "time", "split").agg(
        F.count("*").alias("rows"), F.min("worker").alias("worker"), F.max("worker").alias("most")
    )
    groups = groups.select("*", in_partition()).cache()
    assert groups.where("worker <> most or worker <> partition").count() == 0
    assert groups.agg(F.sum("rows")).collect()[0][0] == 200_000
    # The groupBy uses the shuffle of place, without another one.
    assert oracle.plan_of(placed.groupBy("key", "time", "split").count()).count("Exchange") == 1


@pytest.mark.slow(5)
def test_split_keeps_state_on_its_worker_in_a_stream(session, stream, tmp_path):
    df = oracle.streaming(session, stream, tmp_path, epochs=4)
    routed = operators.route(df, "key", "dkg", WORKERS, time="time")
    # Over Connect `withColumn` drops the metadata that says that a window has a watermark.
    window = F.window("time", "1 minute").alias("window")
    windowed = routed.withWatermark("time", "0 seconds").select("*", window)
    placed = operators.place(windowed, WORKERS, by="split", key=["window", "key"])
    partial = placed.groupBy("window", "key", "split").agg(
        F.count("*").alias("rows"), F.min("worker").alias("least"), F.max("worker").alias("most")
    )
    partial = partial.select("*", in_partition())
    totals = partial.groupBy("window", "key").agg(
        F.sum("rows").alias("rows"),
        F.count("*").alias("workers"),
        F.sum(F.expr("int(partition <> least or partition <> most)")).alias("misplaced"),
    )
    result = totals.select(
        F.col("window.start").alias("start"), "key", "rows", "workers", "misplaced"
    )
    rows = pa.concat_tables(oracle.run(result, tmp_path).values()).to_pylist()
    assert sum(row["misplaced"] for row in rows) == 0
    assert max(row["workers"] for row in rows) > 1

    # After 300 s of messages, the watermark has passed all windows except the last.
    counts: Counter[tuple[int, str]] = Counter()
    messages = stream.batch(0, stream.length)
    for key, time in zip(stream.texts(messages.ids).to_pylist(), messages.times, strict=True):
        if time < 240:
            counts[int(time // 60), key] += 1
    start = min(row["start"] for row in rows)
    got = {((row["start"] - start).seconds // 60, row["key"]): row["rows"] for row in rows}
    assert len(got) == len(rows)
    assert got == counts


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 1000), st.data())
def test_split_inverts_murmur3(seed, workers, data):
    worker = data.draw(st.integers(0, workers - 1))
    split = _split(worker, seed)
    assert -(2**31) <= split < 2**31
    assert _murmur3(split, seed) == worker


def test_murmur3_is_that_of_spark(session):
    table = session.range(200).select(
        F.hash("id").alias("seed"),
        F.col("id").cast("int").alias("value"),
        F.hash("id", F.col("id").cast("int")).alias("hash"),
    )
    for row in table.collect():
        assert _murmur3(row["value"], row["seed"]) == row["hash"]


def test_the_split_of_a_row_is_what_python_computes(session):
    worker = (F.col("id") % 7).cast("int")
    table = session.range(200).select(
        F.hash("id").alias("seed"),
        worker.alias("worker"),
        split_column(worker, [F.col("id")], 7).alias("split"),
    )
    for row in table.collect():
        assert row["split"] == _split(row["worker"], row["seed"])


def test_split_needs_a_partition_a_worker_in_a_stream(session, stream, tmp_path):
    df = oracle.streaming(session, stream, tmp_path).withColumn("worker", F.lit(0))
    with pytest.raises(ConfigurationError, match=r"shuffle\.partitions = 4.*set it to 9"):
        operators.place(df, 9, by="split", key="key")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"column": "wrker"}, "no column 'wrker'; there are: id, key, amount, time, worker"),
        ({"by": "spilt"}, "by = 'spilt'"),
        ({"by": "split"}, "needs key=..."),
        ({"by": "split", "key": "usr"}, "no column 'usr'"),
        ({"workers": 0}, "workers = 0"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_at_once(batch, options, says):
    with pytest.raises(ConfigurationError) as refused:
        operators.place(batch, **({"workers": WORKERS} | options))
    assert says in str(refused.value)


def test_split_is_not_overwritten(batch):
    df = batch.withColumn("Split", F.lit(1))
    with pytest.raises(ConfigurationError, match="a column 'Split' already"):
        operators.place(df, WORKERS, by="split", key="key")
