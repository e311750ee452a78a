"""Batches that lose an executor each: ``python -m tests.spark.retried DIRECTORY CASE ...``.

Their rows come from a shuffle, so that repeated tasks see them in another order.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pyspark import TaskContext
from pyspark.sql import functions as F

from evenkey import spark as operators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS, WORKERS = 60_000, 4
_EXECUTORS = 2


class KillOnce:
    """Kills its executor once, after earlier tasks have read the rows that were placed."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass the rows on, then kill the executor if this is the chosen task."""
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == WORKERS // 2 and not self._mark.exists():
            self._mark.touch()
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            executor = int(daemon.rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            signal.pause()


def shuffled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows in a different random order each time."""
    rng = np.random.default_rng()
    for batch in batches:
        yield batch.take(rng.permutation(batch.num_rows))


def _routed(grouping: str) -> Callable[[DataFrame], DataFrame]:
    def placed(rows: DataFrame) -> DataFrame:
        return operators.place(operators.route(rows, "key", grouping, WORKERS), WORKERS)

    return placed


def _names(rows: DataFrame) -> DataFrame:
    """Make names for the hot key, for some other keys, and for some keys that no row has."""
    key = F.when(F.col("id") == 0, "hot").otherwise(F.concat(F.lit("cold "), "id"))
    names = rows.sparkSession.range(0, 150, 1, 2).select(key.alias("key"), F.col("id").alias("n"))
    return names.repartition(2, "n").mapInArrow(shuffled, names.schema)


CASES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "planned": _routed("planned"),
    "sg": _routed("sg"),
    "dkg": _routed("dkg"),
    "pkg": _routed("pkg"),
    "write": lambda rows: operators.partition_for_write(rows, "key", WORKERS),
    "full": lambda rows: operators.join(rows, _names(rows), "key", "full", WORKERS),
    "left": lambda rows: operators.join(rows, _names(rows), "key", "left", WORKERS),
    "Spark's repartition": lambda rows: rows.repartition(WORKERS),
    "Spark's repartition by key": lambda rows: rows.repartition(WORKERS, "key"),
    "Spark's full join": lambda rows: rows.join(_names(rows), "key", "full"),
}


def _wait_for_executors(spark: SparkSession) -> None:
    """Wait until an executor has replaced the one that was killed."""
    context = spark.sparkContext._jsc.sc()
    # The driver is in this status, too.
    while context.getExecutorMemoryStatus().size() <= _EXECUTORS:
        time.sleep(0.1)


def main(directory: Path, cases: list[str]) -> None:
    """Print the number of result rows, and of distinct row ids, of each case as JSON."""
    settings = {
        # Not `WORKERS`, or evenkey would leave joins to Spark: two slots are balanced without it.
        "spark.sql.shuffle.partitions": f"{WORKERS + 1}",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        # A task would try for 15 seconds to read rows from the executor that was killed.
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "1s",
        "spark.local.dir": str(directory / "local"),
    }
    spark = operators.session(f"local-cluster[{_EXECUTORS},1,1024]", settings)
    key = (
        F.when(F.col("id") % 10 < 4, "hot")
        .when(F.col("id") % 10 < 6, F.lit(None))
        .otherwise(F.concat(F.lit("cold "), F.col("id") % 97))
    )
    rows = spark.range(0, ROWS, 1, 4).withColumn("key", key).repartition(4, "id")
    found = {}
    for case in cases:
        _wait_for_executors(spark)
        placed = CASES[case](rows.mapInArrow(shuffled, rows.schema))
        # No shuffle follows: the tasks that read the rows produce the job's result, which stays.
        read = placed.mapInArrow(KillOnce(directory / f"killed {case}"), placed.schema)
        ids = [row["id"] for row in read.select("id").collect() if row["id"] is not None]
        found[case] = [len(ids), len(set(ids))]
    sys.stdout.write(f"{json.dumps(found)}\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
