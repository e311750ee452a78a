"""What routing costs: route and place of pkg and planned against Spark's hash repartition by key.

10 million rows of a Zipf-like string key (exponent 1.4, 100,000 keys) and a number, on two
cores. They are cached in Spark's memory first, so that the input costs both sides the same and
as little as can be: generating the rows or reading files would stand in both times and flatter
the ratio. Both sides shuffle all rows into as many partitions and throw them away (the noop
sink). They run by turns, five times each after one warm-up; what counts is the ratio of the
medians. Adaptive execution stays on, as it is for users; it leaves shuffles with a given number
of partitions as they are.

Where the time goes is measured in the same way, by steps, each of which does a little more than the
one before, up to all of pkg: `-k steps`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator  # noqa: TC003 - PySpark reads the hints

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import StorageLevel
from pyspark.sql import functions as F

from evenkey.spark import fit, place, route
from evenkey.spark.sessions import session

ROWS, KEYS, EXPONENT, PAIRS = 10_000_000, 100_000, 1.4, 5
TARGETS = {"pkg": 1.5, "planned": 1.08}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    spark = session("local[2]", {"spark.local.dir": str(tmp_path_factory.mktemp("spark"))})
    # Ranks by the inverse of the continuous power law's distribution.
    span = 1 - (KEYS + 1) ** (1 - EXPONENT)
    uniform = (F.xxhash64("id").bitwiseAND(F.lit((1 << 53) - 1)) + 0.5) / (1 << 53)
    rank = F.floor(F.pow(1 - uniform * span, F.lit(1 / (1 - EXPONENT))))
    key = F.concat(F.lit("user-"), rank.cast("string"))
    df = spark.range(0, ROWS, 1, 4).select(key.alias("key"), F.col("id").alias("amount"))
    df = df.persist(StorageLevel.MEMORY_ONLY)
    assert df.count() == ROWS
    yield df
    df.unpersist()
    spark.stop()


def seconds(df):
    start = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


@pytest.mark.benchmark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [10, 32])
@pytest.mark.parametrize("grouping", TARGETS)
def test_routing_cost(rows, report, grouping, workers, tmp_path):
    def plain():
        return seconds(rows.repartition(workers, "key"))

    def routed():
        return seconds(place(route(rows, "key", grouping, workers, state=tmp_path), workers))

    if grouping == "planned":
        # What is measured is routing; a plan is there, as it is in every epoch of a stream.
        fit(rows, "key", grouping, workers, state=tmp_path, fraction=0.1)
    plain()
    routed()
    pairs = [(plain(), routed()) for _ in range(PAIRS)]
    of_spark, of_evenkey = (statistics.median(side) for side in zip(*pairs, strict=True))
    what = f"route({grouping}) and place over repartition, {workers} workers"
    times = f"{of_evenkey:.2f} s / {of_spark:.2f} s = "
    report(what, f"{times}{of_evenkey / of_spark:.2f}", f"<= {TARGETS[grouping]}")


def _remainders(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for batch in batches:
        yield pc.cast(pc.bit_wise_and(batch, 7), pa.int32())


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_steps(rows, report):
    """What each step adds, with eight workers, so that a remainder is a bit mask everywhere."""
    workers, hashed = 8, F.xxhash64("key")
    # Its types ask for the kind of UDF, which Spark itself would rather infer from the hints.
    in_python = F.arrow_udf(_remainders, "int")  # type: ignore[call-overload]
    steps = {
        "repartition": lambda: rows.repartition(workers, "key"),
        "hash, worker's column, place": lambda: place(
            rows.withColumn("worker", hashed.bitwiseAND(F.lit(7)).cast("int")), workers
        ),
        "the same by way of Python": lambda: place(
            rows.withColumn("worker", in_python(hashed)), workers
        ),
        "pkg": lambda: place(route(rows, "key", "pkg", workers), workers),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(PAIRS + 1):
        for name, step in steps.items():
            elapsed = seconds(step())
            if turn:
                taken[name].append(elapsed)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, median in medians.items():
        report(f"step: {name}", f"{median:.2f} s = {median / medians['repartition']:.2f}", "")
