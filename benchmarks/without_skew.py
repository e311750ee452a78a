"""What evenkey's operators cost where no key is hot: Spark's own operator beside each, interleaved.

Rows have uniform keys. By default the work per row is small, so that counting the keys is as large
a part as it can be. Each pair runs `--rounds` times after a run that does not count; figures are
medians of elapsed and of processor time. Then an accumulator counts how often each input row is
computed by each operator, on `COMPUTED` rows that a Python function makes.

    python benchmarks/without_skew.py                                 # about four minutes
    python benchmarks/without_skew.py --rows 1000000 --keys 2000      # small jobs: three minutes
    python benchmarks/without_skew.py --python                        # a Python function makes keys
    python benchmarks/without_skew.py --sleep-us 60                   # a minute of work: 45 minutes
    python benchmarks/without_skew.py --rows 40000000 --files         # the same without sleep
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd  # noqa: TC002 - Spark reads the type hints
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

# The directory of a program comes first on the path, not that of the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.processor_time import processor_seconds
from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Way = Callable[[], object]

DAYS, TASKS = 30, 8
COMPUTED = 200_000
SCHEMA = "key long, amount long"


class Pair(NamedTuple):
    """Spark's own operator and evenkey's, which do the same work."""

    spark: Way
    evenkey: Way


class Cost(NamedTuple):
    """Elapsed and processor seconds of a run."""

    elapsed: float
    processor: float


@F.pandas_udf(LongType())  # type: ignore[call-overload, untyped-decorator, unused-ignore]
def through_python(keys: pd.Series) -> pd.Series:
    """A Python function between the input and the operator."""
    return keys


def pairs(rows: DataFrame, names: DataFrame, folder: Path, sleep_us: float) -> dict[str, Pair]:
    """Spark's own operator and evenkey's, by the name of evenkey's.

    The function on a key sleeps for each of its rows, and so does a function on the rows of a join
    and on the rows to write.
    """
    summed = F.sum("amount").alias("amount")

    def total(of_key: pd.DataFrame) -> pd.DataFrame:
        time.sleep(sleep_us / 1e6 * len(of_key))
        return of_key.groupby("key", as_index=False)["amount"].sum()

    def part(of_key: pd.DataFrame) -> pd.DataFrame:
        time.sleep(sleep_us / 1e6 * len(of_key))
        return of_key[["amount"]].sum().to_frame().T

    def sleeping(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(sleep_us / 1e6 * batch.num_rows)
            yield batch

    def worked(df: DataFrame) -> DataFrame:
        return df.mapInArrow(sleeping, df.schema) if sleep_us else df

    def computed(df: DataFrame) -> None:
        df.write.format("noop").mode("overwrite").save()

    def written(df: DataFrame, name: str) -> None:
        worked(df).write.partitionBy("day").mode("overwrite").parquet(str(folder / name))

    def plain() -> None:
        computed(rows.groupBy("key").applyInPandas(total, SCHEMA))

    return {
        "groupBy": Pair(
            plain,
            lambda: computed(eks.groupBy(rows, "key").applyInPandas(total, SCHEMA)),
        ),
        "groupBy, split": Pair(
            plain,
            lambda: computed(
                eks.groupBy(rows, "key").applyInPandas(part, "amount long", merge=summed)
            ),
        ),
        "join": Pair(
            lambda: computed(worked(rows.join(names, "key"))),
            lambda: computed(worked(eks.join(rows, names, "key", workers=TASKS))),
        ),
        "partition_for_write": Pair(
            lambda: written(rows.repartition(TASKS, "day"), "plain"),
            lambda: written(eks.partition_for_write(rows, "day", files=TASKS), "evenkey"),
        ),
    }


def rows_of(spark: SparkSession, count: int, keys: int) -> DataFrame:
    """Make rows with uniform keys."""
    number = F.xxhash64("id")
    return spark.range(0, count, 1, TASKS).select(
        F.pmod(number, F.lit(keys)).alias("key"),
        F.col("id").alias("amount"),
        F.pmod(number, F.lit(DAYS)).alias("day"),
    )


def measured(way: Way) -> Cost:
    """Measure one run."""
    processor, start = processor_seconds(), time.perf_counter()
    way()
    return Cost(time.perf_counter() - start, processor_seconds() - processor)


def compared(every: dict[str, Pair], rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of both operators of each pair, and their ratio."""
    taken: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in every}
    for number in range(rounds + 1):
        for name, pair in every.items():
            plain, ours = measured(pair.spark), measured(pair.evenkey)
            if number:
                taken[name].append((plain, ours))
    found = {}
    for name, runs in taken.items():
        plain, ours = (
            Cost(*(statistics.median(figure) for figure in zip(*costs, strict=True)))
            for costs in zip(*runs, strict=True)
        )
        ratios = [b.elapsed / a.elapsed for a, b in runs]
        found[name] = {
            "spark_seconds": plain.elapsed,
            "evenkey_seconds": ours.elapsed,
            "ratio": ours.elapsed / plain.elapsed,
            "least_ratio": min(ratios),
            "largest_ratio": max(ratios),
            "spark_processor_seconds": plain.processor,
            "evenkey_processor_seconds": ours.processor,
            "processor_ratio": ours.processor / plain.processor,
        }
    return found


def times_computed(
    spark: SparkSession, names: DataFrame, folder: Path, keys: int
) -> dict[str, dict[str, float]]:
    """How often each input row is computed, by Spark's own operator and by evenkey's."""
    rows, counter = rows_of(spark, COMPUTED, keys), spark.sparkContext.accumulator(0)

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counter.add(batch.num_rows)
            yield batch

    counted = rows.mapInArrow(made, rows.schema)
    found: dict[str, dict[str, float]] = {}

    def times(way: Way) -> float:
        before = counter.value
        way()
        return (counter.value - before) / COMPUTED

    every = pairs(counted, names, folder, 0.0)
    plan = folder / "plan"

    def with_plan() -> None:
        grouped = eks.groupBy(counted, "key", state=plan)
        summed = grouped.applyInPandas(lambda of_key: of_key[["key", "amount"]][:1], SCHEMA)
        summed.write.format("noop").mode("overwrite").save()

    for name, pair in every.items():
        found[name] = {"spark": times(pair.spark), "evenkey": times(pair.evenkey)}
    for number in ("first", "second"):
        found[f"groupBy, state=, {number} run"] = {"evenkey": times(with_plan)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows")
    parser.add_argument("--keys", type=int, default=1_000, help="keys")
    parser.add_argument("--rounds", type=int, default=5, help="how often each operator runs")
    parser.add_argument("--sleep-us", type=float, default=0.0, help="sleep per row, microseconds")
    parser.add_argument("--python", action="store_true", help="a Python function computes the keys")
    parser.add_argument("--files", action="store_true", help="read Parquet files, and not memory")
    parser.add_argument("--only", help="measure only these operators, separated by semicolons")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    settings = {
        "spark.sql.shuffle.partitions": str(TASKS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        spark = eks.session("local[2]", settings | {"spark.local.dir": place})
        spark.sparkContext.setLogLevel("ERROR")
        rows = rows_of(spark, given.rows, given.keys)
        if given.files:
            rows.write.parquet(str(folder / "input"))
            rows = spark.read.parquet(str(folder / "input"))
        else:
            rows = rows.persist()
        rows.count()
        if given.python:
            rows = rows.withColumn("key", through_python("key"))
        names = spark.range(given.keys).select(F.col("id").alias("key"), F.hash("id").alias("name"))
        every = pairs(rows, names, folder, given.sleep_us)
        wanted = given.only.split(";") if given.only else [*every]
        operators = compared({name: every[name] for name in wanted}, given.rounds)
        times = times_computed(spark, names, folder, given.keys)
        spark.stop()
    if given.json:
        outcome = {**vars(given), "operators": operators, "times_computed": times}
        sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
        return
    for name, each in operators.items():
        sys.stdout.write(
            f"{name}: {each['evenkey_seconds']:.2f} s, Spark's own {each['spark_seconds']:.2f} s, "
            f"{each['ratio']:.2f} times ({each['least_ratio']:.2f} to "
            f"{each['largest_ratio']:.2f}); processor time {each['processor_ratio']:.2f} times\n"
        )
    for name, of_way in times.items():
        shown = ", ".join(f"{way} {number:.2f} times" for way, number in of_way.items())
        sys.stdout.write(f"{name}: each input row is computed: {shown}\n")


if __name__ == "__main__":
    main()
