"""A batch that loses an executor behind ``route``: ``python -m tests.spark.retried DIRECTORY``.

Its rows come out of a shuffle, so that tasks which route again see them in another order.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql import functions as F

from evenkey import spark as operators

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

ROWS, WORKERS = 200_000, 4


class KillOnce:
    """Kills the executor that it runs on, when other tasks have read what was routed first."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the rows on."""
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == WORKERS // 2 and not self._mark.exists():
            self._mark.touch()
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            executor = int(daemon.rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            signal.pause()


def main(directory: Path) -> None:
    """Print how many rows and numbers of rows came out, as JSON."""
    settings = {"spark.sql.shuffle.partitions": "4", "spark.local.dir": str(directory / "local")}
    spark = operators.session("local-cluster[2,1,1024]", settings)
    key = F.when(F.col("id") % 10 < 4, "hot").otherwise(F.concat(F.lit("cold "), F.col("id") % 97))
    rows = spark.range(0, ROWS, 1, 4).withColumn("key", key).repartition(4, "id")
    placed = operators.place(operators.route(rows, "key", "pkg", WORKERS), WORKERS)
    read = placed.mapInArrow(KillOnce(directory / "killed"), placed.schema)
    totals = read.groupBy("id").count().agg(F.sum("count"), F.count("*")).collect()[0]
    sys.stdout.write(f"{json.dumps(list(totals))}\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
