"""The bill of each operator: processor seconds for a million rows, beside Spark's own operator.

Each operator runs on three kinds of keys: uniform ones, skewed ones (60 % of the rows have one
key), and uniform ones that a Python function computes, so that counting is costly. It runs
`--rounds` times, interleaved with Spark's own; a run of each comes first and does not count.
Figures are medians. The processor time of this process and of all that it started is counted, so
other load hardly changes it.

    python benchmarks/cost_of_operators.py           # about ten minutes on two cores
    python benchmarks/cost_of_operators.py --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd  # noqa: TC002 - Spark reads the type hints
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

# The directory of a program comes first on the path, not that of the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.processor_time import processor_seconds
from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

KEYS, PARTITIONS = 2_000, 8
MILLION = 1_000_000
SETTINGS = {
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}


class Operator(NamedTuple):
    """Spark's own operator and evenkey's, which make the same rows."""

    name: str
    spark: Callable[[], DataFrame]
    evenkey: Callable[[], DataFrame]


class Cost(NamedTuple):
    """Medians of an operator's runs: processor seconds for a million rows, and elapsed seconds."""

    processor: float
    elapsed: float


@F.pandas_udf(LongType())  # type: ignore[call-overload, untyped-decorator, unused-ignore]
def through_python(keys: pd.Series) -> pd.Series:
    """A Python function between the input and the operator."""
    return keys


def inputs(spark: SparkSession, rows: int) -> dict[str, DataFrame]:
    """Rows with a key, a number, a time and a day; the first ones are kept in memory."""
    number = F.xxhash64("id")
    uniform = F.pmod(number, F.lit(KEYS))
    skewed = F.when(F.pmod(number, F.lit(10)) < 6, F.lit(KEYS)).otherwise(uniform)
    plain = spark.range(0, rows, 1, PARTITIONS)
    found = {}
    for name, key in (("uniform keys", uniform), ("skewed keys", skewed)):
        df = plain.select(
            key.alias("key"),
            F.col("id").alias("amount"),
            F.col("id").alias("time"),
            F.pmod(key, F.lit(40)).alias("day"),
        ).persist()
        df.count()
        found[name] = df
    python = found["uniform keys"].withColumn("key", through_python("key"))
    return found | {"a Python function before": python}


def total(rows: pd.DataFrame) -> pd.DataFrame:
    """Work on a key, or on a part of one."""
    return rows.groupby("key", as_index=False)["amount"].sum()


def of_part(rows: pd.DataFrame) -> pd.DataFrame:
    """Work on a part of a key, whose results are added up."""
    return rows[["amount"]].sum().to_frame().T


def operators(rows: DataFrame, names: DataFrame) -> list[Operator]:
    """Return all operators on one input."""
    schema, summed = "key long, amount long", F.sum("amount").alias("amount")
    window = Window.partitionBy("key").orderBy("time")
    columns = {"n": F.row_number(), "sum": F.sum("amount")}

    def last(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        del right
        return total(left)

    def cogrouped(group: Callable[[DataFrame], Any]) -> DataFrame:
        both: DataFrame = group(rows).cogroup(group(names)).applyInPandas(last, schema)
        return both

    return [
        Operator(
            "groupBy, whole",
            lambda: rows.groupBy("key").applyInPandas(total, schema),
            lambda: eks.groupBy(rows, "key").applyInPandas(total, schema),
        ),
        Operator(
            "groupBy, split",
            lambda: rows.groupBy("key").applyInPandas(total, schema),
            lambda: eks.groupBy(rows, "key").applyInPandas(of_part, "amount long", merge=summed),
        ),
        Operator(
            "cogroup",
            lambda: cogrouped(lambda df: df.groupBy("key")),
            lambda: cogrouped(lambda df: eks.groupBy(df, "key")),
        ),
        Operator(
            "join",
            lambda: rows.join(names, "key"),
            lambda: eks.join(rows, names, "key"),
        ),
        Operator(
            "join, exact",
            lambda: rows.join(names, "key"),
            lambda: eks.join(rows, names, "key", exact=True),
        ),
        Operator(
            "partition_for_write",
            lambda: rows.repartition(PARTITIONS, "day"),
            lambda: eks.partition_for_write(rows, "day", files=PARTITIONS),
        ),
        Operator(
            "over",
            lambda: rows.withColumns({name: each.over(window) for name, each in columns.items()}),
            lambda: eks.over(rows, "key", "time", columns),
        ),
    ]


def measured(run: Callable[[], DataFrame]) -> Cost:
    """Processor and elapsed seconds of one run, which computes all rows and keeps none."""
    processor, start = processor_seconds(), time.perf_counter()
    run().write.format("noop").mode("overwrite").save()
    return Cost(processor_seconds() - processor, time.perf_counter() - start)


def table(spark: SparkSession, rows: int, rounds: int) -> list[dict[str, Any]]:
    """Measure all operators on all inputs."""
    names = spark.range(KEYS + 1).select(F.col("id").alias("key"), F.hash("id").alias("name"))
    found: list[dict[str, Any]] = []
    for kind, df in inputs(spark, rows).items():
        for each in operators(df, names):
            taken: dict[str, list[Cost]] = {"spark": [], "evenkey": []}
            for number in range(rounds + 1):
                for way, run in (("spark", each.spark), ("evenkey", each.evenkey)):
                    cost = measured(run)
                    if number:
                        taken[way].append(cost)
            line: dict[str, Any] = {"operator": each.name, "input": kind}
            for way, costs in taken.items():
                processor = statistics.median(cost.processor for cost in costs)
                line[f"{way}_processor_seconds"] = processor * MILLION / rows
                line[f"{way}_seconds"] = statistics.median(cost.elapsed for cost in costs)
            found.append(line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of each input")
    parser.add_argument("--rounds", type=int, default=5, help="how often each operator runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = eks.session("local[2]", SETTINGS | {"spark.local.dir": str(Path(folder))})
        spark.sparkContext.setLogLevel("ERROR")
        found = table(spark, given.rows, given.rounds)
        spark.stop()
    if given.json:
        outcome = {"rows": given.rows, "rounds": given.rounds, "operators": found}
        sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
        return
    for each in found:
        sys.stdout.write(
            "{operator}, {input}: {evenkey_processor_seconds:.2f} processor seconds for a million "
            "rows, Spark's own {spark_processor_seconds:.2f}; {evenkey_seconds:.1f} s and "
            "{spark_seconds:.1f} s\n".format(**each)
        )


if __name__ == "__main__":
    main()
