"""Spark's own operators and evenkey's that make the same rows; `cost_of_operators.py` runs them."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import LongType

import evenkey.papers  # noqa: F401 - `available` lists its groupings too
from evenkey import spark as eks
from evenkey.groupings import available
from evenkey.joins import balanced_join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    Make = Callable[[Path], DataFrame]

# Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

DAYS, PARTITIONS, HOUR = 40, 8, 3600
SETTINGS = {
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.asofJoin.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
SCHEMA = "key long, amount long"
COLUMNS = ["key", "amount", "time", "day"]


class Family(NamedTuple):
    """Operators that make the same rows.

    Parameters
    ----------
    beside
        What Spark's own operator is called.
    spark
        Makes the rows with Spark's own operator. It gets a folder that no earlier run has used.
    evenkey
        By name, each of evenkey's operators that make these rows.
    """

    beside: str
    spark: Make
    evenkey: dict[str, Make]


class Inputs(NamedTuple):
    """The rows of both sides, as batches and as streams."""

    rows: DataFrame
    quotes: DataFrame
    names: DataFrame
    stream: DataFrame | None = None


@F.pandas_udf(LongType())  # type: ignore[call-overload, untyped-decorator, unused-ignore]
def through_python(keys: pd.Series) -> pd.Series:
    """A Python function between the input and the operator."""
    return keys


def rows_of(spark: SparkSession, count: int, keys: int, *, hot: bool) -> DataFrame:
    """Make rows with a key, a number, a time and a day; 60 % of them have one key if `hot`."""
    number = F.xxhash64("id")
    uniform = F.pmod(number, F.lit(keys))
    key = F.when(F.pmod(number, F.lit(10)) < 6, F.lit(keys)).otherwise(uniform) if hot else uniform
    return spark.range(0, count, 1, PARTITIONS).select(
        key.alias("key"),
        F.col("id").alias("amount"),
        F.col("id").alias("time"),
        F.pmod(key, F.lit(DAYS)).alias("day"),
    )


def quotes_of(rows: DataFrame, keys: int) -> DataFrame:
    """Make the right side of an as-of join: a quarter of the rows, with uniform keys.

    For each left row, Spark's own as-of join reads all right rows of its key.
    """
    key = F.pmod(F.xxhash64("time"), F.lit(keys + 1))
    quotes = rows.where("time % 4 = 0")
    return quotes.select(key.alias("key"), F.col("time").alias("at"), "amount")


def names_of(spark: SparkSession, keys: int) -> DataFrame:
    """Make a table with one row for each key."""
    return spark.range(keys + 1).select(F.col("id").alias("key"), F.hash("id").alias("name"))


def total(rows: pd.DataFrame) -> pd.DataFrame:
    """Work on a key."""
    return rows.groupby("key", as_index=False)["amount"].sum()


def part(rows: pd.DataFrame) -> pd.DataFrame:
    """Work on a part of a key, whose results are added up."""
    return rows[["amount"]].sum().to_frame().T


def total_in_arrow(rows: pa.Table) -> pa.Table:
    return pa.table({"key": rows["key"][:1], "amount": [pc.sum(rows["amount"])]})


def part_in_arrow(rows: pa.Table) -> pa.Table:
    return pa.table({"amount": [pc.sum(rows["amount"])]})


def last(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Work on a key of two inputs."""
    del right
    return total(left)


class Counter(StatefulProcessor):
    """Counts the rows of a key of a stream, for `transformWithStateInPandas`."""

    def init(self, handle: Any) -> None:
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        before = self.n.get()[0] if self.n.exists() else 0
        n = before + sum(len(each) for each in rows)
        self.n.update((n,))
        yield pd.DataFrame({"key": [key[0]], "n": [n]})

    def close(self) -> None:
        pass


def counter(batch: Any) -> tuple[pa.Table, pa.Table]:
    """Count the rows of each key of a stream, for `stateful`."""
    added = np.bincount(batch.positions, minlength=len(batch.states))
    n = pc.add(pc.fill_null(batch.states["n"], 0), pa.array(added))
    states = batch.states.set_column(1, "n", n)
    return states, states


def batch_operators(given: Inputs, home: Path) -> list[Family]:
    """List the operators on batches; `home` holds what one run leaves for the next one."""
    rows, quotes, names, _ = given
    summed = F.sum("amount").alias("amount")
    window = Window.partitionBy("key").orderBy("time")
    columns = {"n": F.row_number(), "sum": F.sum("amount")}
    aggregators = {"n": "count", "total": "sum(column=amount)"}
    quoted = [*COLUMNS, "at", "quote"]

    def grouped(**options: Any) -> Any:
        return eks.groupBy(rows, "key", **options)

    def asof(_: Path) -> DataFrame:
        # Spark's own is in SQL only, and needs names that both sides do not share.
        rows.createOrReplaceTempView("sent")
        quotes.createOrReplaceTempView("quotes")
        return rows.sparkSession.sql(
            "SELECT s.key, s.amount, s.time, s.day, q.at, q.amount AS quote "
            "FROM sent s LEFT ASOF JOIN quotes q MATCH_CONDITION (s.time >= q.at) "
            "ON s.key = q.key"
        )

    return [
        Family(
            "groupBy.applyInPandas",
            lambda _: rows.groupBy("key").applyInPandas(total, SCHEMA),
            {
                "groupBy": lambda _: grouped().applyInPandas(total, SCHEMA),
                "groupBy, exact=True": lambda _: grouped(exact=True).applyInPandas(total, SCHEMA),
                "groupBy, a plan in state=": lambda _: grouped(state=home / "plan").applyInPandas(
                    total, SCHEMA
                ),
                "groupBy, merge= an aggregate": lambda _: grouped().applyInPandas(
                    part, "amount long", merge=summed
                ),
                "groupBy, merge= a function": lambda _: grouped().applyInPandas(
                    total, SCHEMA, merge=total
                ),
            },
        ),
        Family(
            "groupBy.applyInArrow",
            lambda _: rows.groupBy("key").applyInArrow(total_in_arrow, SCHEMA),
            {
                "applyInArrow": lambda _: grouped().applyInArrow(total_in_arrow, SCHEMA),
                "applyInArrow, merge= an aggregate": lambda _: grouped().applyInArrow(
                    part_in_arrow, "amount long", merge=summed
                ),
            },
        ),
        Family(
            "cogroup.applyInPandas",
            lambda _: rows.groupBy("key").cogroup(names.groupBy("key")).applyInPandas(last, SCHEMA),
            {
                "cogroup": lambda _: (
                    grouped().cogroup(eks.groupBy(names, "key")).applyInPandas(last, SCHEMA)
                )
            },
        ),
        Family(
            "join",
            lambda _: rows.join(names, "key"),
            {
                "join": lambda _: eks.join(rows, names, "key"),
                "join, exact=True": lambda _: eks.join(rows, names, "key", exact=True),
            },
        ),
        Family(
            "full join",
            lambda _: rows.join(names, "key", "full"),
            {"join, full": lambda _: eks.join(rows, names, "key", "full")},
        ),
        Family(
            "repartition by the value",
            lambda _: rows.repartition(PARTITIONS, "day"),
            {
                "partition_for_write": lambda _: eks.partition_for_write(
                    rows, "day", files=PARTITIONS
                )
            },
        ),
        Family(
            "functions over a Window",
            lambda _: rows.withColumns({name: each.over(window) for name, each in columns.items()}),
            {"over": lambda _: eks.over(rows, "key", "time", columns)},
        ),
        Family(
            "ASOF JOIN",
            asof,
            {
                "asof_join": lambda _: eks.asof_join(
                    rows, quotes.withColumnRenamed("amount", "quote"), "key", "time", "at"
                ).select(quoted)
            },
        ),
        Family(
            "groupBy.agg",
            lambda _: rows.groupBy("key").agg(F.count("*"), F.sum("amount")),
            {
                "aggregate": lambda _: eks.aggregate(
                    rows, "key", workers=PARTITIONS, aggregators=aggregators
                )
            },
        ),
    ]


def groupings(given: Inputs, home: Path) -> list[Family]:
    """List all groupings: `route` and `place`, beside Spark's own shuffle by key."""
    del home

    def routed(name: str, _: Path) -> DataFrame:
        worker = eks.route(given.rows, "key", name, PARTITIONS)
        return eks.place(worker, PARTITIONS).drop("worker")

    return [
        Family(
            "repartition by key",
            lambda _: given.rows.repartition(PARTITIONS, "key"),
            {name: partial(routed, name) for name in sorted(available())},
        )
    ]


def stream_operators(given: Inputs, home: Path) -> list[Family]:
    """List the operators on streams; each run is a new query with one epoch."""
    del home
    _, _, names, stream = given
    assert stream is not None
    timed = stream.withColumn("at", F.timestamp_seconds(F.col("time") % HOUR))
    state = {"outputStructType": "key long, n long", "outputMode": "Update", "timeMode": "None"}

    def processed(grouped: Any) -> DataFrame:
        found: DataFrame = grouped.transformWithStateInPandas(Counter(), **state)
        return found

    joined = [*COLUMNS, "name"]
    return [
        Family(
            "transformWithStateInPandas",
            lambda _: processed(stream.groupBy("key")),
            {
                "groupBy with state": lambda folder: processed(
                    eks.groupBy(stream, "key", workers=PARTITIONS, state=folder / "plan")
                ),
                "stateful": lambda folder: eks.stateful(
                    stream,
                    "key",
                    counter,
                    "key long, n long",
                    "n long",
                    state=folder / "state",
                    workers=PARTITIONS,
                ),
            },
        ),
        Family(
            "groupBy.count in a window",
            lambda _: (
                timed.withWatermark("at", "0 seconds")
                .groupBy(F.window("at", "1 hour"), "key")
                .count()
            ),
            {
                "aggregate of a stream": lambda folder: eks.aggregate(
                    timed,
                    "key",
                    workers=PARTITIONS,
                    aggregator="count",
                    time="at",
                    window="1 hour",
                    state=folder / "state",
                ).select("window", "key", "count")
            },
        ),
        Family(
            "join with a table",
            lambda _: stream.join(names, "key").select(joined),
            {
                "join of a stream": lambda _: eks.join(stream, names, "key").select(joined),
                "balanced_join": lambda folder: balanced_join(
                    stream, names, "key", workers=PARTITIONS, state=folder / "state"
                ).select(joined),
            },
        ),
    ]
