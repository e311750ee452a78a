"""Functions that tests run in a session on a driver's host; each returns JSON values."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

import evenkey
from evenkey import spark as eks
from evenkey.joins import SpatialMatch, balanced_join
from evenkey.pipeline.runs.input.sources import Reading, stream_of
from evenkey.spark import aggregate, place, route, store_of
from tests.runs import killing
from tests.stores.conformance import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.stores import Store

_ROWS = 20_000
_EPOCHS_TO_WAIT = 600.0


def clicks(spark: SparkSession) -> DataFrame:
    """Make rows; 80 % of them have one key."""
    return spark.range(0, _ROWS, 1, 4).selectExpr(
        "if(id % 10 < 8, 'alice', 'user ' || id % 50) as user", "id % 7 as amount"
    )


def batch(spark: SparkSession, grouping: str) -> dict[str, Any]:
    """Route, place and aggregate a batch; return the results and those of Spark itself."""
    rows = clicks(spark)
    routed = place(route(rows, "user", grouping, 4), 4)
    held = routed.selectExpr("worker", "spark_partition_id() as partition").distinct().collect()
    ours = aggregate(rows, "user", grouping, 4, evenkey.Sum("amount"))
    return {
        "rows": routed.count(),
        "expected rows": rows.count(),
        "partitions of a worker": sorted((row[0], row[1]) for row in held),
        "sums": sorted((row[0], row[1]) for row in ours.collect()),
        "expected sums": sorted(
            (row[0], row[1]) for row in rows.groupBy("user").sum("amount").collect()
        ),
    }


def conformance_here(spark: SparkSession, at: str) -> list[str]:
    """Run the checks of stores on the driver."""
    for check in CHECKS:
        check(store_of(spark, f"{at}/{check.__name__}"))
    return [socket.gethostname()]


def conformance_in_tasks(spark: SparkSession, at: str) -> list[str]:
    """Run each check of stores in its own task; return the hosts of the tasks."""
    store = store_of(spark, at)

    def hold(batches: Any) -> Any:
        for each in batches:
            for number in each["id"]:
                check = CHECKS[number]
                check(store.under(check.__name__))
                each["host"] = socket.gethostname()
            yield each

    tasks = spark.range(0, len(CHECKS), 1, len(CHECKS))
    held = tasks.mapInPandas(hold, "id long, host string").collect()
    assert len(held) == len(CHECKS)
    return sorted({row["host"] for row in held})


def create_from_all_hosts(spark: SparkSession, at: str, objects: int) -> dict[str, Any]:
    """Let tasks on all hosts create the same objects, and count the successful creations."""
    store = store_of(spark, at)
    tasks = spark.range(0, 4, 1, 4).mapInPandas(
        lambda batches: _create(store, objects, batches), "host string, name string, content string"
    )
    made = tasks.collect()
    kept = {name: store.read(name).decode() for name in store.names("claims")}
    return {
        "created": len(made),
        "kept": sum(kept.get(row["name"]) == row["content"] for row in made),
        "hosts": sorted({row["host"] for row in made}),
        "objects": len(kept),
    }


def _create(store: Store, objects: int, batches: Any) -> Any:
    import pandas as pd

    host = socket.gethostname()
    # All slots begin at the same moment, as far as the hosts' clocks agree.
    time.sleep(5 - time.time() % 5)
    for batch in batches:
        for task in batch["id"]:
            for number in range(objects):
                name, content = f"claims/{number}", f"{host} {task} {number}"
                if store.create(name, content.encode()):
                    yield pd.DataFrame([[host, name, content]], columns=["host", "name", "content"])


def checkpoint(spark: SparkSession, at: str) -> dict[str, int]:
    """Run two queries with Spark's checkpoint in the store; the second continues the first."""
    ends: list[int] = []
    for _ in range(2):
        counted = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", 100)
            .load()
            .groupBy("value")
            .count()
        )
        query = (
            counted.writeStream.outputMode("update")
            .format("noop")
            .option("checkpointLocation", at)
            .start()
        )
        begin = ends[-1] if ends else -1
        deadline = time.monotonic() + _EPOCHS_TO_WAIT
        while query.isActive and _last_epoch(query) < begin + 3:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        first = query.recentProgress[0]["batchId"]
        assert first >= begin, "the second query began anew"
        ends.append(_last_epoch(query))
        query.stop()
    return {"first": ends[0], "second": ends[1]}


def _last_epoch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else progress["batchId"]


def run_results(spark: SparkSession, output: str, workers: int) -> dict[str, Any]:
    """Return the sums of a run's results by key, and max/mean of each epoch.

    Spark's own reader reads the results.
    """
    rows = spark.read.parquet(f"{output}/results").groupBy("key").sum("count").collect()
    return {
        "counts": {row[0]: row[1] for row in rows},
        "max/mean": killing.max_over_means(store_of(spark, output), workers),
    }


def _stream(spark: SparkSession, rows: int = 4000) -> DataFrame:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    return (
        source.option("numPartitions", 4)
        .load()
        .selectExpr(
            "if(value % 10 < 8, 'alice', 'user ' || value % 50) as user",
            "value",
            "timestamp_seconds(value div 100) as at",
        )
    )


def _wait(query: StreamingQuery, epochs: int) -> None:
    deadline = time.monotonic() + _EPOCHS_TO_WAIT
    while query.isActive and _last_epoch(query) < epochs - 1:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    # Read before the stop, which may interrupt HDFS's client and so cause another error.
    error = query.exception()
    query.stop()
    if error is not None:
        raise error


def route_learns(
    spark: SparkSession, grouping: str, at: str | None, checkpoint: str, epochs: int
) -> list[float]:
    """Route a stream of 40,000 rows per epoch; return the max/mean load of each epoch."""
    found: dict[int, float] = {}

    def look(batch: DataFrame, epoch: int) -> None:
        loads = [row[1] for row in batch.groupBy("worker").count().collect()]
        found[epoch] = 4 * max(loads) / sum(loads)

    routed = route(_stream(spark, 40_000), "user", grouping, 4, time="at", state=at)
    query = routed.writeStream.foreachBatch(look).option("checkpointLocation", checkpoint).start()
    _wait(query, epochs)
    return [found[epoch] for epoch in sorted(found)]


def join_stream(
    spark: SparkSession,
    balance: Literal["load"] | None,
    *,
    cache_static: bool,
    at: str,
    epochs: int,
) -> dict[str, int]:
    """Join the first epochs of a stream, and compare with Spark's join of the same rows."""
    static = _static(spark)
    joined = balanced_join(
        _stream(spark, 1000),
        static,
        on="user",
        workers=4,
        balance=balance,
        cache_static=cache_static,
        time="at",
        state=f"{at}/state",
    )
    return _joined(spark, joined, static, at, epochs)


def _joined(
    spark: SparkSession, joined: DataFrame, static: DataFrame, at: str, epochs: int
) -> dict[str, int]:
    """Write the first epochs of a joined stream, and compare with Spark's join."""
    writer = joined.select("value", "profile").writeStream.format("parquet")
    query = writer.option("checkpointLocation", f"{at}/checkpoint").start(f"{at}/rows")
    _wait(query, epochs)
    ours = spark.read.parquet(f"{at}/rows")
    last = ours.selectExpr("max(value) div 1000").first()
    assert last is not None
    values = spark.range(0, (last[0] + 1) * 1000).selectExpr(
        "if(id % 10 < 8, 'alice', 'user ' || id % 50) as user", "id as value"
    )
    expected = values.join(static, "user").select("value", "profile")
    return {
        "epochs": last[0] + 1,
        "rows": ours.count(),
        "missing": expected.exceptAll(ours).count(),
        "too many": ours.exceptAll(expected).count(),
    }


def _static(spark: SparkSession) -> DataFrame:
    """Make the static side: a profile for each user of the stream."""
    return spark.range(0, 50).selectExpr(
        "if(id = 0, 'alice', 'user ' || id) as user", "id as profile"
    )


def _described(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the number of a user's rows, their sum, and the task that they are in."""
    context = TaskContext.get()
    assert context is not None
    found = {"user": key[0], "rows": len(rows), "amount": int(rows["amount"].sum())}
    return pd.DataFrame([{**found, "task": context.partitionId()}])


def _merged(key: tuple[Any, ...], parts: pd.DataFrame) -> pd.DataFrame:
    """Merge the parts of a user; `task` is the largest part's share of the rows, in percent."""
    found = {"user": key[0], "rows": parts["rows"].sum(), "amount": parts["amount"].sum()}
    return pd.DataFrame([{**found, "task": 100 * parts["rows"].max() // parts["rows"].sum()}])


def one_line_operators(spark: SparkSession, at: str) -> dict[str, Any]:
    """Compare one-line operators on a batch with Spark's own; also return their balance."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    rows, schema = clicks(spark), "user string, rows long, amount long, task int"
    expected = rows.groupBy("user").agg({"*": "count", "amount": "sum"}).collect()
    sums = sorted((row[0], row["count(1)"], row["sum(amount)"]) for row in expected)
    found: dict[str, Any] = {"expected": sums}
    added = [
        F.sum("rows").alias("rows"),
        F.sum("amount").alias("amount"),
        F.count("*").alias("task"),
    ]
    for name, merge in (("whole", None), ("split", _merged), ("added", added)):
        grouped = eks.groupBy(rows, "user", workers=4, state=f"{at}/{name}")
        got = grouped.applyInPandas(_described, schema, merge=merge).collect()
        found[name] = sorted((row["user"], row["rows"], row["amount"]) for row in got)
        found[f"{name} alice"] = next(row["task"] for row in got if row["user"] == "alice")
    static = _static(spark)
    joined = eks.join(rows, static, "user", workers=4, state=f"{at}/join")
    plain = rows.join(static, "user")
    found["join"] = joined.exceptAll(plain).count() + plain.exceptAll(joined).count()
    tasks = joined.groupBy(F.spark_partition_id()).count().collect()
    found["max/mean of join"] = 4 * max(row[1] for row in tasks) / _ROWS
    files = eks.partition_for_write(rows, "user", files=40)
    files.write.partitionBy("user").parquet(f"{at}/written")
    read = spark.read.parquet(f"{at}/written").select("user", "amount")
    found["written"] = read.exceptAll(rows).count() + rows.exceptAll(read).count()
    names = read.groupBy("user", F.input_file_name()).count().collect()
    found["files of others"] = max(Counter(r[0] for r in names if r[0] != "alice").values())
    found["files of alice"] = sum(row[0] == "alice" for row in names)
    return found


def _points(numbers: pd.Series) -> pd.Series:
    return pd.Series(shapely.to_wkb(shapely.points(numbers + 0.5, 0.5)))


def _squares(numbers: pd.Series) -> pd.Series:
    return pd.Series(shapely.to_wkb(shapely.box(numbers, 0, numbers + 1, 1)))


def staying_join_stream(spark: SparkSession, at: str, epochs: int) -> dict[str, Any]:
    """Join a stream with a few squares, one per user; compare with Spark's join by user."""
    as_udf: Any = F.pandas_udf
    point, square = (as_udf(each, "binary") for each in (_points, _squares))
    number = F.expr("if(user = 'alice', 0, cast(substring(user, 6) AS int))")
    rows = _stream(spark, 1000).select("value", point(number).alias("geometry"))
    static = spark.range(0, 50).select(F.col("id").alias("profile"), square("id").alias("geometry"))
    within = SpatialMatch(relation="within")
    joined = balanced_join(rows, static, within, workers=4, state=f"{at}/state")
    moved = "REPARTITION" in joined._jdf.queryExecution().toString()
    return {**_joined(spark, joined, _static(spark), at, epochs), "moved": moved}


def skewed_join_stream(spark: SparkSession, at: str, epochs: int) -> dict[str, int]:
    """Join a stream and a batch with `evenkey.spark.join`; compare with Spark's join."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    static = _static(spark)
    joined = eks.join(_stream(spark, 1000), static, "user", workers=4, state=f"{at}/state")
    return _joined(spark, joined, static, at, epochs)


class _Seen(StatefulProcessor):
    """Counts the rows of a user, and records the task that they are in."""

    def init(self, handle: Any) -> None:
        self._seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
        before = self._seen.get()[0] if self._seen.exists() else 0
        values = pd.concat(list(rows))["value"]
        self._seen.update((before + len(values),))
        context = TaskContext.get()
        assert context is not None
        seen = {"user": key[0], "seen": before + len(values), "last": int(values.max())}
        yield pd.DataFrame([{**seen, "task": context.partitionId()}])

    def close(self) -> None:
        pass


def counts_with_state(spark: SparkSession, at: str, epochs: int) -> dict[str, Any]:
    """Count a stream by user; the state of a user stays on the worker of a single plan."""
    _on_rocks(spark)
    eks.fit(clicks(spark), "user", "whole", 4, state=f"{at}/plans")
    grouped = eks.groupBy(
        _stream(spark, 1000).select("user", "value"), "user", workers=4, state=f"{at}/plans"
    )
    counted = grouped.transformWithStateInPandas(
        _Seen(),
        outputStructType="user string, seen long, last long, task int",
        outputMode="Update",
        timeMode="None",
    )
    latest: dict[str, tuple[int, int]] = {}
    tasks: dict[str, set[int]] = {}
    enough = threading.Event()

    def look(rows: DataFrame, _: int) -> None:
        # A query that is stopped during an action fails, so this one ends here, before an action.
        if enough.is_set():
            raise _EnoughError
        for user, seen, last, task in rows.collect():
            latest[user] = seen, last
            tasks.setdefault(user, set()).add(task)

    writer = counted.writeStream.outputMode("update").foreachBatch(look)
    query = writer.option("checkpointLocation", f"{at}/checkpoint").start()
    deadline = time.monotonic() + _EPOCHS_TO_WAIT
    while query.isActive and _last_epoch(query) < epochs - 1:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    enough.set()
    with pytest.raises(StreamingQueryException, match="_EnoughError"):
        query.awaitTermination()
    end = 1000 * (max(last for _, last in latest.values()) // 1000 + 1)
    values = spark.range(0, end).selectExpr("if(id % 10 < 8, 'alice', 'user ' || id % 50) as user")
    return {
        "epochs": end // 1000,
        "counts": {user: seen for user, (seen, _) in latest.items()},
        "expected": {row[0]: row[1] for row in values.groupBy("user").count().collect()},
        "tasks": {user: sorted(where) for user, where in tasks.items()},
    }


def stateful_counts(
    spark: SparkSession, at: str, epochs: int, *, merge: bool = False
) -> dict[str, Any]:
    """Count a stream by user with `stateful`; the number of workers changes in each epoch."""
    rows = _stream(spark, 2000).select("user", "value")
    counted = eks.stateful(
        rows,
        "user",
        _added,
        output_schema="user string, seen long, last long",
        state_schema="seen long, last long",
        state=f"{at}/states",
        workers=4,
        balance="rows",
        scale=_in_turn,
        merge=_parts_added if merge else None,
    )
    query = (
        counted.writeStream.format("parquet")
        .option("checkpointLocation", f"{at}/checkpoint")
        .start(f"{at}/rows")
    )
    _wait(query, epochs)
    # Each epoch has all users, so the last result of a user has all of its rows.
    latest = (
        spark.read.parquet(f"{at}/rows")
        .groupBy("user")
        .agg(F.max("seen"), F.max("last"), F.count(F.lit(1)), F.countDistinct("seen"))
        .collect()
    )
    end = 2000 * (max(row[2] for row in latest) // 2000 + 1)
    values = spark.range(0, end).selectExpr("if(id % 10 < 8, 'alice', 'user ' || id % 50) as user")
    return {
        "epochs": end // 2000,
        "counts": {row[0]: row[1] for row in latest},
        "expected": {row[0]: row[1] for row in values.groupBy("user").count().collect()},
        "results": sorted({(row[3], row[4]) for row in latest}),
    }


def _added(batch: Any) -> tuple[pa.Table, pa.Table]:
    """Count rows, and keep the last value."""
    values = batch.rows["value"].to_numpy()
    return _updated(batch, np.ones_like(values), values)


def _parts_added(batch: Any) -> tuple[pa.Table, pa.Table]:
    """Add counts of parts of the rows."""
    return _updated(batch, *(batch.rows[name].to_numpy() for name in ("seen", "last")))


def _updated(batch: Any, counts: Any, values: Any) -> tuple[pa.Table, pa.Table]:
    seen, last = (batch.states[name].fill_null(0).to_numpy().copy() for name in ("seen", "last"))
    np.add.at(seen, batch.positions, counts)
    np.maximum.at(last, batch.positions, values)
    columns = {"user": batch.states["user"], "seen": pa.array(seen), "last": pa.array(last)}
    states = pa.table(columns)
    return states, states


def _in_turn(seconds: Any) -> int:
    """Choose 4, 3, 2, 4, ... workers."""
    return 4 if len(seconds) == 2 else len(seconds) - 1


class _Numbers(Reading):
    """The users of `_stream`, in a source whose position a new query can begin at."""

    schema = "user string, value long"

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Read each n-th position."""
        values = [each for each in range(start, stop) if each % sources == source]
        users = ["alice" if each % 10 < 8 else f"user {each % 50}" for each in values]
        yield pa.RecordBatch.from_pydict(
            {"user": pa.array(users, pa.string()), "value": pa.array(values, pa.int64())}
        )


def counts_up_to(
    spark: SparkSession, at: str, folder: str, stop: int, start: str | None = None
) -> dict[str, Any]:
    """Count positions below `stop` by user; `folder` has the query's checkpoint and its `state`."""
    _on_rocks(spark)
    begins: dict[str, Any] = {} if start is None else {"start": start}
    workers = int(spark.conf.get("spark.sql.shuffle.partitions") or 4)
    directory = Path(tempfile.mkdtemp())
    rows = stream_of(
        spark,
        _Numbers(stop, 1.0),
        sources=2,
        epoch_messages=1000,
        stop_file=directory / "stop",
        **begins,
    )
    grouped = eks.groupBy(rows, "user", workers=workers, state=f"{at}/{folder}/state")
    counted = grouped.transformWithStateInPandas(
        _Seen(),
        outputStructType="user string, seen long, last long, task int",
        outputMode="Update",
        timeMode="None",
    )

    def look(batch: DataFrame, _: int) -> None:
        batch.collect()

    writer = counted.writeStream.outputMode("update").foreachBatch(look)
    query = writer.option("checkpointLocation", f"{at}/{folder}/checkpoint").start()
    query.processAllAvailable()
    query.stop()
    reader = spark.read.format("statestore").option("stateVarName", "seen")
    found = reader.load(f"{at}/{folder}/checkpoint").selectExpr("key.user", "value.n").collect()
    users = ["alice" if each % 10 < 8 else f"user {each % 50}" for each in range(stop)]
    return {"counts": {row[0]: row[1] for row in found}, "expected": dict(Counter(users))}


def moved(spark: SparkSession, at: str, old: str, new: str, workers: int) -> dict[str, Any]:
    """Move the state of a query to another folder."""
    _on_rocks(spark)
    record = eks.rebalance(
        spark, f"{at}/{old}/checkpoint", state=f"{at}/{new}/state", workers=workers
    )
    return {"states": record.states, "positions": list(record.positions)}


def _on_rocks(spark: SparkSession) -> None:
    """Keep states in RocksDB, as `transformWithState` needs."""
    name = "spark.sql.streaming.stateStore"
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set(f"{name}.providerClass", provider)
    spark.conf.set(f"{name}.rocksdb.changelogCheckpointing.enabled", "true")


class _EnoughError(Exception):
    """The query has run for enough epochs."""


def write_on(spark: SparkSession, at: str, lasting: float) -> dict[str, int]:
    """Create and read objects in turn for some time, also while the store fails."""
    store = store_of(spark, at)
    end = time.monotonic() + lasting
    created = 0
    while time.monotonic() < end:
        name = f"objects/{created:06d}"
        assert store.create(name, name.encode())
        assert not store.create(name, b"another's")
        assert store.read(name) == name.encode()
        created += 1
    return {"created": created, "there": len(store.names("objects"))}


def aggregate_stream(
    spark: SparkSession, grouping: str, at: str | None, checkpoint: str, epochs: int
) -> list[int]:
    """Count a stream by key and window of 1,000 rows; return the rows of each closed window."""
    rows = aggregate(
        _stream(spark), "user", grouping, 4, "count", time="at", window="10 seconds", state=at
    )
    counted: list[int] = []

    def look(batch: DataFrame, _: int) -> None:
        counted.extend(row[1] for row in batch.groupBy("window").sum("count").collect())

    query = rows.writeStream.foreachBatch(look).option("checkpointLocation", checkpoint).start()
    _wait(query, epochs)
    return counted


def outcomes(spark: SparkSession, calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Run cases one after the other in one session; return the result or error of each.

    To start a session on several hosts takes as long as most cases.
    """
    ended: list[dict[str, Any]] = []
    for name, given in calls:
        try:
            ended.append({"result": globals()[name](spark, **given)})
        except Exception as error:  # noqa: BLE001 - returned to the test
            ended.append({"error": f"{type(error).__name__}: {error}"})
        print(name, f"{ended[-1]}"[:3000], flush=True)  # noqa: T201 - shows the progress
    return ended
