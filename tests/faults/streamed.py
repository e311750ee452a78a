"""A user's stream: ``python -m tests.faults.streamed DIRECTORY KIND [STATE [MASTER]]``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import spark as operators
from evenkey.core.streams import generated
from evenkey.spark.sessions.starting import session
from tests.spark import oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

NAME, MESSAGES, EPOCHS, WORKERS = "country-skew-r80", 20_000, 8, 4
_WORK_SECONDS = 0.5
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _seen(key: tuple[str], pieces: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    count = (state.get[0] if state.exists else 0) + sum(map(len, pieces))
    state.update((count,))
    yield pd.DataFrame({"key": [key[0]], "seen": [count]})


class Seen(StatefulProcessor):
    """Counts the rows of a key, from the first one on."""

    def init(self, handle: Any) -> None:
        """Name the state."""
        self._rows = handle.getValueState("rows", "n long")

    def handleInputRows(  # noqa: N802 - Spark's names
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Add an epoch's rows."""
        count = (self._rows.get()[0] if self._rows.exists() else 0) + sum(map(len, rows))
        self._rows.update((count,))
        yield pd.DataFrame({"key": [key[0]], "seen": [count]})


_SEEN = "key string, seen long"


def _grouped(rows: DataFrame, everything: DataFrame, state: Path) -> Any:
    if not state.exists():
        operators.fit(everything, "key", "whole", WORKERS, state=state)
    return operators.groupBy(rows, "key", workers=WORKERS, state=state)


def counted(rows: DataFrame, everything: DataFrame, state: Path) -> DataFrame:
    """Count each key in its own state, on the worker of a pinned plan."""
    counts: DataFrame = _grouped(rows, everything, state).applyInPandasWithState(
        _seen, _SEEN, "n long", "append", "NoTimeout"
    )
    return counts


def transformed(rows: DataFrame, everything: DataFrame, state: Path) -> DataFrame:
    """Do the same with a stateful processor, whose state Spark keeps in RocksDB."""
    counts: DataFrame = _grouped(rows, everything, state).transformWithStateInPandas(
        Seen(), _SEEN, "Update", "None"
    )
    return counts


def joined(rows: DataFrame, everything: DataFrame, state: Path) -> DataFrame:
    """Join each row with two rows."""
    sides = (
        everything.select("key")
        .distinct()
        .crossJoin(rows.sparkSession.createDataFrame([("a",), ("b",)], "side string"))
    )
    return operators.join(rows, sides, "key", "inner", WORKERS, state=state).select("key", "side")


def routed(rows: DataFrame, _: DataFrame, state: Path) -> DataFrame:
    """Assign each row to a worker."""
    return operators.route(rows, "key", "planned", WORKERS, state=state).select("key", "worker")


KINDS: dict[str, Callable[[DataFrame, DataFrame, Path], DataFrame]] = {
    "groupBy": counted,
    "transformWithState": transformed,
    "join": joined,
    "route": routed,
}


def main(directory: Path, kind: str, tables: Path, master: str = "local[2]") -> None:
    """Write the rows of each epoch to its own directory, after slow work."""
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
    }
    spark = session(master, settings)
    stream = generated(NAME, messages=MESSAGES)
    rows = oracle.streaming(spark, stream, directory, epochs=EPOCHS)
    everything = spark.read.schema(rows.schema).parquet(str(directory / "input"))
    made = KINDS[kind](rows, everything, tables)

    def write(batch: DataFrame, epoch: int) -> None:
        time.sleep(_WORK_SECONDS)
        place = str(directory / "rows" / f"epoch={epoch}")
        batch.withColumn("task", F.spark_partition_id()).write.mode("overwrite").parquet(place)

    query = (
        made.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(directory / "state" / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    place, what, *more = sys.argv[1:]
    main(Path(place), what, Path(more[0] if more else f"{place}/state/tables"), *more[1:])
