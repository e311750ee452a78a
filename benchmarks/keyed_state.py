"""Epochs of `stateful` on a drifting stream: seconds, moved states, maximum load, exactness.

Epoch 0 has each key once, so that all states exist. Then rows follow Zipf's law, and every few
epochs other keys become hot. `limit` is the mean number of rows of a worker or that of the hottest
key, whichever is larger. At the end all states are compared with a count by NumPy.

    python -m benchmarks.keyed_state --master 'local-cluster[10,1,2048]'      # minutes
    python -m benchmarks.keyed_state --workers 8 --most-workers 12 --change 8:12,16:6
    python -m benchmarks.keyed_state --keys 10000 --rows 20000 --epochs 8 --workers 3
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey import spark as eks
from evenkey.core.stores import LocalStore
from evenkey.joins import CLUSTER_SETTINGS
from evenkey.spark.states.pieces import Version
from evenkey.spark.states.state_log import StateLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

Z, FILES = 1.2, 4


def count(batch: Any) -> tuple[pa.Table, None]:
    """Count the rows of each key."""
    added = np.bincount(batch.positions, minlength=len(batch.states))
    n = pc.add(pc.fill_null(batch.states["n"], 0), pa.array(added))
    return batch.states.set_column(1, "n", n), None


def keys_of(given: argparse.Namespace) -> Iterator[NDArray[np.int64]]:
    """Yield the keys of the rows of each epoch."""
    random = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, given.keys + 1) ** Z)
    yield random.permutation(given.keys)
    for epoch in range(1, given.epochs):
        ranks = np.searchsorted(shares, random.random(given.rows) * shares[-1])
        yield (ranks + epoch // given.every * (given.keys // 27)) % given.keys


def write(directory: Path, epochs: Iterator[NDArray[np.int64]], keys: int) -> Any:
    """Write the files of each epoch; return the rows of each key, and those of the hottest one."""
    directory.mkdir()
    counts, hottest = np.zeros(keys, dtype=np.int64), []
    for epoch, rows in enumerate(epochs):
        of_key = np.bincount(rows, minlength=keys)
        counts += of_key
        hottest.append(int(of_key.max()))
        for number, part in enumerate(np.array_split(rows, FILES)):
            file = directory / f"{epoch:04d}-{number}.parquet"
            pq.write_table(pa.table({"key": part}), file)
            os.utime(file, (epoch + 1, epoch + 1))  # Spark reads the oldest files first
    return counts, hottest


def measured(log: StateLog, hottest: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each epoch from the log of its query."""
    (number,) = log.generations()
    generation = log.generation(number)
    assert generation is not None
    for epoch, most in enumerate(hottest):
        plan = log.plan(generation, epoch)
        assert plan is not None
        rows, loaded = np.zeros(plan.workers), 0
        for record in log.records(plan):
            loaded += len(record.loaded)
            rows[record.slot] += sum(work.rows for work in record.work.values())
        sizes = np.array(plan.sizes)
        yield {
            "epoch": epoch,
            "workers": plan.workers,
            "moved_states": float(sizes[[*plan.moved]].sum() / max(sizes.sum(), 1)),
            "moved_partitions": len(plan.moved),
            "loaded_partitions": loaded,
            "max_over_limit": float(rows.max() / max(rows.mean(), most)),
        }


def states_of(log: StateLog, epochs: int, keys: int) -> NDArray[np.int64]:
    """Return the count in the state of each key after all epochs."""
    (number,) = log.generations()
    generation = log.generation(number)
    assert generation is not None
    plan = log.plan(generation, epochs - 1)
    assert plan is not None
    heads = list(plan.heads)
    for record in log.records(plan):
        for partition in record.written:
            heads[partition] = Version(plan.epoch, record.attempt)
    counts = np.zeros(keys, dtype=np.int64)
    for partition, head in enumerate(heads):
        if head is not None:
            for table in log.pieces.chain(head, partition)[0]:
                counts[table["key"].to_numpy()] = table["n"].to_numpy()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in (
        ("keys", 1_000_000),
        ("rows", 500_000),
        ("epochs", 24),
        ("every", 6),
        ("workers", 10),
        ("most-workers", 0),
        ("partitions", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--master", default="local[4]")
    parser.add_argument("--change", default="", help="workers from an epoch on: EPOCH:W,EPOCH:W")
    given = parser.parse_args()
    given_changes = (each.split(":") for each in given.change.split(",") if each)
    changes = {int(epoch): int(workers) for epoch, workers in given_changes}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        counts, hottest = write(place / "input", keys_of(given), given.keys)
        cluster = CLUSTER_SETTINGS if given.master.startswith("local-cluster") else {}
        spark = eks.session(given.master, cluster)
        stream = spark.readStream.schema("key bigint").option("maxFilesPerTrigger", FILES)
        counted = eks.stateful(
            stream.parquet(str(place / "input")),
            "key",
            count,
            "key bigint",
            "n bigint",
            state=place / "state",
            workers=given.workers,
            most_workers=given.most_workers or given.workers,
            partitions=given.partitions or None,
            balance="rows",
        )

        def work(df: DataFrame, epoch: int) -> None:
            df.count()
            if epoch + 1 in changes:
                LocalStore(place / "state").put("workers", str(changes[epoch + 1]).encode())

        writer = counted.writeStream.option("checkpointLocation", str(place / "checkpoint"))
        query = writer.foreachBatch(work).start()
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(10 * given.epochs))
        query.processAllAvailable()
        times = {
            each["batchId"]: each["durationMs"]["triggerExecution"] / 1000
            for each in query.recentProgress
            if each["numInputRows"]
        }
        query.stop()
        log = StateLog(LocalStore(place / "state").under(f"queries/{query.id}"))
        exact = bool((states_of(log, given.epochs, given.keys) == counts).all())
        epochs = [{**each, "seconds": times.get(each["epoch"])} for each in measured(log, hottest)]
        spark.stop()
    sys.stdout.write(json.dumps({"exact": exact, "epochs": epochs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
