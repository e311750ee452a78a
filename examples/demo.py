"""A job that a hot key slows down, and its balanced version: python examples/demo.py [DIRECTORY].

Each row costs 2 ms of sleep, like a call of a service or a device, so that all workers can run at
the same time on few cores too. The program measures all figures while it runs.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

import evenkey as ek
from evenkey import spark as eks
from evenkey.aggregators import Fold
from evenkey.reports.diagnosis import write_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

WORKERS = 8
ROWS = 5_000
SECONDS = 0.002
SCHEMA = "user string, score bigint"


def score(so_far: int, amount: int) -> int:
    """Do the work on one row, such as a call of a model."""
    time.sleep(SECONDS)
    return so_far + amount


def of_a_user(rows: pd.DataFrame) -> pd.DataFrame:
    """Do the work on all rows of a user, as a function for `applyInPandas`."""
    total = 0
    for amount in rows["amount"]:
        total = score(total, amount)
    return pd.DataFrame({"user": [rows["user"].iloc[0]], "score": [total]})


@dataclass(frozen=True)
class Score(Fold):
    """The same work for `eks.aggregate`: how to add one row, and how to merge two parts."""

    columns = ("amount",)
    result = pa.schema([("score", pa.int64())])
    state_type = "bigint"

    def zero(self) -> int:
        """Return the state before the first row."""
        return 0

    def add(self, state: int, message: tuple[Any, ...]) -> int:
        """Add a row to a state."""
        _user, amount = message
        return score(state, amount)

    def combine(self, first: int, second: int) -> int:
        """Merge the states of a user from two workers."""
        return first + second

    def answer(self, state: int) -> dict[str, int]:
        """Return the result of a user."""
        return {"score": state}


def skewed(df: DataFrame) -> DataFrame:
    """Group as Spark does: all rows of a user are in one task."""
    return df.groupBy("user").applyInPandas(of_a_user, SCHEMA)


def balanced(df: DataFrame) -> DataFrame:
    """Group by ``planned``: the rows of the hot user are on several workers."""
    return eks.aggregate(df, "user", "planned", WORKERS, aggregator=Score())


def main(directory: Path, rows: int = ROWS) -> Path:
    """Run both, print their times, and return the page of the diagnosis."""
    shutil.rmtree(directory, ignore_errors=True)
    events = directory.resolve() / "events"
    events.mkdir(parents=True)
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.shuffle.partitions": str(WORKERS),
        # Spark would put so little data into one task, and the skewed job would be slower still.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.ui.enabled": "false",
    }
    print("Starting Spark ...", flush=True)
    spark = eks.session(f"local[{WORKERS}]", settings)
    user = F.expr("if(id % 5 < 4, 'ann', 'user ' || id % 499)").alias("user")
    clicks = spark.range(0, rows, 1, 4).select(user, (F.col("id") % 7).alias("amount"))
    for job in (skewed, balanced):
        job(clicks.limit(20 * WORKERS)).collect()  # starts Python, so that no figure includes it
    print(f"\n{rows:,} clicks, 80 % by one user; {1000 * SECONDS:.0f} ms of sleep per click")
    slow, first = _timed(skewed, clicks)
    print(f"\n  groupBy(user).applyInPandas(...)   {slow:5.1f} s")
    fast, second = _timed(balanced, clicks)
    print(f"  eks.aggregate(df, user, planned)   {fast:5.1f} s, counting the keys included")
    if first != second:
        message = "the two jobs gave different results"
        raise AssertionError(message)
    print(f"\n{slow / fast:.1f}x faster, and the same {len(first)} results.")
    _show_loads(clicks)
    spark.stop()
    print("\nWhat Spark's event log says of the two jobs:\n")
    diagnosis = ek.diagnose(events)
    for stage in diagnosis.named:
        print(f"  slowed down by skewed keys: {', '.join(stage.keys)}; the line to change:")
        print(f"    {stage.changes[0].remedy.code}")
    return write_page(diagnosis, directory / "index.html")


def _timed(job: Callable[[DataFrame], DataFrame], df: DataFrame) -> tuple[float, list[Any]]:
    begun = time.perf_counter()
    rows = job(df).collect()
    return time.perf_counter() - begun, sorted((row["user"], row["score"]) for row in rows)


def _show_loads(df: DataFrame) -> None:
    """Draw the rows of each worker by key and under ``planned``, the most loaded worker first."""
    print("\nRows of each worker, most loaded first:")
    for name, grouping in (("by key", "kg"), ("planned", "planned")):
        placed = eks.route(df, "user", grouping, WORKERS).groupBy("worker").count().collect()
        held = Counter({row["worker"]: row["count"] for row in placed})
        print(f"  {name}")
        for worker in sorted(range(WORKERS), key=lambda each: -held[each]):
            print(f"    {'#' * round(60 * held[worker] / df.count()):<61}{held[worker]:>6,}")


if __name__ == "__main__":
    given = sys.argv[1:]
    page = main(Path(given[0]) if given else Path("build/demo"))
    print(f"\nOpen {page.resolve().as_uri()}")
