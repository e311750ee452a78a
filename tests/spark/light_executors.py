"""A user's program whose executors have no evenkey: ``main MASTER DIRECTORY PHASE``.

In phase ``first`` it compares operators with Spark's own; phase ``second`` continues the streams,
after more input has come, and phase ``changed`` does so and compares batches again. Phase
``compiled`` uses groupings that need a compiler on executors, and ``state`` only counts users.
`command` starts it without ``PYTHONPATH``, which executors would get.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

import evenkey
from evenkey import spark as eks
from tests.spark.over_connect import FILES, WORKERS, differing, drive, stream, write_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

_COUNTED = "user string, rows long, amount long"
_SETTINGS = {
    "spark.executor.cores": "1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": str(WORKERS),
    "spark.ui.enabled": "false",
}
_OF_SESSION = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state"
    ".RocksDBStateStoreProvider",
}


def command(master: str, directory: Path, phase: str) -> tuple[list[str], dict[str, str]]:
    """Return the program and its environment variables, without those for Python's path."""
    root = Path(__file__).parents[2]
    paths = [str(Path(evenkey.__file__).parents[1]), str(root)]
    program = (
        f"import sys; sys.path[:0] = {paths}; import {__name__} as own; own.main(*sys.argv[1:])"
    )
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return [sys.executable, "-c", program, master, str(directory), phase], kept


def counted(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the number and the sum of a user's rows."""
    found = {"user": key[0], "rows": len(rows), "amount": int(rows["amount"].sum())}
    return pd.DataFrame([found])


def merged(key: tuple[Any, ...], parts: pd.DataFrame) -> pd.DataFrame:
    """Merge results of `counted`."""
    found = {"user": key[0], "rows": parts["rows"].sum(), "amount": parts["amount"].sum()}
    return pd.DataFrame([found])


def both(key: tuple[Any, ...], left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a user's rows on both sides."""
    return pd.DataFrame([{"user": key[0], "rows": len(left), "amount": len(right)}])


class Seen(StatefulProcessor):
    """Counts the rows of a user in state."""

    def init(self, handle: Any) -> None:
        self._seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
        before = self._seen.get()[0] if self._seen.exists() else 0
        seen = before + sum(len(piece) for piece in rows)
        self._seen.update((seen,))
        yield pd.DataFrame([{"user": key[0], "seen": seen}])

    def close(self) -> None:
        pass


def found_by(package: str) -> Any:
    """Return a task that returns its Python, and where it finds a package by itself."""

    def find(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _ in batches:
            # Not `find_spec` of `importlib.util`, which returns what the worker has imported.
            found = PathFinder.find_spec(package)
            origin = "" if found is None else str(found.origin)
            yield pd.DataFrame([{"python": sys.executable, "origin": origin}])

    return find


def on_executors(spark: SparkSession, package: str) -> list[list[str]]:
    """Return the Pythons of executors, each with the file of a package, or "" without it."""
    tasks = spark.range(0, 4, 1, 4)
    found = tasks.mapInPandas(found_by(package), "python string, origin string")
    return sorted([*row] for row in found.distinct().collect())


def started(master: str) -> SparkSession:
    """Return a session, classic or over Connect."""
    if master.startswith("sc://"):
        spark = SparkSession.builder.remote(master).getOrCreate()
    else:
        builder = SparkSession.builder.master(master)
        given = json.loads(os.environ.get("SETTINGS", "{}"))
        for name, value in {**_SETTINGS, **given}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
    for name, value in _OF_SESSION.items():
        spark.conf.set(name, value)
    return spark


def batches(rows: DataFrame, owners: DataFrame, directory: Path) -> dict[str, int]:
    """Run operators on a batch; return the number of rows that differ from Spark's own."""
    found = {}
    plain = rows.groupBy("user").applyInPandas(counted, _COUNTED)
    sums = [F.sum("rows").alias("rows"), F.sum("amount").alias("amount")]
    for name, merge in (("whole", None), ("merged", merged), ("added", sums)):
        grouped = eks.groupBy(rows, "user", workers=WORKERS)
        found[name] = differing(grouped.applyInPandas(counted, _COUNTED, merge=merge), plain)
    sides = eks.groupBy(rows, "user", workers=WORKERS), eks.groupBy(owners, "user")
    cogrouped = rows.groupBy("user").cogroup(owners.groupBy("user"))
    found["cogrouped"] = differing(
        sides[0].cogroup(sides[1]).applyInPandas(both, _COUNTED),
        cogrouped.applyInPandas(both, _COUNTED),
    )
    joined = eks.join(rows, owners, "user", workers=WORKERS, state=directory / "state" / "batch")
    found["joined"] = differing(joined, rows.join(owners, "user"))
    written = eks.partition_for_write(rows, "user", files=8)
    written.write.partitionBy("user").parquet(str(directory / "written"))
    read = rows.sparkSession.read.schema(rows.schema).parquet(str(directory / "written"))
    found["written"] = differing(read, rows)
    routed = eks.place(eks.route(rows, "user", "planned", WORKERS), WORKERS)
    found["placed"] = differing(routed.drop("worker"), rows)
    found["misplaced"] = routed.where("worker != spark_partition_id()").count()
    total = eks.aggregate(rows, "user", "planned", WORKERS, evenkey.Sum("amount"))
    expected = rows.groupBy("user").agg(F.sum("amount").alias("sum"))
    found["aggregated"] = differing(total, expected)
    return found


def seen(grouped: Any, directory: Path) -> DataFrame:
    """Run a stream with state until its input is read; return the number of rows of each user."""
    counts = grouped.transformWithStateInPandas(
        Seen(), outputStructType="user string, seen long", outputMode="Append", timeMode="None"
    )
    rows: DataFrame = drive(counts, directory, "seen")
    return rows.groupBy("user").agg(F.max("seen").alias("count"))


def streams(rows: DataFrame, owners: DataFrame, directory: Path) -> dict[str, int]:
    """Run streams until their input is read; return the number of rows that differ so far."""
    spark, state = rows.sparkSession, directory / "state"
    found = {}
    source = stream(spark, directory / "input")
    if not (state / "fitted").exists():
        eks.fit(rows, "user", "whole", WORKERS, state=state / "fitted")
    grouped = eks.groupBy(
        source.select("user", "amount"), "user", workers=WORKERS, state=state / "fitted"
    )
    found["with state"] = differing(seen(grouped, directory), rows.groupBy("user").count())
    joined = eks.join(source, owners, "user", workers=WORKERS, state=state / "join")
    at_once = rows.withColumn("at", F.timestamp_seconds("seconds")).join(owners, "user")
    found["joined stream"] = differing(drive(joined, directory, "joined"), at_once)
    routed = eks.route(source, "user", "planned", WORKERS, time="at", state=state / "route")
    at_once = rows.withColumn("at", F.timestamp_seconds("seconds"))
    found["routed stream"] = differing(drive(routed, directory, "routed").drop("worker"), at_once)
    total = eks.aggregate(
        source,
        "user",
        "kg",  # others choose the worker of each row, which needs a compiler
        WORKERS,
        evenkey.Sum("amount"),
        time="at",
        window="10 seconds",
        max_ahead=None,
        state=state / "aggregate",
        position="amount",
    )
    ours = drive(total, directory, "aggregated").select("user", "window.start", "sum")
    window = F.window("at", "10 seconds")["start"].alias("start")
    plain = at_once.groupBy("user", window).agg(F.sum("amount").alias("sum"))
    found["aggregated stream"] = ours.exceptAll(plain.select(ours.columns)).count()
    found["windows missing"] = int(ours.select("start").distinct().count() == 0)
    return found


def compared(spark: SparkSession, directory: Path, phase: str) -> dict[str, int]:
    """Run all operators on one half of the input, or the streams on the other half."""
    begin, end = (0, FILES // 2) if phase == "first" else (FILES // 2, FILES)
    (directory / "input").mkdir(exist_ok=True)
    if phase == "first":
        write_input(directory / "all")
    for number in range(begin, end):
        shutil.copy2(directory / "all" / f"part-{number}.parquet", directory / "input")
    rows = spark.read.parquet(str(directory / "input"))
    owners = spark.createDataFrame([("hot", 1), ("cold 7", 2), ("cold 7", 3)], "user string, n int")
    found = {} if phase == "second" else batches(rows, owners, directory / phase)
    return found | streams(rows, owners, directory)


def compiled(spark: SparkSession) -> dict[str, Any]:
    """Route a batch with groupings that decide row by row; return the workers of a hot key."""
    rows = spark.range(0, 4000, 1, 4).selectExpr("if(id % 4 < 2, 'hot', 'k' || id) as key", "id")
    found: dict[str, Any] = {"numba": on_executors(spark, "numba")}
    for grouping in ("pkg", "dchoices"):
        routed = eks.route(rows, "key", grouping, workers=4)
        counts = routed.where("key = 'hot'").groupBy("worker").count().collect()
        found[grouping] = sorted(row["count"] for row in counts)
    return found


def main(master: str, directory: str, phase: str) -> None:
    """Print what the executors have, and what differs from Spark's own, as JSON."""
    # Executors do not have the program's modules.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark = started(master)
    result: dict[str, Any] = {"executors": on_executors(spark, "evenkey")}
    if phase == "compiled":
        result |= compiled(spark)
    elif phase == "state":
        users = stream(spark, Path(directory, "input")).select("user")
        grouped = eks.groupBy(users, "user", workers=WORKERS, state=Path(directory, "plans"))
        result["counts"] = {
            row["user"]: row["count"] for row in seen(grouped, Path(directory)).collect()
        }
    else:
        result["differing"] = compared(spark, Path(directory), phase)
    sys.stdout.write(f"{json.dumps(result)}\n")
    if not master.startswith("sc://"):
        spark.stop()
