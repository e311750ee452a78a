"""Ways to compute windows and as-of joins over a hot key; `ordered_work.py` runs them.

python benchmarks/ordered_ways.py TASK    # one task, as JSON, in a process of its own
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pyspark.sql import Window
from pyspark.sql import functions as F

# The directory of a program comes first on the path, not that of the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.processor_time import processor_seconds
from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

KEYS, SYMBOLS = 2_000, 1_000
FILES = 16
PRIME = 4_294_967_291
"""Hashes are added modulo this number, so that the sum of many fits a bigint."""
LONGEST_REASON = 400
COLUMNS: dict[str, Callable[[], Column]] = {
    "n": F.row_number,
    "total": lambda: F.sum("amount"),
    "before": lambda: F.lag("amount", 1),
}
JOINED = ("symbol", "traded_at", "trade", "quoted_at", "bid")
TRADES = "symbol string, traded_at timestamp, trade bigint, quoted_at timestamp, bid bigint"
OWN_JOIN = """
    SELECT t.symbol, t.traded_at, t.trade, q.quoted_at, q.bid
    FROM trades t LEFT ASOF JOIN quotes q
    MATCH_CONDITION (t.traded_at >= q.quoted_at) ON t.symbol = q.symbol
"""


class Way(NamedTuple):
    """A way to make rows: its interface, and a function of a session, a folder of input and W."""

    through: str
    make: Callable[[SparkSession, Path, int], DataFrame]


def moment(rows: int, spacing: int) -> Column:
    """Return a different time for each `id` below `rows`, in another order; `spacing` in µs."""
    last = (1 << max(rows - 1, 1).bit_length()) - 1
    return F.expr(f"timestamp_micros(1700000000000000 + ((id * 2654435761) & {last}) * {spacing})")


def write_rows(spark: SparkSession, folder: Path, rows: int, hot_tenths: int) -> None:
    """Write rows of a window: tenths of them have key `KEYS`, the others have uniform keys."""
    number = F.xxhash64("id")
    hot = F.pmod(number, F.lit(10)) < hot_tenths
    spark.range(0, rows, 1, FILES).select(
        F.when(hot, KEYS).otherwise(F.pmod(number, F.lit(KEYS))).alias("key"),
        moment(rows, 1000).alias("time"),
        F.pmod(F.xxhash64("id", F.lit(1)), F.lit(1000)).alias("amount"),
    ).write.parquet(str(folder))


def write_sides(spark: SparkSession, folder: Path, left: int, right: int) -> None:
    """Write trades and quotes: half of both have one symbol."""
    sizes = [max(rows - 1, 1).bit_length() for rows in (left, right)]
    quotes_spacing = max(1, (1000 << sizes[0]) >> sizes[1])
    for name, rows, time_of, number, spacing in (
        ("trades", left, "traded_at", "trade", 1000),
        ("quotes", right, "quoted_at", "bid", quotes_spacing),
    ):
        other = F.concat(F.lit("S"), F.pmod(F.xxhash64("id", F.lit(1)), F.lit(SYMBOLS)))
        spark.range(0, rows, 1, FILES).select(
            F.when(F.pmod(F.xxhash64("id"), F.lit(2)) == 0, "AAA").otherwise(other).alias("symbol"),
            moment(rows, spacing).alias(time_of),
            F.col("id").alias(number),
        ).write.parquet(str(folder / name))


def window_by_spark(spark: SparkSession, folder: Path, workers: int) -> DataFrame:
    del workers
    window = Window.partitionBy("key").orderBy("time")
    rows = spark.read.parquet(str(folder))
    return rows.withColumns({name: make().over(window) for name, make in COLUMNS.items()})


def window_by_evenkey(spark: SparkSession, folder: Path, workers: int) -> DataFrame:
    columns = {name: make() for name, make in COLUMNS.items()}
    return eks.over(spark.read.parquet(str(folder)), "key", "time", columns, workers=workers)


def sides_of(spark: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    return spark.read.parquet(str(folder / "trades")), spark.read.parquet(str(folder / "quotes"))


def join_by_evenkey(spark: SparkSession, folder: Path, workers: int) -> DataFrame:
    trades, quotes = sides_of(spark, folder)
    joined = eks.asof_join(trades, quotes, "symbol", "traded_at", "quoted_at", workers=workers)
    return joined.select(*JOINED)


def join_by_spark(spark: SparkSession, folder: Path, workers: int) -> DataFrame:
    del workers
    spark.conf.set("spark.sql.join.asofJoin.enabled", "true")
    for name, side in zip(("trades", "quotes"), sides_of(spark, folder), strict=True):
        side.createOrReplaceTempView(name)
    return spark.sql(OWN_JOIN)


def last_quotes(trades: pd.DataFrame, quotes: pd.DataFrame) -> pd.DataFrame:
    """Match the trades of a symbol with its quotes in pandas."""
    found = pd.merge_asof(
        trades.sort_values("traded_at"),
        quotes.drop(columns="symbol").sort_values("quoted_at"),
        left_on="traded_at",
        right_on="quoted_at",
    )
    return found[[*JOINED]].astype({"bid": "Int64"})


def join_by_pandas(spark: SparkSession, folder: Path, workers: int) -> DataFrame:
    del workers
    trades, quotes = (each.groupBy("symbol") for each in sides_of(spark, folder))
    return trades.cogroup(quotes).applyInPandas(last_quotes, TRADES)


def join_of_all_pairs(spark: SparkSession, folder: Path, workers: int) -> DataFrame:
    del workers
    trades, quotes = sides_of(spark, folder)
    joined = trades._joinAsOf(
        quotes,
        trades["traded_at"],
        quotes["quoted_at"],
        trades["symbol"] == quotes["symbol"],
        "left",
    )
    sides = (trades, trades, trades, quotes, quotes)
    return joined.select(*(side[name] for side, name in zip(sides, JOINED, strict=True)))


WINDOWS = {
    "spark": Way("functions over a Window", window_by_spark),
    "evenkey": Way("eks.over", window_by_evenkey),
}
JOINS = {
    "evenkey": Way("eks.asof_join", join_by_evenkey),
    "spark": Way("SQL's ASOF JOIN with spark.sql.join.asofJoin.enabled", join_by_spark),
    "cogroup": Way("cogroup(...).applyInPandas and pandas.merge_asof", join_by_pandas),
    "all-pairs": Way("DataFrame._joinAsOf", join_of_all_pairs),
}
WAYS = {"windows": WINDOWS, "joins": JOINS}


def digest(df: DataFrame) -> list[int]:
    """Compute all rows, and return their number, and a sum and a combination of their hashes."""
    number = F.xxhash64(*df.columns)
    total = F.sum(F.pmod(number, F.lit(PRIME)))
    (row,) = df.agg(F.count("*"), total, F.bit_xor(number)).collect()
    return [*row]


def measured(work: Callable[[], object]) -> tuple[object, dict[str, float]]:
    """Return a result, with its seconds of wall time and processor time, and when it ran."""
    processor, began = processor_seconds(), time.time()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    return result, {
        "began": began,
        "ended": time.time(),
        "seconds": seconds,
        "processor_seconds": processor_seconds() - processor,
    }


def write(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """Write the input of other tasks."""
    make = {"windows": write_rows, "joins": write_sides}[task["work"]]
    make(spark, Path(task["folder"]), *task["sizes"])
    return {}


def once(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """Run a way once: compute the digest of its rows."""
    make = WAYS[task["work"]][task["way"]].make
    folder, workers = Path(task["folder"]), task["workers"]
    found, figures = measured(lambda: digest(make(spark, folder, workers)))
    return {"digest": found, "run": figures}


def interleaved(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """Run all ways in turn; the first run of each gives its digest, and is not measured."""
    ways, folder, workers = WAYS[task["work"]], Path(task["folder"]), task["workers"]
    if task["cached"]:
        spark.read.parquet(str(folder)).persist().count()
    digests = {name: digest(way.make(spark, folder, workers)) for name, way in ways.items()}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in ways}

    def compute(way: Way) -> None:
        way.make(spark, folder, workers).write.format("noop").mode("overwrite").save()

    for number in range(task["rounds"]):
        for name in [*ways][:: -1 if number % 2 else 1]:
            figures = measured(functools.partial(compute, ways[name]))[1]
            runs[name].append(figures)
    return {"digests": digests, "runs": runs}


@contextlib.contextmanager
def started(task: dict[str, Any]) -> Iterator[SparkSession]:
    spark = eks.session(task["master"], task["settings"])
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def main() -> None:
    task = json.loads(sys.argv[1])
    try:
        with started(task) as spark:
            outcome = {"write": write, "once": once, "interleaved": interleaved}[task["do"]](
                spark, task
            )
    except Exception as error:  # noqa: BLE001 - whatever ends a way is its outcome
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        outcome = {"failed": reason[:LONGEST_REASON]}
    Path(task["outcome"]).write_text(json.dumps(outcome))


if __name__ == "__main__":
    main()
