"""Two sides with a hot key and times, and two other ways to match them: pandas and plain Python."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey import spark as operators
from tests.spark.windows.ordered_rows import a_hot_key_is_cut

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyspark.sql import DataFrame, SparkSession

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
PANDAS = ("whole", "long", "time", "local")
"""Times of types that `pandas.merge_asof` takes; it refuses dates, decimals and NaN."""
_MICROSECOND = dt.timedelta(microseconds=1)
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


def left_rows(
    spark: SparkSession, count: int = 400, seed: int = 0, times: Collection[str] = TIMES
) -> DataFrame:
    """Make left rows: `user` 0 has 60 % of them, 12 % are null; `id` is different in all rows."""
    numbered = spark.range(0, count, 1, 3).selectExpr("id", f"xxhash64(id, {seed}) as h")
    return numbered.selectExpr("id", _USER, _KIND, *_of(times), "pmod(h, 10) as price")


def right_rows(
    spark: SparkSession, count: int = 200, seed: int = 0, times: Collection[str] = TIMES
) -> DataFrame:
    """Make right rows with ties in the times; `seq` is different in all rows."""
    numbered = spark.range(0, count, 1, 2).selectExpr("id", f"xxhash64(-id, {seed + 1}) as h")
    bid = "if(pmod(h, 7) = 0, null, h) as bid"
    rows = numbered.selectExpr("id", _USER, _KIND, *_of(times), bid)
    return rows.withColumn("seq", F.expr(f"xxhash64(id, {seed + 2})")).drop("id")


_USER = "case when id % 10 < 6 then 0 when id % 8 = 0 then null else id % 13 end as user"
_KIND = "if(id % 3 = 0, 'x', 'y') as kind"


def _of(times: Collection[str]) -> Iterator[str]:
    """Return the SQL of columns of times; each column is null in other rows."""
    for number, (name, sql) in enumerate(TIMES.items()):
        if name in times:
            yield f"if(pmod(h, 17) = {number}, null, {sql}) as {name}"


def matched(
    left: DataFrame, right: DataFrame, on: Any, time: str, *, cuts: bool = True, **options: Any
) -> dict[int, int | None]:
    """Return the `seq` of the match of each `id`, by `asof_join`."""
    options = {"workers": WORKERS, "right_order": "seq", **options}
    with a_hot_key_is_cut() if cuts else contextlib.nullcontext():
        found = operators.asof_join(left, right, on, time, time, **options)
    rows = found.select("id", "seq").collect()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["seq"] for row in rows}


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
    """Return the matches by comparing all pairs of a key in plain Python."""
    most = tolerance // _MICROSECOND if isinstance(tolerance, dt.timedelta) else tolerance
    rows: dict[tuple[Any, ...], list[tuple[Any, int]]] = defaultdict(list)
    for *key, other, seq in _values(right, [*on, time, "seq"]):
        if None not in key:
            rows[tuple(key)].append((other, seq))
    found: dict[int, int | None] = {}
    for id_, *key, given in _values(left, ["id", *on, time]):
        matches = [
            (_rank(given, other, seq, forward=direction == "forward"), seq)
            for other, seq in rows.get(tuple(key), [])
            # No comparison holds for NaN, and none with it.
            if given is not None
            and other is not None
            and (
                (other < given and direction != "forward")
                or (other > given and direction != "backward")
                or (other == given and allow_exact_matches)
            )
        ]
        allowed = [each for each in matches if most is None or each[0][0] <= most]
        if allowed or how == "left":
            found[id_] = min(allowed)[1] if allowed else None
    return found


def _rank(given: Any, other: Any, seq: int, *, forward: bool) -> tuple[Any, ...]:
    """Return what is least for the right row that matches; its first value is the distance.

    Of two rows at the same distance the earlier time matches. All times are equally far from an
    infinite one.
    """
    apart = 0 if given == other else abs(given - other)
    earlier = other < given
    last = not forward and other <= given
    return apart, not earlier, -other if earlier else other, -seq if last else seq


def _values(df: DataFrame, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Return the rows; dates and timestamps are microseconds."""
    return zip(*map(_in_python, df.select(*names).toArrow().columns), strict=True)


def _in_python(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    whole = pa.types.is_timestamp(column.type)
    values: list[Any] = (column.cast(pa.int64()) if whole else column).to_pylist()
    return values


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
