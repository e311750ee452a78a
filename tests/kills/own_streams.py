"""Streaming programs as users write them, to be killed: ``python -m ... DIRECTORY OPTIONS``."""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.joins import Mode, balanced_join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS = "row bigint, user string, amount bigint, at timestamp"
WORKERS = 3


def main() -> None:
    """Read the files in ``in``, one per epoch, and write the results to ``out/rows``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("work", choices=["aggregate", "route", "keyed-join"])
    for name in ("--master", "--grouping", "--aggregator", "--mode"):
        parser.add_argument(name)
    parser.add_argument("--cost", type=float, default=0.0, help="seconds a file")
    given = parser.parse_args()
    spark = eks.session(given.master)
    output = given.directory / "out"
    clicks = (
        spark.readStream.schema(_ROWS)
        .option("maxFilesPerTrigger", 1)
        .json(str(given.directory / "in"))
        .mapInArrow(_Slow(given.cost), _ROWS)
    )
    tables = output / "state" / "tables"
    if given.work == "aggregate":
        rows = eks.aggregate(
            clicks,
            key="user",
            grouping=given.grouping,
            workers=WORKERS,
            aggregator=given.aggregator,
            time="at",
            window="1 minute",
            state=tables,
        )
    elif given.work == "route":
        routed = eks.route(clicks, "user", given.grouping, WORKERS, time="at", state=tables)
        placed = eks.place(routed, workers=WORKERS)
        rows = placed.select("row", "user", "worker", F.spark_partition_id().alias("partition"))
    else:
        rows = balanced_join(
            clicks,
            spark.read.json(str(given.directory / "static.json")),
            on="user",
            how="left",
            workers=WORKERS,
            **vars(Mode.parse(given.mode)),
            state=output / "state" / "join",
            time="at",
        )
    if given.work == "aggregate":
        rows = rows.withColumn("window_start", F.col("window.start")).drop("window")
    _write(rows, output)


class _Slow:
    """A user's own work, in a Python worker."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(self._seconds)
            yield batch


def _write(rows: DataFrame, output: Path) -> None:
    def write(batch: DataFrame, epoch: int) -> None:
        batch.write.mode("overwrite").parquet(str(output / "rows" / f"epoch={epoch}"))

    checkpoint = output / "state" / "checkpoint"
    if not any((checkpoint / "offsets").glob("[0-9]*")):
        # See docs/operations.md: Spark rejects the checkpoint of a query killed at its start.
        shutil.rmtree(checkpoint, ignore_errors=True)
    query = (
        rows.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint)).start()
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main()
