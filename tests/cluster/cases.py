"""What the tests do in a session on a driver's host; each gives something that JSON can hold."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import evenkey
from evenkey.spark import aggregate, place, route, store_of
from tests.stores.conformance import CHECKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.stores import Store

_ROWS = 20_000
_EPOCHS_TO_WAIT = 120.0


def clicks(spark: SparkSession) -> DataFrame:
    """Rows of which 80 % have one key."""
    return spark.range(0, _ROWS, 1, 4).selectExpr(
        "if(id % 10 < 8, 'alice', 'user ' || id % 50) as user", "id % 7 as amount"
    )


def batch(spark: SparkSession, grouping: str) -> dict[str, Any]:
    """Route, place and aggregate a batch, and what Spark itself makes of it."""
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
    """Hold a store's conformance on the driver."""
    for check in CHECKS:
        check(store_of(spark, f"{at}/{check.__name__}"))
    return [socket.gethostname()]


def conformance_in_tasks(spark: SparkSession, at: str) -> list[str]:
    """Hold each check in a task of its own; give the hosts that did."""
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
    """Let tasks of all hosts create the same objects, and count who did."""
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
    # The slots begin at the same moment, as near as clocks go.
    time.sleep(5 - time.time() % 5)
    for batch in batches:
        for task in batch["id"]:
            for number in range(objects):
                name, content = f"claims/{number}", f"{host} {task} {number}"
                if store.create(name, content.encode()):
                    yield pd.DataFrame([[host, name, content]], columns=["host", "name", "content"])


def checkpoint(spark: SparkSession, at: str) -> dict[str, int]:
    """Let Spark keep its own checkpoint in a place, twice: the second query goes on."""
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
