"""Compare balanced joins with what a Spark user would write, on the same stream.

By key: a stream with hot keys is joined with a static table, by Spark's broadcast join, its shuffle
join and `balanced_join`. By space: publications are joined with polygons, by a cross join with the
predicate (few publications only), by a tree of all polygons that is broadcast to a Python function,
and by `balanced_join`, which leaves rows where they are or, in the paper's modes, divides both
sides. All contenders get the same epochs; their result rows are counted and hashed, to check that
they are equal. Figures leave out the first epoch, which starts processes for the others.

    python benchmarks/joins_against_spark.py           # about three minutes
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from pyspark.sql import functions as F
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey.core.streams import generated
from evenkey.joins import DynamicDistributor, Mode, SpatialMatch, balanced_join
from evenkey.joins.sides.division import leaves_of
from evenkey.papers.publish_subscribe.places import (
    PublicationMix,
    Publications,
    draw_subscriptions,
    synthetic_atlas,
)
from evenkey.papers.publish_subscribe.session import join_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

SKEW = 0.7
POLYGONS = 0.1
PAYLOAD = 100
"""Bytes of payload in each row of the static table."""


class Contender(NamedTuple):
    """A way to join: a function from both sides to the joined rows."""

    name: str
    join: Callable[[DataFrame, DataFrame, Path], DataFrame]
    most_rows: int | None = None
    """With more stream rows than this, the contender is left out; None: no limit."""


def broadcast(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
    del directory
    return stream.join(F.broadcast(static), "key")


def shuffled(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
    del directory
    return stream.join(static.hint("shuffle_hash"), "key")


def as_in_paper(mode: str) -> dict[str, Any]:
    """Return the arguments of `balanced_join` for one of the paper's modes, without copies."""
    return {**vars(Mode.parse(mode)), "distributor": DynamicDistributor(copies=False)}


def balanced(workers: int, mode: str) -> Callable[[DataFrame, DataFrame, Path], DataFrame]:
    def join(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
        how = as_in_paper(mode)
        return balanced_join(stream, static, "key", workers=workers, state=directory, **how)

    return join


def crossed(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
    del directory

    def holds(left: pa.Array, right: pa.Array) -> pa.Array:
        one, other = (
            shapely.from_wkb(each.to_numpy(zero_copy_only=False)) for each in (left, right)
        )
        return pa.array(shapely.intersects(one, other))

    # Spark infers the kind of UDF from the type hints, which PySpark's stubs do not allow.
    udf = F.arrow_udf(holds, "boolean")  # type: ignore[call-overload]
    other = static.withColumnRenamed("geometry", "other")
    pairs = stream.crossJoin(F.broadcast(other)).where(udf("geometry", "other"))
    return pairs.select("publication", "subscription")


def tree(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
    del directory
    table = static.toArrow()
    held = stream.sparkSession.sparkContext.broadcast(
        (table["geometry"].to_pylist(), table["subscription"].to_numpy())
    )
    trees: dict[str, shapely.STRtree] = {}

    def match(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoded, names = held.value
        if "tree" not in trees:  # once per task: each task unpickles the function anew
            trees["tree"] = shapely.STRtree(shapely.from_wkb(encoded))
        for batch in batches:
            shapes = shapely.from_wkb(batch["geometry"].to_numpy(zero_copy_only=False))
            left, right = trees["tree"].query(shapes, predicate="intersects")
            columns = [batch["publication"].take(pa.array(left)), pa.array(names[right])]
            yield pa.RecordBatch.from_arrays(columns, names=["publication", "subscription"])

    return stream.mapInArrow(match, "publication bigint, subscription bigint")


def balanced_space(workers: int, mode: str) -> Callable[[DataFrame, DataFrame, Path], DataFrame]:
    def join(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
        match = SpatialMatch(pipeline="spis")
        how = as_in_paper(mode)
        return balanced_join(stream, static, match, workers=workers, state=directory, **how)

    return join


def as_it_comes(stream: DataFrame, static: DataFrame, directory: Path) -> DataFrame:
    """Call `balanced_join` as a user does; polygons are few, so it leaves rows where they are."""
    return balanced_join(stream, static, SpatialMatch(), state=directory)


def write_keyed(root: Path, messages: int, static_rows: int, epochs: int) -> None:
    """Write a stream whose keys repeat as in zipf(1.2), and a table with each key once."""
    stream = generated(f"zipf(z=1.2,keys={static_rows})", messages=messages)
    keys = stream.ids(0, messages).astype(np.int64)
    (root / "stream").mkdir()
    for number, part in enumerate(np.array_split(np.arange(messages), epochs)):
        table = pa.table({"n": part, "key": keys[part]})
        pq.write_table(table, root / "stream" / f"{number:03d}.parquet")
    names = np.arange(static_rows)
    payload = pa.array([f"{each:0{PAYLOAD}d}" for each in names])
    (root / "table").mkdir()
    pq.write_table(pa.table({"key": names, "payload": payload}), root / "table" / "0.parquet")


def write_spatial(root: Path, publications: int, subscriptions: int, epochs: int) -> None:
    """Write polygons, and publications of which 70 % fall on the partitions of 3 of 16 workers."""
    atlas = synthetic_atlas()
    drawn = draw_subscriptions(atlas, subscriptions).drop_columns(["relation"])
    leaves = leaves_of(drawn["geometry"].to_numpy(), "kdb", 64)
    made = Publications(atlas, leaves, 16, PublicationMix(SKEW, POLYGONS))
    (root / "stream").mkdir()
    for number, part in enumerate(np.array_split(np.arange(publications), epochs)):
        pq.write_table(made.make(part), root / "stream" / f"{number:03d}.parquet")
    (root / "table").mkdir()
    pq.write_table(drawn, root / "table" / "0.parquet")


def measured(
    spark: SparkSession, contender: Contender, root: Path, schema: str
) -> tuple[list[float], str]:
    """Return the milliseconds of each epoch, and the count and hash of all rows."""
    with tempfile.TemporaryDirectory(dir=root) as place:
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        stream, static = (
            reader.parquet(str(root / "stream")),
            spark.read.parquet(str(root / "table")),
        )
        joined = contender.join(stream, static, Path(place, "join"))
        found: dict[int, tuple[int, int]] = {}

        def keep(rows: DataFrame, epoch: int) -> None:
            hashes = F.bit_xor(F.xxhash64(*sorted(rows.columns)))
            (row,) = rows.agg(F.count("*").alias("rows"), hashes.alias("hash")).collect()
            found[epoch] = (row["rows"], row["hash"] or 0)

        query = (
            joined.writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(Path(place, "checkpoint")))
            .start()
        )
        query.processAllAvailable()
        progress = [each for each in query.recentProgress if "addBatch" in each["durationMs"]]
        query.stop()
    count, total = sum(each[0] for each in found.values()), 0
    for _, hashed in found.values():
        total ^= hashed
    return [each["durationMs"]["triggerExecution"] for each in progress], f"{count}:{total}"


def figures(
    spark: SparkSession, contenders: list[Contender], root: Path, schema: str, rows: int
) -> list[dict[str, Any]]:
    rows_of_table: list[dict[str, Any]] = []
    outcomes = set()
    for contender in contenders:
        if contender.most_rows is not None and rows > contender.most_rows:
            rows_of_table.append({"contender": contender.name, "epoch_ms": None})
            continue
        lengths, outcome = measured(spark, contender, root, schema)
        outcomes.add(outcome)
        rows_of_table.append(
            {
                "contender": contender.name,
                "epoch_ms": statistics.median(lengths[1:]),
                "first_epoch_ms": lengths[0],
                "rows_per_second": rows / len(lengths) / statistics.median(lengths[1:]) * 1000,
            }
        )
    if len(outcomes) > 1:
        message = f"the joins gave different rows: {outcomes}"
        raise AssertionError(message)
    return rows_of_table


def show(outcome: dict[str, Any]) -> None:
    console = Console(width=120)
    for name in ("keyed", "spatial"):
        table = Table(box=MARKDOWN, title=name)
        for heading in (name, "epoch, ms", "first epoch, ms", "rows/s"):
            table.add_column(heading, justify="left" if heading == name else "right")
        for row in outcome[name]:
            if row["epoch_ms"] is None:
                table.add_row(row["contender"], "left out: too many pairs", "-", "-")
            else:
                numbers = ("epoch_ms", "first_epoch_ms", "rows_per_second")
                table.add_row(row["contender"], *(f"{row[each]:,.0f}" for each in numbers))
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--messages", type=int, default=600_000, help="messages of the keyed stream"
    )
    parser.add_argument("--static-rows", type=int, default=500_000, help="rows of the keyed table")
    parser.add_argument("--publications", type=int, default=12_000)
    parser.add_argument("--subscriptions", type=int, default=10_000)
    parser.add_argument(
        "--most-crossed", type=int, default=2000, help="most publications of the cross join"
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    modes = ("static-strl", "dynamic-lb-stal")
    keyed = [
        Contender("Spark, broadcast join", broadcast),
        Contender("Spark, shuffle join", shuffled),
    ]
    keyed += [Contender(f"balanced_join, {each}", balanced(given.workers, each)) for each in modes]
    spatial = [
        Contender("Spark, cross join with the predicate", crossed, given.most_crossed),
        Contender("Spark, broadcast tree in a Python function", tree),
        Contender("balanced_join, as it comes", as_it_comes),
        *(
            Contender(f"balanced_join, spis, {each}", balanced_space(given.workers, each))
            for each in modes
        ),
    ]
    spark = join_session()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    spark.conf.set("spark.sql.shuffle.partitions", given.workers)
    outcome: dict[str, Any] = vars(given)
    with tempfile.TemporaryDirectory(prefix="evenkey-bench-") as place:
        roots = [Path(place, name) for name in ("keyed", "spatial")]
        for root in roots:
            root.mkdir()
        write_keyed(roots[0], given.messages, given.static_rows, given.epochs)
        write_spatial(roots[1], given.publications, given.subscriptions, given.epochs)
        schema = "n bigint, key bigint"
        outcome["keyed"] = figures(spark, keyed, roots[0], schema, given.messages)
        schema = "publication bigint, geometry binary"
        outcome["spatial"] = figures(spark, spatial, roots[1], schema, given.publications)
    if given.json:
        sys.stdout.write(json.dumps(outcome, indent=2) + "\n")
    else:
        show(outcome)


if __name__ == "__main__":
    main()
