"""Sixty calls that shuffle by key, all different: ``python -m tests.spark.sixty_plans``.

The program writes the fingerprints of the calls to ``fingerprints.json``. They must be the same
under all versions of Spark, in classic sessions and over Connect.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from evenkey.spark.intercepted import Interception, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.spark.intercepted import InterceptedCall

GOLDEN = Path(__file__).with_name("fingerprints.json")
CLICKS, ORDERS = "user string, id bigint, day string", "user string, shop int, amount double"
OUT = "n bigint"


def last(rows):
    return rows


def first(rows):
    return rows


def both(left, right):
    return left if len(left) else right


def inputs(spark: SparkSession, day: str) -> dict[str, DataFrame]:
    """Write files without Spark into a new directory, and read them."""
    home = Path(tempfile.mkdtemp(dir="/tmp"))
    clicks = pa.table({"user": ["ann", "bob"], "id": [1, 2], "day": ["mon", "tue"]})
    orders = pa.table({"user": ["ann"], "shop": pa.array([3], pa.int32()), "amount": [1.5]})
    for name, rows in (("clicks", clicks), ("orders", orders)):
        (home / day / name).mkdir(parents=True)
        pq.write_table(rows, home / day / name / "part-0.parquet")
    text = home / f"text_{day}"
    text.mkdir()
    (text / "rows.csv").write_text("ann,1,mon\n")
    reader = spark.read.schema(CLICKS)
    spark.sql(f"create table evenkey_clicks ({CLICKS}) using parquet location '{home}/table'")
    orders_read = spark.read.parquet(str(home / day / "orders"))
    orders_read.createOrReplaceTempView(f"orders_{day.replace('-', '_')}")
    return {
        "clicks": spark.read.parquet(str(home / day / "clicks")),
        "orders": orders_read,
        "csv": reader.csv(str(text)),
        "json": reader.json(str(text)),
        "table": spark.table("evenkey_clicks"),
        "view": spark.table(f"orders_{day.replace('-', '_')}"),
        "rows": spark.createDataFrame([("ann", 1)], "who string, n bigint"),
    }


def calls(spark: SparkSession, day: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield sixty calls with their names."""
    given = inputs(spark, day)
    yield from of_clicks(given["clicks"])
    yield from of_other_inputs(spark, given)
    yield from of_changed_inputs(given["clicks"], given["orders"])
    yield from cogroups(given["clicks"], given["orders"], given["rows"])
    yield from joins(given["clicks"], given["orders"], given["rows"], given["table"])
    yield from writes(given["clicks"], given["orders"])


def pandas(df, *keys, function=last):
    return lambda: df.groupBy(*keys).applyInPandas(function, OUT)


def arrow(df, *keys):
    return lambda: df.groupBy(*keys).applyInArrow(last, OUT)


def of_clicks(c):
    yield "by user", pandas(c, "user")
    yield "another function", pandas(c, "user", function=first)
    yield "arrow", arrow(c, "user")
    yield "by day", pandas(c, "day")
    yield "two keys", pandas(c, "user", "day")
    yield "two keys, other order", pandas(c, "day", "user")
    yield "upper", pandas(c, F.upper("user"))
    yield "lower", pandas(c, F.lower("user"))
    yield "modulo 5", pandas(c, F.col("id") % 5)
    yield "modulo 7", pandas(c, c.id % 7)
    yield "cast", pandas(c, F.col("user").cast("int"))
    yield "filter 5", pandas(c.where("id > 5"), "user")
    yield "filter 6", pandas(c.where(c.id > 6), "user")
    yield "filter text", pandas(c.where("id > 5 and user = 'ann'"), "user")


def of_other_inputs(spark, given):
    o, r = given["orders"], given["rows"]
    yield "orders", pandas(o, "user")
    yield "by shop", pandas(o, "shop")
    yield "rows", pandas(r, "who")
    yield "rows by number", pandas(r, "n")
    yield "range", pandas(spark.range(9), "id")
    yield "range, arrow", arrow(spark.range(9), "id")
    yield "range of others", pandas(spark.range(8), "id")
    yield "csv", pandas(given["csv"], "user")
    yield "json", pandas(given["json"], "user")
    yield "table", pandas(given["table"], "user")


def of_changed_inputs(c, o):
    yield "computed upper", pandas(c.withColumn("k", F.upper("user")), "k")
    yield "computed lower", pandas(c.withColumn("k", F.lower("user")), "k")
    yield "fewer columns", pandas(c.select("user", "id"), "user")
    yield "other type", pandas(c.withColumn("id", F.col("id").cast("string")), "user")
    yield "distinct", pandas(c.dropDuplicates(["user"]), "user")
    yield "union", pandas(c.unionAll(c), "user")
    yield "limit", pandas(c.limit(10), "user")
    yield "exploded", pandas(c.select("user", F.explode(F.array("id", "id"))), "user")
    yield "aggregated", pandas(c.groupBy("user", "day").agg(F.sum("id")), "user")
    yield "joined", pandas(c.join(o, "user"), "shop")
    yield "left joined", pandas(c.join(o, "user", "left"), "shop")


def cogroup(left, right, *keys, others=(), method="applyInPandas"):
    def call():
        grouped = left.groupBy(*keys).cogroup(right.groupBy(*(others or keys)))
        return getattr(grouped, method)(both, OUT)

    return call


def cogroups(c, o, r):

    yield "cogroup", cogroup(c, o, "user")
    yield "cogroup, other order", cogroup(o, c, "user")
    yield "cogroup, arrow", cogroup(c, o, "user", method="applyInArrow")
    yield "cogroup of rows", cogroup(c, r, "user", others=("who",))
    yield "cogroup by two", cogroup(c, r, "user", "id", others=("who", "n"))
    yield "cogroup by upper", cogroup(c, o, F.upper("user"))
    yield "cogroup, filter", cogroup(c.where("id > 5"), o, "user")


def join(left, right, on, how="inner"):
    return lambda: left.join(right, on, how)


def joins(c, o, r, t):

    yield "join", join(c, o, "user")
    for how in ("left", "right", "full", "semi", "anti"):
        yield f"{how} join", join(c, o, "user", how)
    yield "join, other order", join(o, c, "user")
    yield "join by condition", join(c, r, c.user == r.who)
    yield "join by null-safe", join(c, r, c.user.eqNullSafe(r.who))
    yield "join by two", join(c, r, [c.user == r.who, c.id == r.n])
    yield "join by upper", join(c, r, F.upper(c.user) == r.who)
    yield "join by number", join(c, r, c.id == r.n)
    yield "join, filter", join(c, o.where("amount > 3.5"), "user")
    yield "self-join", join(c, c.select("user", F.col("id").alias("n")), "user")
    yield "join of aliases", join(c.alias("x"), c.alias("y"), F.expr("x.user = y.day"))
    yield "join of a table", join(c, t, "user")


def write(df, *columns):
    return lambda: df.write.mode("append").partitionBy(*columns).parquet("/no/such/place")


def writes(c, o):

    yield "write", write(c, "day")
    yield "write by user", write(c, "user")
    yield "write by two", write(c, "day", "user")
    yield "write of orders", write(o, "shop")


def same_calls(spark: SparkSession, day: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the calls of these names in `calls`, but written differently."""
    given = inputs(spark, day)
    c, o, r = (given[name] for name in ("clicks", "orders", "rows"))
    yield "by user", lambda: c.alias("a").groupby(["user"]).applyInPandas(last, schema=OUT)
    yield "by user", lambda: c.repartition(7).groupBy(F.col("user")).applyInPandas(last, OUT)
    yield "by user", lambda: c.groupBy(1).applyInPandas(func=last, schema=OUT)
    yield "orders", lambda: given["view"].groupBy("user").applyInPandas(last, OUT)
    yield "join", lambda: c.join(F.broadcast(o), ["user"])
    yield "join by condition", lambda: c.alias("a").join(r, F.expr("a.user = who"))
    yield "write", lambda: c.write.parquet("/no/such/place", partitionBy="day")


def described(
    spark: SparkSession, named: Iterator[tuple[str, Callable[[], object]]]
) -> list[tuple[str, Any]]:
    """Return the names of calls with what `describe` says of them; nothing is computed."""

    def handle(call: InterceptedCall) -> Any:
        return describe(call, None if call.kind == "write" else call.spark(*call.frames))

    try:
        every = list(named)
        interception = Interception(spark, handle)
        try:
            return [(name, call()) for name, call in every]
        finally:
            interception.close()
    finally:
        spark.sql("drop table if exists evenkey_clicks")


if __name__ == "__main__":
    from evenkey.spark import session

    spark = session("local[1]", {"spark.ui.enabled": "false"})
    every = described(spark, calls(spark, "2026-11-25"))
    found = {name: each.fingerprint for name, each in every}
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
