"""What evenkey's operators cost where no key is hot: Spark's own operator beside each, interleaved.

Rows have uniform keys, and the work per row is small, so that counting the keys is as large a part
as it can be. Each pair runs `--rounds` times after a run that does not count; figures are medians.

    python benchmarks/without_skew.py           # about two minutes
    python benchmarks/without_skew.py --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from pyspark.sql import DataFrame

KEYS, DAYS, TASKS = 1000, 30, 8


def total(rows: pd.DataFrame) -> pd.DataFrame:
    """The work on a key: a sum."""
    return rows.groupby("key", as_index=False)["amount"].sum()


def counted(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def pairs(
    rows: DataFrame, names: DataFrame, folder: str
) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Spark's own operator and evenkey's, by the name of evenkey's."""
    schema = "key long, amount long"

    def written(df: DataFrame, name: str) -> None:
        df.write.partitionBy("day").mode("overwrite").parquet(str(Path(folder) / name))

    return {
        "groupBy": (
            lambda: counted(rows.groupBy("key").applyInPandas(total, schema)),
            lambda: counted(eks.groupBy(rows, "key").applyInPandas(total, schema)),
        ),
        "join": (
            lambda: counted(rows.join(names, "key")),
            lambda: counted(eks.join(rows, names, "key", workers=TASKS)),
        ),
        "partition_for_write": (
            lambda: written(rows.repartition(TASKS, "day"), "plain"),
            lambda: written(eks.partition_for_write(rows, "day", files=TASKS), "evenkey"),
        ),
    }


def measured(count: int, rounds: int) -> dict[str, Any]:
    """Seconds of both operators of each pair, and their ratio."""
    settings = {
        "spark.sql.shuffle.partitions": str(TASKS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    spark = eks.session("local[2]", settings)
    spark.sparkContext.setLogLevel("ERROR")
    number = F.xxhash64("id")
    rows = spark.range(0, count, 1, TASKS).select(
        F.pmod(number, F.lit(KEYS)).alias("key"),
        F.col("id").alias("amount"),
        F.pmod(number, F.lit(DAYS)).alias("day"),
    )
    rows = rows.persist()
    rows.count()
    names = spark.range(KEYS).select(F.col("id").alias("key"), F.hash("id").alias("name"))
    taken: dict[str, tuple[list[float], list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number_of_round in range(rounds + 1):
            for name, both in pairs(rows, names, folder).items():
                for way, seconds in zip(both, taken.setdefault(name, ([], [])), strict=True):
                    start = time.perf_counter()
                    way()
                    if number_of_round:
                        seconds.append(time.perf_counter() - start)
    spark.stop()
    return {
        name: {
            "spark_seconds": statistics.median(plain),
            "evenkey_seconds": statistics.median(ours),
            "ratio": statistics.median(ours) / statistics.median(plain),
            "least_ratio": min(b / a for a, b in zip(plain, ours, strict=True)),
            "largest_ratio": max(b / a for a, b in zip(plain, ours, strict=True)),
        }
        for name, (plain, ours) in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows")
    parser.add_argument("--rounds", type=int, default=5, help="how often each operator runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    operators = measured(given.rows, given.rounds)
    if given.json:
        outcome = {"rows": given.rows, "rounds": given.rounds, "operators": operators}
        sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
        return
    for name, each in operators.items():
        sys.stdout.write(
            f"{name}: {each['evenkey_seconds']:.2f} s, Spark's own {each['spark_seconds']:.2f} s, "
            f"{each['ratio']:.2f} times ({each['least_ratio']:.2f} to "
            f"{each['largest_ratio']:.2f})\n"
        )


if __name__ == "__main__":
    main()
