"""Write an archive of Spark's loaded classes, with which Java starts faster in tests.

``python -m tools.java_classes build/java-classes.jsa``. Java reads the archive instead of
thousands of entries of jars, and does not verify the classes again. It ignores an archive that was
made by another Java version or from other jars.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkContext

from evenkey import spark as operators
from evenkey.spark.sessions.starting import session
from tools.spark_home import use_home_without_zips

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SILENT = "-Xlog:disable"  # otherwise Java prints each class that cannot be archived


def main(archive: Path) -> None:
    """Run a small job of each kind; when Java exits, it archives the classes that it loaded."""
    partial = archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    use_home_without_zips()  # as in tests: an archive only fits jars with the same paths
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {_SILENT}"
    os.environ["SPARK_SUBMIT_OPTS"] = f"{options} -XX:ArchiveClassesAtExit={partial}"
    with tempfile.TemporaryDirectory() as directory:
        spark = session("local[2]", {"spark.sql.shuffle.partitions": "2"})
        _work(spark, Path(directory))
        gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public name for it
        assert gateway is not None  # noqa: S101 - a session has one
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    if not partial.exists():
        sys.stderr.write(f"{archive}: Java did not write it (disk full?); tests will take longer\n")
        return
    partial.rename(archive)


def _work(spark: SparkSession, directory: Path) -> None:
    rows = spark.range(600).selectExpr(
        "concat('u', id % 7) key", "id % 5 amount", "timestamp_seconds(1577836800 + id) time"
    )
    rows.repartition(2).write.parquet(str(directory / "input"))
    rows.write.json(str(directory / "lines"))
    spark.read.json(str(directory / "lines")).join(rows, "key").groupBy("key").count().collect()
    for grouping in ("dkg", "planned"):
        operators.aggregate(rows, "key", grouping, 3, "sum(column=amount)").toArrow()
    stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
    counted = operators.aggregate(
        stream.parquet(str(directory / "input")),
        *("key", "dkg", 3, "count"),
        time="time",
        window="1 minute",
    )
    query = (
        counted.writeStream.foreachBatch(lambda batch, _: batch.toArrow())
        .option("checkpointLocation", str(directory / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
