"""Balanced joins by key equal Spark's own join, also if partitions move in between."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.joins import DynamicDistributor, StaticStore, balanced_join, refresh
from evenkey.joins.balance.epoch_log import EpochLog
from tests.tiers import most_in_soak


@pytest.fixture(scope="module")
def sides(session):
    """Make a stream of 600 rows, most with one key, and a static side with repeated keys."""
    number = F.col("id")
    key = F.when(number % 10 < 6, 3).when(number % 17 == 0, None).otherwise(number % 50)
    stream = session.range(600).select(
        number.alias("n"), key.cast("int").alias("k"), F.lit("a").alias("t")
    )
    static = session.range(60).select(
        (number % 40).cast("int").alias("k"),
        F.lit("a").alias("t"),
        F.when(number % 7 > 0, number.cast("string")).alias("v"),
    )
    return stream, static


def counted(rows):
    return Counter(tuple(sorted((k, str(v)) for k, v in row.items())) for row in rows)


def rows_of(df):
    return counted(df.toArrow().to_pylist())


@pytest.mark.slow(5)
@pytest.mark.parametrize("how", most_in_soak(["inner", "left"], 5, slow=["left"]))
def test_a_batch_equals_sparks_own_join(sides, how):
    stream, static = sides
    joined = balanced_join(stream, static, ["k", "t"], how, workers=2)
    expected = stream.join(static, ["k", "t"], how)
    assert joined.columns == expected.columns
    assert rows_of(joined) == rows_of(expected)


@pytest.mark.soak
def test_a_stream_stays_exact_while_partitions_move(sides, stream_of_files, run_to_end, tmp_path):
    stream, static = sides
    joined = balanced_join(
        stream_of_files(stream),
        static.drop("t"),
        "k",
        "left",
        workers=2,
        balance="rows",
        state=tmp_path / "join",
        distributor=DynamicDistributor(forced=(1,)),
    )
    parts = run_to_end(joined)
    assert len(parts) == 3
    rows = counted(row for part in parts.values() for row in part)
    assert rows == rows_of(stream.join(static.drop("t"), "k", "left"))
    (log,) = map(EpochLog, (tmp_path / "join" / "epochs").iterdir())
    plans = [log.plan(epoch) for epoch in range(3)]
    assert [plan and plan.redistributions for plan in plans] == [0, 1, 1]
    assert sum(work[0] for record in log.records(1) for work in record.work.values()) == 200


@pytest.mark.slow(16)
def test_a_refresh_applies_to_whole_epochs(sides, stream_of_files, run_to_end, tmp_path):
    stream, static = sides
    old, new = static.drop("t"), static.drop("t").withColumn("v", F.lit("new"))
    directory = tmp_path / "join"
    joined = balanced_join(
        stream_of_files(stream),
        old,
        "k",
        workers=2,
        balance=None,
        cache_static=False,
        state=directory,
    )

    def after_epoch(epoch):
        if epoch == 0:
            assert refresh(new, directory) == 2

    parts = run_to_end(joined, after_epoch)
    assert {row["v"] for row in parts[0]} > {None}
    assert {row["v"] for epoch in (1, 2) for row in parts[epoch]} == {"new"}
    keys = counted({"n": row["n"], "k": row["k"]} for part in parts.values() for row in part)
    assert keys == rows_of(stream.join(old, "k").select("n", "k"))
    with pytest.raises(
        ConfigurationError, match="columns were k int, v string and are now k int, v string, w int"
    ):
        refresh(new.withColumn("w", F.lit(1)), directory)


def in_a_thread(batch, _):
    """Collect in another thread, which does not know the epoch (over Connect none does)."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(batch.collect).result()


@pytest.mark.slow(6)
def test_a_task_that_does_not_know_its_epoch_fails(sides, stream_of_files, tmp_path):
    """Otherwise it would join with the first version, and record no work."""
    stream, static = sides
    source = stream_of_files(stream)
    joined = balanced_join(source, static.drop("t"), "k", workers=2, state=tmp_path / "join")
    query = (
        joined.writeStream.foreachBatch(in_a_thread)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    with pytest.raises(StreamingQueryException, match="a task of a stream does not know its epoch"):
        query.processAllAvailable()


@pytest.mark.soak(8)
def test_an_empty_static_side_matches_nothing(sides):
    stream, static = sides
    nothing = static.drop("t").where("false")
    assert balanced_join(stream, nothing, "k", workers=2).count() == 0
    left = balanced_join(stream, nothing, "k", "left", workers=2)
    assert rows_of(left) == rows_of(stream.join(nothing, "k", "left"))


@pytest.mark.slow(4)
def test_a_corrupt_partition_fails_the_query_and_says_which(sides, tmp_path):
    stream, static = sides
    joined = balanced_join(stream, static.drop("t"), "k", workers=2, state=tmp_path)
    store = StaticStore(tmp_path / "static")
    files = list((tmp_path / "static" / store.folder(store.latest())).glob("p*.parquet"))
    for file in files:
        file.write_bytes(b"?" * file.stat().st_size)
    with pytest.raises(
        Exception, match=r"static partition \S+p\d+.parquet is not what was written"
    ):
        joined.collect()


@pytest.mark.slow(12)
def test_a_null_static_key_is_reported(sides):
    stream, static = sides
    holed = static.drop("t").withColumn("k", F.when(F.col("k") > 3, F.col("k")))
    with pytest.raises(Exception, match="have no key in column 'k'"):
        balanced_join(stream, holed, "k", workers=2)


@pytest.mark.slow(2)
def test_static_data_of_another_join_are_refused(sides, tmp_path):
    stream, static = sides
    balanced_join(stream, static, ["k", "t"], workers=2, state=tmp_path)
    with pytest.raises(ConfigurationError, match="partitions were 8 and are now 4"):
        balanced_join(stream, static, ["k", "t"], workers=2, partitions=4, state=tmp_path)
    with pytest.raises(ConfigurationError, match="columns was"):
        balanced_join(stream.drop("t"), static, ["k"], workers=2, state=tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"on": "q"}, "no column 'q'"),
        ({"how": "outer"}, "how = 'outer'"),
        ({"workers": 0}, "workers = 0"),
        ({"balance": "items"}, "balance = 'items'"),
        ({"partitions": 1}, "partitions = 1: 2 workers"),
        ({"cache_bytes": -1}, "cache_bytes = -1"),
        ({"on": "k"}, "columns t are on both sides"),
        ({"time": "n2"}, "no column 'n2'"),
    ],
)
def test_invalid_options_are_reported(sides, changes, message):
    stream, static = sides
    options = {"on": ["k", "t"], "workers": 2, **changes}
    with pytest.raises(ConfigurationError, match=message):
        balanced_join(stream, static, **options)


def test_key_types_must_be_equal_and_comparable(sides):
    stream, static = sides
    with pytest.raises(ConfigurationError, match="int in the stream and bigint"):
        balanced_join(stream, static.withColumn("k", F.col("k").cast("bigint")), ["k", "t"])
    half, other = (df.withColumn("k", F.col("k").cast("double")) for df in sides)
    with pytest.raises(ConfigurationError, match="key 'k' is double"):
        balanced_join(half, other, ["k", "t"])
    with pytest.raises(ConfigurationError, match="names that begin with"):
        balanced_join(stream.withColumn("__evenkey_slot", F.lit(1)), static, ["k", "t"])
