"""Every operator once on an odd session: ``python -m tests.faults.operated PLACE HABIT``.

It prints, by operator, whether its rows are those of Spark's own, and what the session did.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql import functions as F

from evenkey import spark as operators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS, WORKERS, SLOW_SECONDS = 40_000, 4, 6.0

HABITS: dict[str, dict[str, str]] = {
    "executors come and go": {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    },
    "slow tasks are run twice": {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.25",
        "spark.speculation.minTaskRuntime": "100ms",
    },
    "none": {},
}


def slowly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give the rows on; the first attempt of one task takes its time."""
    context = TaskContext.get()
    assert context is not None
    if context.partitionId() == 1 and context.attemptNumber() == 0:
        time.sleep(SLOW_SECONDS)
    yield from batches


def _paused(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
    time.sleep(1.5)


def _totals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby("key", as_index=False, dropna=False).agg(
        rows=("id", "size"), ids=("id", "sum")
    )


def _names(rows: DataFrame) -> DataFrame:
    return rows.select("key").distinct().withColumn("name", F.upper("key"))


def _placed(rows: DataFrame, grouping: str) -> DataFrame:
    routed = operators.route(rows, "key", grouping, WORKERS)
    return operators.place(routed, WORKERS).drop("worker")


def _counted(groups: Any) -> DataFrame:
    sums: DataFrame = groups.agg(F.count("*").alias("rows"), F.sum("id").alias("ids"))
    return sums


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
}


def plain(rows: DataFrame, name: str) -> DataFrame:
    """Give what Spark itself makes of the rows."""
    if name in {"join", "full join"}:
        return rows.join(_names(rows), "key", name.partition(" ")[0].replace("join", "left"))
    if name.startswith("groupBy"):
        return _counted(rows.groupBy("key"))
    if name == "aggregate":
        return rows.groupBy("key").count()
    return rows


def contents(rows: DataFrame) -> Counter[str]:
    """Collect rows as texts, whatever their order and the order of their columns."""
    names = sorted(rows.columns)
    return Counter(str(row) for row in rows.select(*names).toArrow().to_pylist())


def compare(rows: DataFrame) -> dict[str, bool]:
    """Hold each operator's rows against those of Spark's own."""
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


def _attempts(spark: SparkSession) -> dict[str, Any]:
    jvm: Any = spark.sparkContext._jsc.sc()
    store = jvm.statusStore()
    stages = store.stageList(None)
    speculative = killed = 0
    for number in range(stages.size()):
        stage = stages.apply(number)
        killed += stage.numKilledTasks()
        summary = store.speculationSummary(stage.stageId(), stage.attemptId())
        if summary.isDefined():
            speculative += summary.get().numTasks()
    executors = store.executorList(False)  # noqa: FBT003 - Java takes no names
    return {"speculative": speculative, "killed": killed, "executors": executors.size()}


def main(directory: Path, habit: str) -> None:
    """Print what came of each operator, and the session's own books, as JSON."""
    settings = {
        **HABITS[habit],
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.local.dir": str(directory / "local"),
    }
    spark = operators.session("local-cluster[2,1,1024]", settings)
    rows = skewed(spark)
    every: dict[str, bool] = {}
    works = {"slow tasks are run twice": slowly, "executors come and go": _paused}
    if habit in works:
        rows = rows.mapInArrow(works[habit], rows.schema)
    for name, made in OURS.items():
        every[name] = contents(made(rows)) == contents(plain(rows, name))
        if "go" in habit:
            time.sleep(3)  # executors go
    sys.stdout.write(json.dumps({"equal": every, **_attempts(spark)}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
