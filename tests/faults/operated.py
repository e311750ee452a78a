"""Run every operator once on an odd session: ``python -m tests.faults.operated PLACE HABIT``.

It prints, by operator, whether its rows equal Spark's own, and what the session did.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

ROWS, WORKERS, SLOW_SECONDS = 40_000, 4, 6.0

_GO, _TWICE = "executors come and go", "slow tasks are run twice"
_LEFT_OUT = "executors that fail are left out"
HABITS: dict[str, dict[str, str]] = {
    _GO: {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    },
    _TWICE: {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.25",
        "spark.speculation.minTaskRuntime": "100ms",
    },
    _LEFT_OUT: {"spark.excludeOnFailure.enabled": "true"},
    "none": {},
}


class Marked:
    """Passes the rows on after a delay, and records its process in a directory.

    Parameters
    ----------
    directory
        Receives the records; each Python process belongs to one executor.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass the rows on."""
        (self._directory / f"{os.getppid()}").touch()
        time.sleep(0.4)
        yield from batches


def slowly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass the rows on; the first attempt of one task is slow."""
    context = TaskContext.get()
    assert context is not None
    if context.partitionId() == 1 and context.attemptNumber() == 0:
        time.sleep(SLOW_SECONDS)
    yield from batches


def _attempts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    for batch in slowly(batches):
        attempt = pa.array([context.attemptNumber()] * batch.num_rows, pa.int64())
        yield pa.RecordBatch.from_arrays([attempt], ["id"])


def _totals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby("key", as_index=False, dropna=False).agg(
        rows=("id", "size"), ids=("id", "sum")
    )


def _names(rows: DataFrame) -> DataFrame:
    return rows.select("key").distinct().withColumn("name", F.upper("key"))


def _prices(rows: DataFrame) -> DataFrame:
    return rows.where("id % 100 = 0").select(
        "key", F.col("id").alias("at"), (F.col("id") * 2).alias("price")
    )


def _placed(rows: DataFrame, grouping: str) -> DataFrame:
    routed = operators.route(rows, "key", grouping, WORKERS)
    return operators.place(routed, WORKERS).drop("worker")


def _counted(groups: Any) -> DataFrame:
    sums: DataFrame = groups.agg(F.count("*").alias("rows"), F.sum("id").alias("ids"))
    return sums


_ORDERED = {"number": F.row_number, "total": lambda: F.sum("id"), "before": lambda: F.lag("id")}
_SCHEMA = "key string, rows long, ids long"

OURS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "route and place, planned": lambda rows: _placed(rows, "planned"),
    "route and place, dkg": lambda rows: _placed(rows, "dkg"),
    "route and place, pkg": lambda rows: _placed(rows, "pkg"),
    "partition_for_write": lambda rows: operators.partition_for_write(rows, "key", WORKERS),
    "join": lambda rows: operators.join(rows, _names(rows), "key", "left", WORKERS),
    "full join": lambda rows: operators.join(rows, _names(rows), "key", "full", WORKERS),
    "groupBy, agg": lambda rows: _counted(operators.groupBy(rows, "key", workers=WORKERS)),
    "groupBy, applyInPandas": lambda rows: operators.groupBy(
        rows, "key", workers=WORKERS
    ).applyInPandas(_totals, _SCHEMA),
    "aggregate": lambda rows: operators.aggregate(rows, "key", "dkg", WORKERS),
    "over": lambda rows: operators.over(
        rows, "key", "id", {name: made() for name, made in _ORDERED.items()}, workers=WORKERS
    ),
    "asof_join": lambda rows: operators.asof_join(
        rows, _prices(rows), "key", "id", "at", workers=WORKERS
    ),
}


def plain(rows: DataFrame, name: str) -> DataFrame:
    """Return Spark's own results of the rows."""
    if name in {"join", "full join"}:
        return rows.join(_names(rows), "key", name.partition(" ")[0].replace("join", "left"))
    if name.startswith("groupBy"):
        return _counted(rows.groupBy("key"))
    if name == "aggregate":
        return rows.groupBy("key").count()
    if name == "over":
        window = Window.partitionBy("key").orderBy("id")
        return rows.withColumns({each: made().over(window) for each, made in _ORDERED.items()})
    if name == "asof_join":
        prices = _prices(rows).withColumnRenamed("key", "their key")
        earlier = (F.col("key") == F.col("their key")) & (F.col("at") <= F.col("id"))
        matched = rows.join(prices, earlier, "left").groupBy("id", "key")
        return matched.agg(F.max("at").alias("at"), F.max_by("price", "at").alias("price"))
    return rows


def contents(rows: DataFrame) -> Counter[str]:
    """Collect rows as texts, independent of the order of rows and columns."""
    table = rows.toArrow()
    return Counter(str(row) for row in table.select(sorted(table.column_names)).to_pylist())


def compare(rows: DataFrame) -> dict[str, bool]:
    """Compare each operator's rows with those of Spark's own."""
    return {
        name: contents(work(rows)) == contents(plain(rows, name)) for name, work in OURS.items()
    }


def skewed(spark: SparkSession, rows: int = ROWS, partitions: int = 4) -> DataFrame:
    """Make rows, half of which have one key, and some of which have none."""
    number = F.col("id")
    key = (
        F.when(number % 10 < 5, "hot")
        .when(number % 50 == 5, F.lit(None))
        .otherwise(F.concat(F.lit("cold "), F.pmod(F.xxhash64(number), F.lit(97))))
    )
    return spark.range(0, rows, 1, partitions).select("id", key.alias("key"))


def main(directory: Path, habit: str) -> None:
    """Print the outcome of each operator, and what the session did, as JSON.

    ``SPARK_MASTER`` names the cluster; without it two executors are started here.
    """
    settings = {
        **HABITS[habit],
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    if "SPARK_MASTER" not in os.environ:
        settings |= {"spark.local.dir": str(directory / "local")}
    master = os.environ.get("SPARK_MASTER", "local-cluster[2,1,1024]")
    spark = operators.session(master, settings)
    plain_rows, marks = skewed(spark), directory / "marks"
    marks.mkdir(parents=True, exist_ok=True)
    rows = plain_rows
    if habit == _GO:
        rows = rows.mapInArrow(Marked(marks), rows.schema)
    if habit == _TWICE:
        rows = rows.mapInArrow(slowly, rows.schema)
    ours: dict[str, Counter[str]] = {}
    for number, (name, made) in enumerate(OURS.items()):
        ours[name] = contents(made(rows))
        if habit == _GO and number % 3 == 0:
            time.sleep(4)  # executors go
    every = {name: ours[name] == contents(plain(plain_rows, name)) for name in OURS}
    numbers = spark.range(0, WORKERS, 1, WORKERS)
    attempts = numbers.mapInArrow(_attempts, numbers.schema).collect() if habit == _TWICE else []
    counts = {
        "executors": len(list(marks.iterdir())),
        "second attempts": sum(row["id"] > 0 for row in attempts),
    }
    sys.stdout.write(json.dumps({"equal": every, **counts}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
