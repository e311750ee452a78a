"""A program with a stream whose keys have state: ``main DIRECTORY`` reads ``DIRECTORY/input``.

It prints the number of rows of each user, and which evenkey its workers have installed, as JSON.
"""

from __future__ import annotations

import json
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = 2
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": str(WORKERS),
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state"
    ".RocksDBStateStoreProvider",
    "spark.ui.enabled": "false",
}


class Seen(StatefulProcessor):
    """Counts the rows of a user in state."""

    def init(self, handle: Any) -> None:
        self._seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
        before = self._seen.get()[0] if self._seen.exists() else 0
        seen = before + sum(map(len, rows))
        self._seen.update((seen,))
        yield pd.DataFrame({"user": [key[0]], "seen": [seen]})

    def close(self) -> None:
        pass


def installed(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Return, in a worker, which evenkey it would find by itself; "" for none."""
    for _ in batches:
        found = PathFinder.find_spec("evenkey")
        yield pd.DataFrame({"origin": ["" if found is None else str(found.origin)]})


def main(directory: str) -> None:
    """Run the stream until its input is read, and print the result."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    builder = SparkSession.builder.master(f"local[{WORKERS}]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    origins = spark.range(1).mapInPandas(installed, "origin string").collect()
    rows = spark.readStream.schema("user string").option("maxFilesPerTrigger", 1)
    grouped = eks.groupBy(
        rows.parquet(f"{directory}/input"), "user", workers=WORKERS, state=f"{directory}/plans"
    )
    seen = grouped.transformWithStateInPandas(Seen(), "user string, seen long", "Append", "None")
    query = (
        seen.writeStream.format("parquet")
        .option("path", f"{directory}/out")
        .option("checkpointLocation", f"{directory}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    last = spark.read.parquet(f"{directory}/out").groupBy("user").agg(F.max("seen").alias("seen"))
    counts = {row["user"]: row["seen"] for row in last.collect()}
    sys.stdout.write(f"{json.dumps({'counts': counts, 'installed': origins})}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
