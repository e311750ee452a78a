"""Compare groupings with the remedies for hot keys that Spark users have today, in one run.

Every contender does the same work on the same cached rows, message by message in Python after the
shuffle, and ends with one result per key, which is checked. A message costs its worker `--cost-ms`
of sleep, so that W task slots stand for W cores on any machine. Runs of contenders are interleaved,
`--rounds` times; figures are medians. The largest part is the maximum number of messages that the
function gets for one key on one worker, in fair shares of a worker.

    python benchmarks/against_spark.py                    # about seven minutes
    python benchmarks/against_spark.py --json > figures.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import functions as F
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey import spark as eks
from evenkey.core.metrics import dist_cost_lower_bound
from evenkey.core.streams import generated
from evenkey.spark.sessions.starting import local_master, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

STREAMS = {"z = 1.4": "zipf(z=1.4,keys=100000)", "r80": "country-skew-r80"}
PARTIAL = "key string, worker int, messages long"
NEAR_LEAST = 1.1  # replication of at most this times its lower bound counts as near it
SEED = 7
HEADINGS = (
    "contender",
    "wall time, s",
    "max/mean",
    "DistCost",
    "near the least",
    "largest part",
)
ROW_BYTES = 32  # size of a shuffled row

# Adaptive execution merges small shuffle partitions; at production sizes it would not merge these.
USUAL = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}
# Adaptive execution's limits for skew, scaled down from hundreds of megabytes to these rows.
SKEW = {
    "spark.sql.adaptive.skewJoin.enabled": "true",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.1",
    "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "true",
    "spark.sql.adaptive.rebalancePartitionsSmallPartitionFactor": "0.1",
}


def count_messages(rows: pd.DataFrame, cost_ms: float) -> dict[str, int]:
    """Do the work on each message: count it by its key, and sleep."""
    counts: dict[str, int] = {}
    for key in rows["key"]:
        counts[key] = counts.get(key, 0) + 1
    time.sleep(cost_ms / 1000 * len(rows))
    return counts


def this_worker() -> int:
    context = TaskContext.get()
    return -1 if context is None else context.partitionId()


def on_groups(cost_ms: float) -> Callable[[tuple[Any, ...], pd.DataFrame], pd.DataFrame]:
    """Return a function that works on all messages of a key, or of a key and a salt."""

    def work(group: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        count = count_messages(rows, cost_ms)[group[0]]
        return pd.DataFrame({"key": [group[0]], "worker": [this_worker()], "messages": [count]})

    return work


def on_partitions(cost_ms: float) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return a function that works on all messages of a worker."""

    def work(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        held: dict[str, int] = {}
        for rows in batches:
            for key, count in count_messages(rows, cost_ms).items():
                held[key] = held.get(key, 0) + count
        yield pd.DataFrame({"key": [*held], "worker": this_worker(), "messages": [*held.values()]})

    return work


class Contender(NamedTuple):
    """A way to spread the work: it turns rows into partial results, under its Spark settings.

    Spark adds the partial results up by key, unless the contender does so itself.
    """

    name: str
    partials: Callable[[DataFrame, float, int], DataFrame]
    settings: dict[str, str]
    adds_up: bool = False


def by_key(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
    del workers
    return rows.groupBy("key").applyInPandas(on_groups(cost_ms), PARTIAL)


def salted(salts: int | None) -> Callable[[DataFrame, float, int], DataFrame]:
    def partials(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
        salt = F.floor(F.rand(SEED) * (salts or workers))
        groups = rows.withColumn("salt", salt).groupBy("key", "salt")
        return groups.applyInPandas(on_groups(cost_ms), PARTIAL)

    return partials


def rebalanced(*columns: str) -> Callable[[DataFrame, float, int], DataFrame]:
    def partials(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
        spread = rows.hint("rebalance", workers, *columns)
        return spread.mapInPandas(on_partitions(cost_ms), PARTIAL)

    return partials


def grouped(grouping: str) -> Callable[[DataFrame, float, int], DataFrame]:
    def partials(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
        placed = eks.place(eks.route(rows, "key", grouping, workers), workers)
        return placed.mapInPandas(on_partitions(cost_ms), PARTIAL)

    return partials


def whole_keys(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
    return eks.groupBy(rows, "key", workers=workers).applyInPandas(on_groups(cost_ms), PARTIAL)


def totals() -> list[Column]:
    """Return aggregates of a key: its messages, and those that each worker held, for checks."""
    parts = F.collect_list(F.struct("worker", "messages"))
    return [F.sum("messages").alias("messages"), parts.alias("parts")]


def as_they_are(parts: pd.DataFrame) -> pd.DataFrame:
    """Merge nothing: keep the part of each worker, so that it can be checked afterwards."""
    return parts


def split_keys(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
    grouped = eks.groupBy(rows, "key", workers=workers)
    return grouped.applyInPandas(on_groups(cost_ms), PARTIAL, merge=as_they_are)


def split_and_added(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
    grouped = eks.groupBy(rows, "key", workers=workers)
    return grouped.applyInPandas(on_groups(cost_ms), PARTIAL, merge=totals())


def salted_and_merged(rows: DataFrame, cost_ms: float, workers: int) -> DataFrame:
    partials = salted(8)(rows, cost_ms, workers)
    return partials.groupBy("key").applyInPandas(as_they_are, PARTIAL)


CONTENDERS = (
    Contender("groupBy", by_key, USUAL),
    Contender("groupBy with adaptive skew rules", by_key, USUAL | SKEW),
    Contender("groupBy with 8 salts", salted(8), USUAL),
    Contender("groupBy with W salts", salted(None), USUAL),
    Contender("eks.groupBy whole", whole_keys, USUAL),
    Contender("eks.groupBy split", split_and_added, USUAL, adds_up=True),
    Contender("8 salts and a function", salted_and_merged, USUAL),
    Contender("eks.groupBy split and a function", split_keys, USUAL),
    Contender("rebalance hint", rebalanced(), USUAL | SKEW),
    Contender("rebalance hint by key", rebalanced("key"), USUAL | SKEW),
    *(Contender(name, grouped(name), USUAL) for name in ("kg", "pkg", "dkg", "planned")),
)


@contextlib.contextmanager
def settings_of(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def rows_of(spark: SparkSession, stream: str, messages: int, partitions: int) -> DataFrame:
    made = generated(stream, messages=messages)
    keys = made.texts(made.ids(0, messages)).to_pandas()
    df = spark.createDataFrame(pd.DataFrame({"key": keys})).repartition(partitions).persist()
    df.count()
    return df


def measured(
    spark: SparkSession, contender: Contender, rows: DataFrame, cost_ms: float, workers: int
) -> tuple[float, pd.DataFrame]:
    """Return the seconds to the merged result, and each worker's messages of each key."""
    with settings_of(spark, contender.settings):
        start = time.perf_counter()
        merged = contender.partials(rows, cost_ms, workers)
        if not contender.adds_up:
            merged = merged.groupBy("key").agg(*totals())
        results = merged.collect()
        seconds = time.perf_counter() - start
    held = [(row.key, part.worker, part.messages) for row in results for part in row.parts]
    return seconds, pd.DataFrame(held, columns=["key", "worker", "messages"])


def figures(
    spark: SparkSession,
    rows: DataFrame,
    contenders: list[Contender],
    cost_ms: float,
    workers: int,
    rounds: int,
) -> list[dict[str, Any]]:
    counted = {row[0]: row[1] for row in rows.groupBy("key").count().collect()}
    least = dist_cost_lower_bound([*counted.values()], workers)
    for contender in contenders:  # starts Python workers, compiles kernels
        measured(spark, contender, rows.limit(1000), 0.0, workers)
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    held: dict[str, pd.DataFrame] = {}
    for _ in range(rounds):
        for contender in contenders:
            taken, held[contender.name] = measured(spark, contender, rows, cost_ms, workers)
            seconds[contender.name].append(taken)
            found = held[contender.name].groupby("key")["messages"].sum()
            if found.to_dict() != counted:
                message = f"{contender.name}: the result is not that of counting"
                raise AssertionError(message)
    return [
        {
            "contender": name,
            "seconds": statistics.median(seconds[name]),
            "max_over_mean": maximum_load(parts, workers),
            "dist_cost": len(parts.drop_duplicates(["key", "worker"])) / len(counted),
            "dist_cost_lower_bound": least,
            "largest_part": float(parts["messages"].max() * workers / parts["messages"].sum()),
            "least_seconds_whole": least_seconds(counted, workers, cost_ms),
            "least_seconds": sum(counted.values()) / workers * cost_ms / 1000,
        }
        for name, parts in held.items()
    ]


def least_seconds(counted: dict[str, int], workers: int, cost_ms: float) -> float:
    """Return the seconds of work that no placement of whole keys can go below."""
    hottest_first = sorted(counted.values(), reverse=True)
    fair = sum(hottest_first) / workers
    # Two of the W + 1 hottest keys must share a worker.
    two = sum(hottest_first[workers - 1 : workers + 1])
    return max(hottest_first[0], fair, two) * cost_ms / 1000


def maximum_load(parts: pd.DataFrame, workers: int) -> float:
    """Return the maximum load of a task over the mean of W workers; there may be more tasks."""
    loads = parts.groupby("worker")["messages"].sum()
    return float(loads.max() * workers / loads.sum())


def plain_counts(spark: SparkSession, messages: int, workers: int, rounds: int) -> dict[str, float]:
    """Return the seconds of a plain count by key: of Spark's own, and of two groupings."""
    rows = rows_of(spark, STREAMS["r80"], messages, workers)
    ways = {
        "Spark's groupBy().count()": lambda: rows.groupBy("key").count().collect(),
        "aggregate(kg, count)": lambda: eks.aggregate(rows, "key", "kg", workers).collect(),
        "aggregate(planned, count)": lambda: eks.aggregate(
            rows, "key", "planned", workers
        ).collect(),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if number:  # the first round warms up
                taken[name].append(time.perf_counter() - start)
    rows.unpersist()
    return {name: statistics.median(times) for name, times in taken.items()}


def show(outcome: dict[str, Any]) -> None:
    console = Console(width=120)
    for stream, contenders in outcome["streams"].items():
        bound = contenders[0]["dist_cost_lower_bound"]
        whole, split = (contenders[0][each] for each in ("least_seconds_whole", "least_seconds"))
        console.print(
            f"\n{stream}: least replication {bound:.3f}, least work {split:.1f} s, with whole keys "
            f"{whole:.1f} s\n",
            highlight=False,
        )
        table = Table(box=MARKDOWN)
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading == "contender" else "right")
        for each in contenders:
            near = each["dist_cost"] <= NEAR_LEAST * bound
            table.add_row(
                each["contender"],
                f"{each['seconds']:.1f}",
                f"{each['max_over_mean']:.3f}",
                f"{each['dist_cost']:.3f}",
                "yes" if near else "no",
                f"{each['largest_part']:.3f}",
            )
        console.print(table)
    console.print(f"\nA plain count of {outcome['count_messages']:,} messages\n", highlight=False)
    table = Table(box=MARKDOWN)
    table.add_column("way")
    table.add_column("wall time, s", justify="right")
    for way, seconds in outcome["plain_count"].items():
        table.add_row(way, f"{seconds:.2f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=50_000, help="messages per stream")
    parser.add_argument("--cost-ms", type=float, default=1.0, help="cost per message, ms")
    parser.add_argument(
        "--workers", type=int, default=10, help="number of workers, each one task slot"
    )
    parser.add_argument("--rounds", type=int, default=1, help="how often each contender runs")
    parser.add_argument(
        "--count-messages", type=int, default=2_000_000, help="messages of the plain count"
    )
    parser.add_argument("--contenders", default="", help="only these, separated by commas")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    wanted = set(filter(None, given.contenders.split(",")))
    contenders = [each for each in CONTENDERS if not wanted or each.name in wanted]
    if len(contenders) < len(wanted):
        parser.error(f"there are: {'; '.join(each.name for each in CONTENDERS)}")
    spark = session(
        local_master(given.workers),
        {
            "spark.sql.shuffle.partitions": str(given.workers),
            # Adaptive execution measures bytes, and a hot key's rows compress to almost nothing.
            "spark.shuffle.compress": "false",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    share = ROW_BYTES * given.messages // given.workers
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", str(share))
    spark.conf.set("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", str(share))
    outcome: dict[str, Any] = {**vars(given), "streams": {}}
    for name, stream in STREAMS.items():
        rows = rows_of(spark, stream, given.messages, given.workers)
        outcome["streams"][name] = figures(
            spark, rows, contenders, given.cost_ms, given.workers, given.rounds
        )
        rows.unpersist()
    outcome["plain_count"] = plain_counts(spark, given.count_messages, given.workers, 3)
    spark.stop()
    if given.json:
        sys.stdout.write(json.dumps(outcome, indent=2) + "\n")
    else:
        show(outcome)


if __name__ == "__main__":
    main()
