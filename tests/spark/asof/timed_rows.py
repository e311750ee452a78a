"""Two sides with a hot key and times, and two other ways to match them: pandas and a plain join."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.spark.asof.match_request import MatchRequest
from evenkey.spark.windows.window_plans import planned

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

WORKERS = 5
TIMES = {
    "whole": "cast(pmod(h, 400) as int)",
    "long": "pmod(h, 500) * 1844674407370955",
    "ends": "case pmod(h, 5) when 0 then -9223372036854775807 - 1 when 1 then -1 when 2 then 0"
    " when 3 then 1 else 9223372036854775807 end",
    "decimal": "cast(pmod(h, 500) / 8 - 20 as decimal(12, 3))",
    "real": "case pmod(h, 29) when 0 then double('NaN') when 1 then -0.0D when 2 then 0.0D"
    " when 3 then double('-Infinity') when 4 then double('Infinity') else pmod(h, 300) / 7 end",
    "single": "cast(pmod(h, 300) / 8 - 5 as float)",
    "day": "date_add(date'1969-12-01', cast(pmod(h, 90) as int))",
    "time": "timestamp_micros(1761400000000000 + pmod(h, 400) * 60000000)",
    "local": "cast(timestamp_micros(1761400000000000 + pmod(h, 400) * 60000000) as timestamp_ntz)",
}
"""SQL of times, from a number `h` that is like a random one."""
TOLERANCES: dict[str, Any] = {
    "whole": 3,
    "long": 5 * 1844674407370955,
    "ends": 1,
    "decimal": 0.25,
    "real": 0.5,
    "single": 0.125,
    "day": dt.timedelta(days=1),
    "time": dt.timedelta(minutes=2),
    "local": dt.timedelta(seconds=150),
}


def left_rows(spark: SparkSession, count: int = 400, seed: int = 0) -> DataFrame:
    """Make left rows: `user` 0 has 60 % of them, 12 % are null; `id` is different in all rows."""
    numbered = spark.range(0, count, 1, 3).selectExpr("id", f"xxhash64(id, {seed}) as h")
    return numbered.selectExpr("id", _USER, _KIND, *_TIMES, "pmod(h, 10) as price")


def right_rows(spark: SparkSession, count: int = 200, seed: int = 0) -> DataFrame:
    """Make right rows with ties in the times; `seq` is different in all rows."""
    numbered = spark.range(0, count, 1, 2).selectExpr("id", f"xxhash64(-id, {seed + 1}) as h")
    rows = numbered.selectExpr("id", _USER, _KIND, *_TIMES, "if(pmod(h, 7) = 0, null, h) as bid")
    return rows.withColumn("seq", F.expr(f"xxhash64(id, {seed + 2})")).drop("id")


_USER = "case when id % 10 < 6 then 0 when id % 8 = 0 then null else id % 13 end as user"
_KIND = "if(id % 3 = 0, 'x', 'y') as kind"
_TIMES = [
    f"if(pmod(h, 17) = {number}, null, {sql}) as {name}"
    for number, (name, sql) in enumerate(TIMES.items())
]


def matched(
    left: DataFrame, right: DataFrame, on: Any, time: str, *, cuts: bool = True, **options: Any
) -> dict[int, int | None]:
    """Return the `seq` of the match of each `id`, by `asof_join`."""
    options = {"workers": WORKERS, "right_order": "seq", **options}
    if cuts:
        assert_cut(left, right, on, time, **options)
    found = operators.asof_join(left, right, on, time, time, **options)
    rows = found.select("id", "seq").collect()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["seq"] for row in rows}


def assert_cut(left: DataFrame, right: DataFrame, on: Any, time: str, **options: Any) -> None:
    """Assert that a hot key is cut."""
    usual: dict[str, Any] = {
        "how": "left",
        "direction": "backward",
        "tolerance": None,
        "allow_exact_matches": True,
        "state": None,
        "cost": None,
    }
    request = MatchRequest.of(left, right, on, time, time, **(usual | options))
    cuts = planned(request.windows).cuts
    assert cuts is not None
    assert len(cuts.workers) > 1


def joined(
    left: DataFrame,
    right: DataFrame,
    on: list[str],
    time: str,
    *,
    how: str = "left",
    direction: str = "backward",
    tolerance: Any = None,
    allow_exact_matches: bool = True,
) -> dict[int, int | None]:
    """Return the matches by a plain join of all pairs of a key, of which the nearest stays."""
    given, other = F.col("given"), F.col("other")
    first = left.select("id", *on, F.col(time).alias("given"))
    second = right.select(*on, F.col(time).alias("other"), "seq")
    pairs = first.join(second, on).where(given.isNotNull() & other.isNotNull())
    pairs = pairs.where(~_nan(pairs, "given") & ~_nan(pairs, "other"))
    before, after = other < given, other > given
    if direction == "backward":
        pairs = pairs.where(before | ((other == given) & allow_exact_matches))
    elif direction == "forward":
        pairs = pairs.where(after | ((other == given) & allow_exact_matches))
    elif not allow_exact_matches:
        pairs = pairs.where(before | after)
    apart = F.when(before, _apart(pairs, given, other)).otherwise(_apart(pairs, other, given))
    pairs = pairs.withColumn("apart", F.when(before | after, apart).otherwise(F.lit(0)))
    if tolerance is not None:
        pairs = pairs.where(F.col("apart") <= F.lit(_number(tolerance)))
    backward = F.lit(direction != "forward") & (other <= given)
    order = [
        F.col("apart").asc(),
        F.when(other < given, 0).otherwise(1).asc(),
        # All times are equally far from an infinite one.
        F.when(other <= given, other).desc_nulls_last(),
        other.asc(),
        F.when(backward, F.lit(1)).otherwise(0).desc(),
    ]
    last = F.when(backward, F.col("seq")).desc_nulls_last()
    order += [last, F.col("seq").asc()]
    number = F.row_number().over(Window.partitionBy("id").orderBy(*order))
    found = pairs.withColumn("n", number).where("n = 1").select("id", "seq")
    wanted = left.select("id").join(found, "id", how)
    return {row["id"]: row["seq"] for row in wanted.collect()}


def _nan(pairs: DataFrame, name: str) -> Column:
    kind = pairs.schema[name].dataType.typeName()
    return F.isnan(name) if kind in ("double", "float") else F.lit(0) == 1


def _apart(pairs: DataFrame, later: Column, earlier: Column) -> Column:
    """Return a distance as a number with enough digits; times as seconds."""
    kind = pairs.schema["given"].dataType.typeName()
    if kind in ("double", "float"):
        return later.cast("double") - earlier.cast("double")
    if kind == "date":
        return (F.datediff(later, earlier) * 86400).cast("decimal(38, 6)")
    if kind.startswith("timestamp"):
        later, earlier = (
            each.cast("timestamp").cast("decimal(30, 6)") for each in (later, earlier)
        )
    return (later.cast("decimal(30, 6)") - earlier.cast("decimal(30, 6)")).cast("decimal(38, 6)")


def _number(tolerance: Any) -> float:
    return tolerance.total_seconds() if isinstance(tolerance, dt.timedelta) else tolerance


def by_pandas(
    left: DataFrame, right: DataFrame, on: list[str], time: str, **options: Any
) -> dict[int, int | None]:
    """Return the matches of rows without nulls by `pandas.merge_asof`."""
    # In Spark, as pandas would turn whole numbers with nulls into doubles.
    first: Any = left.select("id", *on, time).dropna().toPandas()
    second: Any = right.select(*on, time, "seq").dropna().toPandas()
    first = first.sort_values(time, kind="stable")
    second = second.sort_values([time, "seq"])
    second["seq"] = second["seq"].astype(str)  # missing values would make numbers inexact
    for side in (first, second):
        for name in on:
            side[name] = side[name].astype(str)
    found = pd.merge_asof(first, second, on=time, by=on or None, **options)
    return {int(row.id): None if pd.isna(row.seq) else int(row.seq) for row in found.itertuples()}
