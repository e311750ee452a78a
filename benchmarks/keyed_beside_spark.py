"""`stateful` and Spark's ``transformWithStateInPandas`` on the same epochs, in random order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from benchmarks.keyed_stream import counted, importable, keys_of, session, stream, write_epoch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class _Counts(StatefulProcessor):
    """Counts the rows of a key; a result has the task, and the rows that came."""

    def init(self, handle: Any) -> None:
        self._n = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        added = sum(len(each) for each in rows)
        n = (self._n.get()[0] if self._n.exists() else 0) + added
        self._n.update((n,))
        context = TaskContext.get()
        task = -1 if context is None else context.partitionId()
        yield pd.DataFrame({"key": [key[0]], "n": [n], "task": [task], "added": [added]})

    def close(self) -> None:
        pass


def run(place: Path, given: Any) -> dict[str, Any]:
    """Run all epochs; return their seconds, and the load of Spark's tasks."""
    os.environ.update(importable())
    spark = session(given.master)
    spark.conf.set("spark.sql.shuffle.partitions", str(given.workers))
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKS)
    name = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
    spark.conf.set(name, "true")
    ways = ("stateful", "spark")
    for way in ways:
        (place / way).mkdir()
    loads: dict[int, NDArray[np.int64]] = {}

    def look(df: DataFrame, epoch: int) -> None:
        rows = np.zeros(given.workers, dtype=np.int64)
        for task, added in df.groupBy("task").agg(F.sum("added")).collect():
            rows[task] += added
        loads[epoch] = rows

    own = counted(stream(spark, place / "stateful", given.files), place / "state", given)
    plain = stream(spark, place / "spark", given.files).groupBy("key")
    other = plain.transformWithStateInPandas(
        _Counts(), "key long, n long, task int, added long", "Update", "None"
    )
    queries = {
        way: df.writeStream.option("checkpointLocation", str(place / f"{way}-checkpoint"))
        .outputMode(mode)
        .foreachBatch(work)
        .start()
        for way, df, mode, work in (
            ("stateful", own, "append", lambda df, _: df.count()),
            ("spark", other, "update", look),
        )
    }
    random = np.random.default_rng(given.seed)
    counts, hottest, epochs = np.zeros(given.keys, dtype=np.int64), [], []
    for epoch, keys in enumerate(keys_of(given)):
        of_key = np.bincount(keys, minlength=given.keys)
        counts += of_key
        hottest.append(int(of_key.max()))
        for number in random.permutation(2).tolist():
            way = ways[number]
            write_epoch(place / way, epoch, keys, given.files)
            queries[way].processAllAvailable()
            seconds = next(
                each["durationMs"]["triggerExecution"] / 1000
                for each in reversed(queries[way].recentProgress)
                if each["batchId"] == epoch and each["numInputRows"]
            )
            found: dict[str, Any] = {"epoch": epoch, "way": way, "seconds": seconds}
            if way == "spark":
                most, mean = loads[epoch].max(), loads[epoch].mean()
                found["max_over_limit"] = float(most / max(mean, hottest[-1]))
                found["max_over_mean"] = float(most / mean)
            epochs.append(found)
    for query in queries.values():
        query.stop()
    # Spark may call a processor several times for a key, so its results are not compared.
    reader = spark.read.format("statestore").option("stateVarName", "n")
    states = reader.load(str(place / "spark-checkpoint")).selectExpr("key.key", "value.n")
    table: Any = states.toPandas()
    found_counts = np.zeros(given.keys, dtype=np.int64)
    found_counts[table["key"]] = table["n"]
    exact = bool((found_counts == counts).all())
    spark.stop()
    return {"epochs": epochs, "hottest": hottest, "counts": counts, "exact": exact}
