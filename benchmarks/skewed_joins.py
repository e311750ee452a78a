"""Compare Spark, adaptive execution, salting and evenkey on a skewed join and a skewed write.

Every contender joins, or writes, the same cached rows; each row of the result costs its task
`--cost-ms` of sleep, so that W task slots stand for W cores on any machine. Times of evenkey
include counting. Runs of contenders are interleaved, `--rounds` times; figures are medians.

    python -m benchmarks.skewed_joins --workers 16                  # about 25 minutes
    python -m benchmarks.skewed_joins --workers 10 --json > figures.json
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import functions as F
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from benchmarks.against_spark import SKEW, settings_of
from benchmarks.against_spark import USUAL as MERGES_NOTHING
from evenkey import spark as eks
from evenkey.spark.sessions.starting import local_master, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

KEYS = 5000
SALTS = (4, 8, 16, 32)
SEED = 7
USUAL = MERGES_NOTHING | {"spark.sql.adaptive.skewJoin.enabled": "false"}
ROW_BYTES = 32
DAYS = 40


class Case(NamedTuple):
    """Two sides to join, and the cost of a row of the result."""

    left: DataFrame
    right: DataFrame
    rows: int
    cost_ms: float


class Contender(NamedTuple):
    """A way to join or to write, with its Spark settings."""

    name: str
    make: Callable[..., DataFrame]
    settings: dict[str, str]


def by_spark(left: DataFrame, right: DataFrame, workers: int) -> DataFrame:
    del workers
    return left.join(right, "k")


def salted(salts: int) -> Callable[[DataFrame, DataFrame, int], DataFrame]:
    """Return a join that salts all keys: a random salt per left row, all salts per right row."""

    def joined(left: DataFrame, right: DataFrame, workers: int) -> DataFrame:
        del workers
        salt = F.floor(F.rand(SEED) * salts)
        every = right.select("*", F.explode(numbers_to(salts)).alias("salt"))
        return left.withColumn("salt", salt).join(every, ["k", "salt"]).drop("salt")

    return joined


def salted_hot(left: DataFrame, right: DataFrame, workers: int) -> DataFrame:
    """Join with salts for one key only, by hand, as if it were known to be hot."""
    hot = F.col("k") == 0
    salt = F.when(hot, F.floor(F.rand(SEED) * workers)).otherwise(0)
    salts = F.when(hot, numbers_to(workers)).otherwise(numbers_to(1))
    every = right.select("*", F.explode(salts).alias("salt"))
    return left.withColumn("salt", salt).join(every, ["k", "salt"]).drop("salt")


def numbers_to(end: int) -> Column:
    return F.sequence(F.lit(0).cast("bigint"), F.lit(end - 1).cast("bigint"))


def balanced(left: DataFrame, right: DataFrame, workers: int) -> DataFrame:
    return eks.join(left, right, "k", workers=workers)


JOINS = (
    Contender("Spark's join", by_spark, USUAL),
    Contender("adaptive execution's skew join", by_spark, USUAL | SKEW),
    *(Contender(f"{salts} salts for all keys", salted(salts), USUAL) for salts in SALTS),
    Contender("W salts for the hot key", salted_hot, USUAL),
    Contender("eks.join", balanced, USUAL),
)


def cases(spark: SparkSession, rows: int, cost_ms: float, workers: int) -> dict[str, Case]:
    """Make two cases: 60 % of the rows on one key; and a key that is hot on both sides.

    A row of the second case has a tenth of the cost.
    """
    key = F.when(F.col("id") % 10 < 6, 0).otherwise(F.pmod(F.xxhash64("id"), F.lit(KEYS)))
    left = spark.range(0, rows, 1, workers).select(key.alias("k"), F.col("id").alias("v"))
    right = spark.range(0, KEYS, 1, workers).select(
        F.col("id").alias("k"), (-F.col("id")).alias("w")
    )
    hot = int((0.6 * 10 * rows / 2) ** 0.5)
    many = spark.range(0, hot + 4 * rows, 1, workers).selectExpr(
        f"if(id < {hot}, 0, 1 + id % {KEYS}) as k", "id as v"
    )
    more = spark.range(0, 2 * hot + KEYS, 1, workers).selectExpr(
        f"if(id < {2 * hot}, 0, id - {2 * hot} + 1) as k", "-id as w"
    )
    made = {
        "60 % of the rows on one key": Case(left, right, rows, cost_ms),
        f"{hot} x {2 * hot} rows of one key": Case(many, more, 2 * hot**2 + 4 * rows, cost_ms / 10),
    }
    return {
        name: each._replace(left=each.left.persist(), right=each.right.persist())
        for name, each in made.items()
    }


def at_cost(cost_ms: float) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return a function that sleeps for each row of a task, and returns the number of rows."""

    def work(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        rows = 0
        for batch in batches:
            time.sleep(cost_ms / 1000 * len(batch))
            rows += len(batch)
        context = TaskContext.get()
        task = -1 if context is None else context.partitionId()
        yield pd.DataFrame({"task": [task], "rows": [rows]})

    return work


def joined_at_cost(contender: Contender, case: Case, workers: int) -> dict[str, Any]:
    start = time.perf_counter()
    result = contender.make(case.left, case.right, workers)
    tasks = result.mapInPandas(at_cost(case.cost_ms), "task long, rows long").collect()
    seconds = time.perf_counter() - start
    rows = [each.rows for each in tasks]
    if sum(rows) != case.rows:
        message = f"{contender.name}: {sum(rows)} rows and not {case.rows}"
        raise AssertionError(message)
    return {"seconds": seconds, "max_over_mean": max(rows) * workers / sum(rows)}


def by_day(df: DataFrame, workers: int) -> DataFrame:
    return df.repartition(workers, "day")


def by_salted_day(df: DataFrame, workers: int) -> DataFrame:
    return df.repartition(workers, "day", F.floor(F.rand(SEED) * workers))


WRITES = (
    Contender("no shuffle", lambda df, _: df, USUAL),
    Contender("repartition(W, day)", by_day, USUAL),
    Contender("repartition(W, day, salt)", by_salted_day, USUAL),
    Contender("rebalance hint by day", lambda df, _: df.hint("rebalance", "day"), USUAL | SKEW),
    Contender(
        "eks.partition_for_write", lambda df, w: eks.partition_for_write(df, "day", w), USUAL
    ),
)


def sleeping(cost_ms: float) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    def work(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            time.sleep(cost_ms / 1000 * len(batch))
            yield batch

    return work


def written_at_cost(
    contender: Contender, sales: DataFrame, cost_ms: float, workers: int
) -> dict[str, Any]:
    """Write rows by day, and sleep for each row before it reaches the writer."""
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        placed = contender.make(sales, workers)
        costly = placed.mapInPandas(sleeping(cost_ms), sales.schema)
        costly.write.partitionBy("day").mode("overwrite").parquet(directory)
        seconds = time.perf_counter() - start
        written = sales.sparkSession.read.parquet(directory)
        found = written.groupBy("day", F.input_file_name().alias("file")).count().collect()
    counts = pd.DataFrame(found, columns=["day", "file", "count"])
    if counts["count"].sum() != sales.count():
        message = f"{contender.name}: rows are missing"
        raise AssertionError(message)
    tasks = counts.groupby(counts["file"].map(lambda file: Path(file).name.split("-")[1]))
    hot = counts[counts["day"] == "hot"]["count"]
    return {
        "seconds": seconds,
        "max_over_mean": tasks["count"].sum().max() * workers / counts["count"].sum(),
        "files": len(counts),
        "files_of_the_hot_day": len(hot),
        "largest_over_smallest": hot.max() / hot.min(),
    }


def sales_of(spark: SparkSession, rows: int, workers: int) -> DataFrame:
    """Make rows: 60 % of them on one day, the others on forty days."""
    number = F.col("id")
    day = F.when(number % 10 < 6, "hot").otherwise(
        F.pmod(F.xxhash64("id"), F.lit(DAYS)).cast("string")
    )
    return spark.range(0, rows, 1, workers).select(number, day.alias("day")).persist()


def medians(
    spark: SparkSession,
    contenders: tuple[Contender, ...],
    rounds: int,
    run: Callable[[Contender], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Run the contenders interleaved, and return medians."""
    found: dict[str, list[dict[str, Any]]] = {each.name: [] for each in contenders}
    for _ in range(rounds):
        for contender in contenders:
            with settings_of(spark, contender.settings):
                found[contender.name].append(run(contender))
    return [
        {"contender": name, **{key: statistics.median(r[key] for r in runs) for key in runs[0]}}
        for name, runs in found.items()
    ]


def show(outcome: dict[str, Any]) -> None:
    console = Console(width=140)
    for name, rows in outcome["cases"].items():
        console.print(f"\n{name}, W = {outcome['workers']}\n", highlight=False)
        table = Table(box=MARKDOWN)
        for heading in rows[0]:
            table.add_column(
                heading.replace("_", " "), justify="left" if heading == "contender" else "right"
            )
        for row in rows:
            table.add_row(
                *(each if isinstance(each, str) else f"{each:.2f}" for each in row.values())
            )
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the result")
    parser.add_argument("--cost-ms", type=float, default=1.0, help="cost of a row, ms")
    parser.add_argument(
        "--workers", type=int, default=16, help="number of workers, each one task slot"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender runs")
    parser.add_argument("--contenders", default="", help="only these, separated by commas")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    wanted = set(filter(None, given.contenders.split(",")))
    joins = tuple(each for each in JOINS if not wanted or each.name in wanted)
    writes = tuple(each for each in WRITES if not wanted or each.name in wanted)
    spark = session(
        local_master(given.workers),
        {
            "spark.sql.shuffle.partitions": str(given.workers),
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
            # Adaptive execution measures bytes, and a hot key's rows compress to almost nothing.
            "spark.shuffle.compress": "false",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    share = ROW_BYTES * given.rows // given.workers
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", str(share))
    spark.conf.set("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", str(share))
    outcome: dict[str, Any] = {**vars(given), "cases": {}}
    for name, case in cases(spark, given.rows, given.cost_ms, given.workers).items():
        for contender in joins:  # warms up: starts Python workers, fills the cache, compiles
            joined_at_cost(contender, case._replace(cost_ms=0.0), given.workers)
        outcome["cases"][name] = medians(
            spark,
            joins,
            given.rounds,
            functools.partial(joined_at_cost, case=case, workers=given.workers),
        )
    sales = sales_of(spark, given.rows, given.workers)
    for contender in writes:
        written_at_cost(contender, sales, 0.0, given.workers)
    outcome["cases"]["60 % of the rows on one day"] = medians(
        spark,
        writes,
        given.rounds,
        lambda each: written_at_cost(each, sales, given.cost_ms, given.workers),
    )
    spark.stop()
    if given.json:
        sys.stdout.write(json.dumps(outcome, indent=2, default=float) + "\n")
    else:
        show(outcome)


if __name__ == "__main__":
    main()
