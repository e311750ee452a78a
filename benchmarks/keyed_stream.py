"""A drifting stream of keys in files, and a program that counts it with `stateful`.

`benchmarks.keyed_state` starts this program, also with kills:

    python -m benchmarks.keyed_stream DIRECTORY OPTIONS_AS_JSON
"""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey import spark as eks
from evenkey.core.stores import LocalStore
from evenkey.joins import CLUSTER_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

Z = 1.2
SHIFT = 27
"""At a drift, hot keys move on by the number of keys divided by this number."""


def count(batch: Any) -> tuple[pa.Table, pa.Table]:
    """Count the rows of each key."""
    added = np.bincount(batch.positions, minlength=len(batch.states))
    n = pc.add(pc.fill_null(batch.states["n"], 0), pa.array(added))
    states = batch.states.set_column(1, "n", n)
    return states, states


def merge(batch: Any) -> tuple[pa.Table, pa.Table]:
    """Add the counts of parts of the rows."""
    parts = pc.fill_null(batch.rows["n"], 0).to_numpy()
    added = np.bincount(batch.positions, parts, minlength=len(batch.states)).astype(np.int64)
    n = pc.add(pc.fill_null(batch.states["n"], 0), pa.array(added))
    states = batch.states.set_column(1, "n", n)
    return states, states


def keys_of(given: Any) -> Iterator[NDArray[np.int64]]:
    """Yield the keys of the rows of each epoch; epoch 0 has each key once."""
    random = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, given.keys + 1) ** Z)
    yield random.permutation(given.keys)
    for epoch in range(1, given.epochs):
        ranks = np.searchsorted(shares, random.random(given.rows) * shares[-1])
        yield (ranks + epoch // given.every * (given.keys // SHIFT)) % given.keys


def write_epoch(directory: Path, epoch: int, keys: NDArray[np.int64], files: int) -> None:
    """Write the files of an epoch; a running query sees all of them or none."""
    hidden = directory / f".{epoch:04d}"
    hidden.mkdir()
    for number, part in enumerate(np.array_split(keys, files)):
        file = hidden / f"{number:03d}.parquet"
        pq.write_table(pa.table({"key": part}), file)
        os.utime(file, (epoch + 1, epoch + 1))  # Spark reads the oldest files first
    hidden.rename(directory / hidden.name[1:])


def importable() -> dict[str, str]:
    """Return the environment of a program whose executors can import the benchmarks."""
    paths = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def session(master: str) -> Any:
    """Return a session whose slots keep their executors on a cluster."""
    cluster = CLUSTER_SETTINGS if master.startswith("local-cluster") else {}
    return eks.session(master, cluster)


def stream(spark: Any, directory: Path, files: int) -> DataFrame:
    """Return the stream of the files of all epochs."""
    reader = spark.readStream.schema("key bigint").option("maxFilesPerTrigger", files)
    rows: DataFrame = reader.option("recursiveFileLookup", "true").parquet(str(directory))
    return rows


def counted(rows: DataFrame, state: Path, given: Any) -> DataFrame:
    """Count a stream of keys."""
    return eks.stateful(
        rows,
        "key",
        count,
        "key bigint, n bigint",
        "n bigint",
        state=state,
        workers=given.workers,
        most_workers=given.most_workers,
        partitions=given.partitions or None,
        balance="rows",
        merge=merge if given.merge else None,
    )


def main(place: Path, given: Any) -> None:
    """Run the stream to its end; write the seconds of its epochs."""
    changes = {int(epoch): int(workers) for epoch, workers in given.changes.items()}
    spark = session(given.master)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(10 * given.epochs))
    state = place / "state"

    def work(df: DataFrame, epoch: int) -> None:
        df.count()
        if epoch + 1 in changes:
            LocalStore(state).put("workers", str(changes[epoch + 1]).encode())

    df = counted(stream(spark, place / "input", given.files), state, given)
    writer = df.writeStream.option("checkpointLocation", str(place / "checkpoint"))
    query = writer.foreachBatch(work).start()
    query.processAllAvailable()
    seconds = {
        each["batchId"]: each["durationMs"]["triggerExecution"] / 1000
        for each in query.recentProgress
        if each["numInputRows"]
    }
    query.stop()
    spark.stop()
    (place / "seconds.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), types.SimpleNamespace(**json.loads(sys.argv[2])))
