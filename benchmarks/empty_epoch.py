"""Where the time of a nearly empty epoch goes, in a run and in a plain query.

Forty epochs of ten messages each, interleaved: `evenkey run` of a generated stream with ten
workers, and a Spark query that counts by window and key with as many shuffle partitions, in append
mode, into files. Figures are the durations that Spark reports for each epoch (``durationMs``),
without the first ten epochs, as medians over all rounds.

    python -m benchmarks.empty_epoch --rounds 3     # about five minutes
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey import PipelineConfig, run
from evenkey.pipeline.runs.driving.run_times import ran
from evenkey.reports.diagnosis.reading.logs import find_logs
from evenkey.spark.sessions.starting import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCHS, MESSAGES, WORKERS, SOURCES, WARM_UP = 40, 10, 10, 5, 10
_JOB = "SparkListenerJobStart"
_PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
PHASES = (
    "latestOffset",
    "getBatch",
    "walCommit",
    "queryPlanning",
    "addBatch",
    "commitOffsets",
    "triggerExecution",
    "jobs",
)


class Log:
    """The event log of the session, in which Spark reports each epoch of every query."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": directory.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        self._directory = directory
        self._reported = 0

    def news(self) -> list[dict[str, int]]:
        """Return the durations of the epochs since the last call, and the number of their jobs."""
        (log,) = find_logs(self._directory).logs
        events = list(log.events({_JOB, _PROGRESS}))
        jobs = Counter(
            (properties["sql.streaming.queryId"], properties["streaming.sql.batchId"])
            for event in events
            if event["Event"] == _JOB
            and "streaming.sql.batchId" in (properties := event["Properties"])
        )
        reports = [event["progress"] for event in events if event["Event"] == _PROGRESS]
        new, self._reported = reports[self._reported :], len(reports)
        return [
            {**each["durationMs"], "jobs": jobs[each["id"], str(each["batchId"])]}
            for each in new
            if ran(each)
        ]


def grouped(directory: Path, grouping: str) -> None:
    """Run evenkey on epochs of a few messages."""
    config = PipelineConfig(
        dataset="uniform(keys=100)",
        messages=EPOCHS * MESSAGES,
        epochs=EPOCHS,
        workers=WORKERS,
        grouping=grouping,
        output=directory / "out",
    )
    report = run(config)
    assert report.metrics.messages == EPOCHS * MESSAGES


def plain(spark: SparkSession, directory: Path) -> None:
    """Count as many messages per epoch with a plain Spark query."""
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", WORKERS)
    query = (
        own.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", MESSAGES)
        .option("numPartitions", SOURCES)
        .load()
        .select((F.col("value") % 100).alias("key"), "timestamp")
        .withWatermark("timestamp", "60 seconds")
        .groupBy(F.window("timestamp", "60 seconds"), "key")
        .count()
        .writeStream.format("parquet")
        .option("path", str(directory / "plain"))
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    while (query.lastProgress or {"batchId": 0})["batchId"] < EPOCHS:
        query.awaitTermination(1)
    query.stop()


def main() -> None:
    """Interleave the runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--groupings", default="kg,dkg,planned")
    options = parser.parse_args()
    found: dict[str, list[dict[str, int]]] = defaultdict(list)
    groupings = options.groupings.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        log = Log(Path(scratch, "events"))
        settings = {**log.settings, "spark.local.dir": f"{scratch}/spark"}
        spark = session("local[10,4]", settings)
        # A query that is stopped in the middle of an epoch logs a long trace.
        spark.sparkContext.setLogLevel("OFF")
        for number in range(options.rounds):
            for way in ("plain", *groupings):
                directory = Path(scratch, f"{way}-{number}")
                directory.mkdir()
                if way == "plain":
                    plain(spark, directory)
                else:
                    grouped(directory, way)
                found[way] += log.news()[WARM_UP:EPOCHS]
        spark.stop()
    table = Table(
        "phase, ms; jobs", *found, *(f"{each} less plain" for each in groupings), box=MARKDOWN
    )
    for phase in PHASES:
        of = {
            way: statistics.median(each.get(phase, 0) for each in epochs)
            for way, epochs in found.items()
        }
        more = [f"{of[each] - of['plain']:.0f}" for each in groupings]
        table.add_row(phase, *(f"{each:.0f}" for each in of.values()), *more)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
