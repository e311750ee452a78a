"""Copies of a partition that is too large for one worker: balance, and equality with Spark."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet
import pytest
import shapely
from pyspark.sql import functions as F

from evenkey.joins import DynamicDistributor, SpatialMatch, balanced_join
from evenkey.joins.balance.epoch_log import EpochLog
from tests.tiers import most_in_soak

WORKERS, ROWS = 10, 60_000
EAGER = DynamicDistributor(period=1e-3)
"""A distributor that may move partitions after every epoch."""


@pytest.fixture(scope="module")
def sides(session):
    """Make sides: 60 % of the rows have one key, some have null or a key without match."""
    number = F.col("id")
    key = F.when(number % 10 < 6, 7).when(number % 97 == 0, None).otherwise(number % 500)
    stream = session.range(ROWS, numPartitions=3).select(key.alias("k"), number.alias("n"))
    static = session.range(490).select(number.alias("k"), F.hash("id").alias("v"))
    return stream, static


def max_over_mean(counts):
    """Return the maximum number of rows of a worker over the mean."""
    return max(counts) / (sum(counts) / WORKERS)


def rows_of(df):
    return Counter(map(tuple, df.select("k", "n", "v").collect()))


@pytest.mark.slow(5)
def test_a_batch_is_balanced_and_equals_sparks_own_join(sides):
    stream, static = sides
    stream = stream.where("n < 12000")
    joined = balanced_join(stream, static, "k", "left", workers=WORKERS, balance="rows")
    placed = joined.withColumn("worker", F.spark_partition_id()).collect()
    assert Counter((row.k, row.n, row.v) for row in placed) == rows_of(
        stream.join(static, "k", "left")
    )
    counts = Counter(row.worker for row in placed)
    assert max_over_mean(counts.values()) < 1.15
    # Nothing is random, so a retried task sends each row to the same worker.
    again = joined.withColumn("worker", F.spark_partition_id()).collect()
    assert Counter(placed) == Counter(again)


@pytest.mark.slow(4)
def test_a_batch_is_not_rebalanced_if_nothing_is_copied(sides):
    stream, static = sides
    still = DynamicDistributor(copies=False)
    joined = balanced_join(stream, static, "k", "left", workers=WORKERS, distributor=still)
    counts = joined.groupBy(F.spark_partition_id()).count().collect()
    assert max_over_mean([row["count"] for row in counts]) > 6


@pytest.mark.soak
def test_a_stream_is_balanced_from_the_second_epoch_on_and_exact_when_an_epoch_runs_again(
    sides, stream_of_files, run_to_end, tmp_path
):
    stream, static = sides
    joined = balanced_join(
        stream_of_files(stream),
        static,
        "k",
        "left",
        workers=WORKERS,
        balance="rows",
        state=tmp_path / "join",
        distributor=EAGER,
    )
    parts = run_to_end(joined)
    rows = Counter((row["k"], row["n"], row["v"]) for part in parts.values() for row in part)
    assert rows == rows_of(stream.join(static, "k", "left"))
    (log,) = map(EpochLog, (tmp_path / "join" / "epochs").iterdir())
    for epoch in (1, 2):
        records = log.records(epoch)
        came = [sum(work[0] for work in record.work.values()) for record in records]
        assert sum(came) == len(parts[epoch])
        assert max_over_mean(came) < 1.15
        plan = log.plan(epoch)
        assert plan
        (partition,) = plan.copies
        assert {each.slot for each in records if partition in each.work} == {
            *plan.copies[partition]
        }
        # The partition also contains some other keys.
        assert 6 <= len(plan.copies[partition]) <= 7
        # Each copy except the first had to be loaded, and counts as a move.
        came_to = len(plan.copies[partition]) - 1 if epoch == 1 else 0
        assert plan.moved.count(partition) == came_to
        assert sum(partition in record.loaded for record in records) >= came_to
    for file in (tmp_path / "checkpoint" / "commits").glob("*2*"):
        file.unlink()
    again = run_to_end(joined)
    assert [*again] == [2]
    assert Counter(map(str, again[2])) == Counter(map(str, parts[2]))


@pytest.mark.slow(12)
@pytest.mark.parametrize("pipeline", most_in_soak(["spis", "rihps"], 12, slow=["rihps"]))
def test_a_batch_by_space_is_balanced_and_its_dead_letters_are_written_once(
    session, pipeline, tmp_path
):
    """60 % of the points are in one of twenty squares."""
    places = [(0.5, 0.5) if number % 10 < 6 else (number % 20, 0.5) for number in range(3000)]
    points = [*shapely.to_wkb(shapely.points(places)), b"?"]
    stream = pa.table({"p": range(len(points)), "geometry": pa.array(points, pa.binary())})
    squares = shapely.box(range(20), 0, [number + 0.9 for number in range(20)], 1)
    static = pa.table({"s": range(20), "geometry": shapely.to_wkb(squares)})
    joined = balanced_join(
        session.createDataFrame(stream),
        session.createDataFrame(static),
        SpatialMatch(relation="intersects", pipeline=pipeline),
        workers=WORKERS,
        partitions=20,
        balance="rows",
        dead_letters=tmp_path / "rejected",
    )
    found = joined.withColumn("worker", F.spark_partition_id()).collect()
    assert Counter((row.p, row.s) for row in found) == Counter(
        (number, int(left)) for number, (left, _) in enumerate(places)
    )
    assert max_over_mean(Counter(row.worker for row in found).values()) < 1.15
    files = [*(tmp_path / "rejected").rglob("*.parquet")]
    assert sum(pa.parquet.read_metadata(file).num_rows for file in files) == 1
