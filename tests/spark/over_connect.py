"""A user's own program over Spark Connect: ``python -m tests.spark.over_connect URL PLACE PART``.

The client must not touch the state: only processes of the server read and write its files.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from evenkey import Sum
from evenkey import applications as app
from evenkey import spark as operators
from evenkey.core.stores import LocalStore
from evenkey.joins import balanced_join, refresh

WORKERS, ROWS, FILES = 5, 4000, 4
SPEED = 100
"""Rows per second; an epoch ends before a new key is old enough for its pool to grow."""


class TouchedError(AssertionError):
    """The client has accessed the state."""


def refuse(*_args: object, **_named: object) -> None:
    """Replace a method that the client must not call."""
    message = "the client touched the state"
    raise TouchedError(message)


def write_input(directory: Path) -> None:
    """Write one file per epoch: 60 % of the rows have one key, and times increase."""
    directory.mkdir(parents=True)
    for number in range(FILES):
        at = [ROWS * number + row for row in range(ROWS)]
        keys = ["hot" if n % 10 < 6 else f"cold {n * 7919 % 300}" for n in at]
        table = pa.table({"user": keys, "amount": at, "seconds": [n / SPEED for n in at]})
        pq.write_table(table, directory / f"part-{number}.parquet")
        os.utime(directory / f"part-{number}.parquet", (number + 1, number + 1))


def stream(spark: SparkSession, directory: Path):
    """Return a stream that reads the input, one file per epoch."""
    rows = (
        spark.readStream.schema("user string, amount bigint, seconds double")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(directory))
    )
    return rows.withColumn("at", F.timestamp_seconds("seconds"))


def drive(df, directory: Path, name: str):
    """Run a query until its input is read; return its rows."""
    query = (
        df.writeStream.format("parquet")
        .option("path", str(directory / f"{name}-out"))
        .option("checkpointLocation", str(directory / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    error = query.exception()
    if error:
        raise error
    time.sleep(1)  # events of a query come a little later
    return df.sparkSession.read.parquet(str(directory / f"{name}-out"))


def peaks(rows, place: str = "seconds") -> list[float]:
    """Return the max/mean load of each epoch."""
    epoch = F.floor(F.col(place) * SPEED / ROWS)
    counts = rows.groupBy(epoch.alias("epoch"), "worker").count()
    top = counts.groupBy("epoch").agg(F.max("count").alias("most")).sort("epoch").collect()
    return [row["most"] / (ROWS / WORKERS) for row in top]


def left_of_queries() -> int:
    """Count the temporary routing tables that queries left; wait until there are none."""
    deadline = time.monotonic() + 240
    while left := list(Path(tempfile.gettempdir()).glob("evenkey-*/tables-*")):
        if time.monotonic() > deadline:
            break
        time.sleep(0.5)
    return len(left)


def differing(found, expected) -> int:
    """Count the rows that only one of two DataFrames has."""
    expected = expected.select(found.columns)
    return int(found.exceptAll(expected).count() + expected.exceptAll(found).count())


def refusals(spark: SparkSession, batch) -> dict[str, list[str]]:
    """Return the lines of the error for an invalid worker, with and without the server's trace."""
    found = {}
    for name, traces in (("refused", "true"), ("refused in short", "false")):
        spark.conf.set("spark.sql.connect.serverStacktrace.enabled", traces)
        try:
            operators.place(batch.selectExpr("user", "7 as worker"), WORKERS).count()
        except PySparkException as error:
            found[name] = str(error).splitlines()
    return found


def learning(spark: SparkSession, batch, source, directory: Path) -> dict[str, object]:
    """Run what learns, aggregates and joins."""
    state = directory / "state"
    seen: dict[str, object] = {}
    learned = operators.route(source, "user", "dkg", WORKERS, time="at", state=state / "dkg")
    seen["dkg"] = peaks(drive(learned, directory, "dkg"))
    seen["tables"] = len(list((state / "dkg").rglob("table-*.npz")))
    seen |= refusals(spark, batch)
    counts = operators.aggregate(
        source,
        "user",
        "planned",
        WORKERS,
        Sum("amount"),
        time="at",
        window="10 seconds",
        max_ahead=None,
        state=state / "aggregate",
        position="amount",
    )
    sums = drive(counts, directory, "aggregate")
    closed = sums.agg(F.max(F.unix_timestamp("window.end"))).collect()[0][0]
    seen["sums"] = sums.agg(F.sum("sum")).collect()[0][0]
    seen["expected"] = sum(range(int(closed * SPEED)))
    seen["plans"] = len(list((state / "aggregate").rglob("table-*.npz")))
    owners = spark.createDataFrame([("hot", 1), ("cold 7", 2), ("cold 7", 3)], "user string, n int")
    options: dict[str, Any] = {"on": "user", "workers": WORKERS, "state": state / "join"}
    joined = balanced_join(source, owners, time="at", **options)
    at_once = batch.withColumn("at", F.timestamp_seconds("seconds"))
    seen["joined"] = differing(drive(joined, directory, "join"), at_once.join(owners, "user"))
    fewer = owners.where("n < 3")
    seen["version"] = refresh(fewer, state / "join")
    seen["refreshed"] = differing(balanced_join(batch, fewer, **options), batch.join(fewer, "user"))
    temporary = balanced_join(batch, owners, "user", workers=WORKERS)
    seen["temporary join"] = differing(temporary, batch.join(owners, "user"))
    rows = batch.selectExpr(
        "user", "amount % 100 as n"
    ).distinct()  # costly, so no plan is made yet
    grouped = operators.groupBy(rows, "user", workers=2, state=state / "groups")
    seen["users"] = grouped.applyInPandas(lambda pdf: pdf[:1][["user"]], "user string").count()
    top = app.heavy_hitters(batch, "user", k=1, workers=2).collect()[0]
    seen["top"] = [top["user"], top["count"]]
    named = "if(amount % 2 = 0, 'good day sun', 'bad rain cold') as text"
    labelled = batch.selectExpr("if(amount % 2 = 0, 'a', 'b') as label", named).limit(400)
    model = app.train(labelled, app.NaiveBayes(), grouping="pkg", workers=2)
    right = app.classify(labelled, model).where("label = prediction").count()
    seen["right"] = right
    return seen


def following(spark: SparkSession, batch, source, directory: Path) -> dict[str, object]:
    """Run what follows a fitted plan, or has no state of its own."""
    del spark
    state = directory / "state"
    seen: dict[str, object] = {}
    plan = operators.fit(batch, "user", "planned", WORKERS, state=state / "fit")
    seen["fit"] = float(plan.loads.max() / plan.loads.mean())
    fitted = operators.route(source, "user", "planned", WORKERS, state=state / "fit")
    seen["fitted"] = peaks(drive(fitted, directory, "fitted"))
    greedy = operators.route(batch, "user", "off-greedy", WORKERS, state=state / "greedy")
    seen["greedy"] = greedy.count()
    temporary = operators.route(source, "user", "dkg", WORKERS, time="at")
    seen["temporary"] = drive(temporary, directory, "temporary").count()
    seen["left"] = left_of_queries()
    observer = operators.LoadObserver(WORKERS)
    observed = operators.observe(operators.route(source, "user", "pkg", WORKERS), observer)
    drive(observed, directory, "observed")
    seen["observed"] = int(observer.loads.sum())
    placed = operators.place(operators.route(batch, "user", "dkg", WORKERS), WORKERS)
    seen["placed"] = placed.count()
    return seen


PARTS = {"learning": learning, "following": following}


def main(url: str, directory: Path, part: str) -> None:
    """Print the results of a part of the operators, as JSON."""
    write_input(directory / "input")
    spark = SparkSession.builder.remote(url).getOrCreate()
    # Tasks run in other processes, where these methods are not replaced.
    for name in ("read", "put", "create", "names", "delete"):
        setattr(LocalStore, name, refuse)
    batch = spark.read.parquet(str(directory / "input"))
    source = stream(spark, directory / "input")
    seen = PARTS[part](spark, batch, source, directory)
    # Like users' programs, it ends without stopping its session.
    sys.stdout.write(f"{json.dumps(seen)}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
