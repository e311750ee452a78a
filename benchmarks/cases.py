"""Cases of ``python -m tools.compare``: Spark's own shuffle, route and place, write, join, run.

The rows have a Zipf-like string key (exponent 1.4, 100,000 keys) and a number. Spark caches them in
memory, so that reading costs all cases the same, and little. All rows are shuffled into one
partition per worker, and discarded there (the noop sink). Adaptive execution stays on, as it is
for users.

    python -m tools.compare -- repartition route_and_place
    python -m tools.compare --commit HEAD~1 --commit . -- "route_and_place(grouping=pkg,workers=32)"
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import functions as F
from typer.testing import CliRunner

from evenkey import spark as eks
from evenkey.cli import app

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

ROWS, KEYS, EXPONENT, WORKERS = 10_000_000, 100_000, 1.4, 10
Runs = Iterator[Callable[[], object]]


def keyed(rows: int, *, shuffled: bool = False) -> DataFrame:
    """Make the rows, after a shuffle if `shuffled`; cases in the same process share them."""
    return _kept(rows, shuffled)


@cache
def _kept(rows: int, shuffled: bool) -> DataFrame:  # noqa: FBT001 - part of the cache's key
    spark = eks.session("local[2]")
    # Draw ranks by the inverse of the distribution function of a continuous power law.
    span = 1 - (KEYS + 1) ** (1 - EXPONENT)
    uniform = (F.xxhash64("id").bitwiseAND(F.lit((1 << 53) - 1)) + 0.5) / (1 << 53)
    rank = F.floor(F.pow(1 - uniform * span, F.lit(1 / (1 - EXPONENT))))
    key = F.concat(F.lit("user-"), rank.cast("string"))
    df = spark.range(0, rows, 1, 4).select(key.alias("key"), F.col("id").alias("amount"))
    if shuffled:
        df = df.repartition(4, "amount")
    df = df.persist(StorageLevel.MEMORY_ONLY)
    assert df.count() == rows
    return df


def thrown_away(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def repartition(rows: int = ROWS, workers: int = WORKERS) -> Runs:
    """Shuffle by Spark's own hash."""
    df = keyed(rows)
    yield lambda: thrown_away(df.repartition(workers, "key"))


def route_and_place(
    rows: int = ROWS,
    workers: int = WORKERS,
    grouping: str = "planned",
    shuffled: bool = False,  # noqa: FBT001, FBT002 - as a case says it
) -> Runs:
    """Route by a grouping; ``planned`` follows a finished plan, as in every epoch of a stream."""
    df = keyed(rows, shuffled=shuffled)
    with tempfile.TemporaryDirectory(prefix="evenkey-bench-") as home:
        if grouping.startswith("planned"):
            eks.fit(df, "key", grouping, workers, state=home, fraction=0.1)
        yield lambda: thrown_away(
            eks.place(eks.route(df, "key", grouping, workers, state=home), workers)
        )


def hash_and_place(rows: int = ROWS) -> Runs:
    """Place by a worker column that Spark computes: three bits of a hash, for eight workers."""
    df = keyed(rows)
    worker = F.xxhash64("key").bitwiseAND(F.lit(7)).cast("int")
    yield lambda: thrown_away(eks.place(df.withColumn("worker", worker), 8))


def _remainders(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for batch in batches:
        yield pc.cast(pc.bit_wise_and(batch, 7), pa.int32())


def hash_in_python_and_place(rows: int = ROWS) -> Runs:
    """Place by the same worker column, computed in Python from the hash."""
    df = keyed(rows)
    # PySpark's stubs require the kind of UDF as an argument; Spark infers it from the type hints.
    in_python = F.arrow_udf(_remainders, "int")  # type: ignore[call-overload]
    yield lambda: thrown_away(eks.place(df.withColumn("worker", in_python(F.xxhash64("key"))), 8))


def partition_for_write(
    rows: int = ROWS,
    workers: int = WORKERS,
    shuffled: bool = False,  # noqa: FBT001, FBT002 - as a case says it
) -> Runs:
    """Count the keys, and divide the rows over tasks of equal size."""
    df = keyed(rows, shuffled=shuffled)
    yield lambda: thrown_away(eks.partition_for_write(df, "key", workers))


def join_full(
    rows: int = ROWS,
    workers: int = WORKERS,
    shuffled: bool = False,  # noqa: FBT001, FBT002 - as a case says it
) -> Runs:
    """Make a full join with a table that has each key once."""
    df = keyed(rows, shuffled=shuffled)
    table = df.groupBy("key").agg(F.count("*").alias("rows")).persist()
    table.count()
    yield lambda: thrown_away(eks.join(df, table, "key", "full", workers))


def spark_join(
    rows: int = 6_000_000,
    recorded: bool = False,  # noqa: FBT001, FBT002 - as a case says it
) -> Runs:
    """Join by Spark's own join, in a shuffle; if `recorded`, while a profile is recorded."""
    spark = eks.session("local[2]")
    left = spark.range(0, rows, 1, 8).select((F.col("id") % 1_000_003).alias("k"), "id")
    right = spark.range(0, 100_000, 1, 2).select(
        F.col("id").alias("k"), (F.col("id") * 2).alias("v")
    )
    with tempfile.TemporaryDirectory(prefix="evenkey-bench-") as home:

        def joined() -> None:
            thrown_away(left.join(right.hint("merge"), "k"))

        def recording() -> None:
            with eks.record(spark, f"{home}/profile.json"):
                joined()

        yield recording if recorded else joined


def groups(rows: int = 1_000_000, workers: int = WORKERS) -> Runs:
    """A function on each key, called on parts of hot keys, whose sums Spark merges."""
    df = keyed(rows)

    def total(part: pd.DataFrame) -> pd.DataFrame:
        return part[["amount"]].sum().to_frame().T

    merge = F.sum("amount").alias("amount")
    yield lambda: thrown_away(
        eks.groupBy(df, "key", workers=workers).applyInPandas(total, "amount long", merge=merge)
    )


def command(messages: int = 400_000, groupings: str = "planned;pkg", cost: float = 0.0) -> Runs:
    """``evenkey compare`` of some groupings, with semicolons between, from start to table."""
    line = f"compare --dataset country-skew-r80 --workers 10 --messages {messages} --cost-ms {cost}"
    arguments = [*line.split(), "--groupings", groupings.replace(";", ",")]

    def run() -> None:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output

    yield run
