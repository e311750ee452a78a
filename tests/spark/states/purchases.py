"""A stream of purchases, a function with state on it, and the same in a loop over all rows.

``python -m tests.spark.states.purchases DIRECTORY MASTER`` runs the stream, for tests to kill.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey import spark as eks
from evenkey.joins import CLUSTER_SETTINGS
from tests.spark.offered import stream_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("shop", pa.int32()),
        ("amount", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
STATE = "n bigint, last string, quiet timestamp"
OUT = "user string, shop int, n bigint, last string, ended boolean"
ROWS = 80
KEYS = ["user", "shop"]


def purchases(epoch: int) -> pa.Table:
    """Return the rows of an epoch: users with hot keys and nulls, and times out of order."""
    random = np.random.default_rng(epoch)
    rows = []
    for number in random.permutation(ROWS).tolist():
        user = None if number % 11 == 0 else f"user {min(int(random.zipf(1.6)), 9)}"
        shop = None if number % 7 == 0 else number % 2
        at = START + timedelta(seconds=100 * epoch + number)
        rows.append({"user": user, "shop": shop, "amount": epoch * ROWS + number, "at": at})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def without(values: Any, ended: Any) -> list[Any]:
    return [None if gone else each for each, gone in zip(values, ended, strict=True)]


def follow(batch: Any) -> tuple[pa.Table, pa.Table]:
    """Count rows, and keep the last one by time; a key ends if it has no row for 90 seconds."""
    counts = np.bincount(batch.positions, minlength=len(batch.states))
    n = batch.states["n"].fill_null(0).to_numpy() + counts
    last, quiet = batch.states["last"].to_pylist(), batch.states["quiet"].to_pylist()
    for position, row in zip(batch.positions, batch.rows.to_pylist(), strict=True):
        last[position] = str(row["amount"])
        quiet[position] = row["at"] + timedelta(seconds=90)
    ended = batch.due & (counts == 0)
    kind = batch.states.schema.field("quiet").type
    states = pa.table(
        {
            "n": pa.array(n, mask=ended),
            "last": pa.array(without(last, ended), pa.string()),
            "quiet": pa.array(without(quiet, ended), kind),
        }
    )
    results = batch.states.select(KEYS)
    for name, values in (("n", n), ("last", last), ("ended", ended)):
        results = results.append_column(name, pa.array(values))
    return states, results


def expected(epochs: Sequence[pa.Table]) -> list[Counter[Any]]:
    """Return the results of each epoch, by a loop over the rows in order of time."""
    states: dict[Any, Any] = {}
    results, watermark, latest = [], None, None
    for rows in epochs:
        found: Counter[Any] = Counter()
        fresh: dict[Any, Any] = {}
        for row in sorted(rows.to_pylist(), key=lambda each: each["at"]):
            if watermark is None or row["at"] >= watermark:
                fresh.setdefault((row["user"], row["shop"]), []).append(row)
        for key, (n, last, quiet) in [*states.items()]:
            if key not in fresh and watermark is not None and quiet <= watermark:
                found[(*key, n, last, True)] += 1
                del states[key]
        for key, of_key in fresh.items():
            n = states.get(key, (0,))[0] + len(of_key)
            last, quiet = str(of_key[-1]["amount"]), of_key[-1]["at"] + timedelta(seconds=90)
            states[key] = (n, last, quiet)
            found[(*key, n, last, False)] += 1
        latest = max([pc.max(rows["at"]).as_py(), *([] if latest is None else [latest])])
        watermark = latest - timedelta(seconds=30)
        results.append(found)
    return results


def followed(df: DataFrame, state: Path, **options: Any) -> DataFrame:
    """Call `stateful` with `follow`."""
    arguments = {"workers": 2, "partitions": 8, "time": "at", "delay": "30 seconds", **options}
    return eks.stateful(df, KEYS, follow, OUT, STATE, state=state, timer="quiet", **arguments)


def main(directory: Path, master: str) -> None:
    """Run the stream of the files in a directory to its end."""
    settings = CLUSTER_SETTINGS if master.startswith("local-cluster") else {}
    spark = eks.session(master, {**settings, "spark.sql.session.timeZone": "UTC"})
    # By rows, so that partitions move in each run of the tests.
    df = followed(
        stream_of(spark, directory / "input"),
        directory / "state",
        workers=3,
        partitions=12,
        balance="rows",
    )
    query = (
        df.writeStream.format("parquet")
        .option("checkpointLocation", str(directory / "checkpoint"))
        .start(str(directory / "out"))
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
