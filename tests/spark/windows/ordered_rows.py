"""Rows with a hot key, and comparisons of `over` with Spark's own windows."""

from __future__ import annotations

import contextlib
import logging
import math
import re
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.spark.windows.ranking_functions import RANKINGS
from evenkey.spark.windows.window_frames import Frame, frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

WORKERS = 5
WITHIN = 1e-9
ORDERS = {
    "whole": "cast(pmod(h, 97) as int)",
    "tiny": "cast(pmod(h, 23) - 11 as tinyint)",
    "long": "pmod(h, 5000) * 1844674407370955",
    "real": "case pmod(h, 53) when 0 then double('NaN') when 1 then -0.0D when 2 then 0.0D"
    " when 3 then double('-Infinity') else pmod(h, 997) / 7 - 60 end",
    "single": "cast(pmod(h, 89) / 8 - 5 as float)",
    "decimal": "cast(pmod(h, 997) / 8 - 60 as decimal(12, 3))",
    "text": "concat(substr('abcdéß\u00e9z', 1, cast(pmod(h, 9) as int)), pmod(h, 31))",
    "bytes": "cast(concat('x', char(pmod(h, 200)), pmod(h, 7)) as binary)",
    "flag": "pmod(h, 3) = 0",
    "day": "date_add(date'1969-12-20', cast(pmod(h, 61) as int))",
    "time": "timestamp_micros(pmod(h, 2003) * 400000000007 - 700000000)",
    "local": "cast(timestamp_micros(pmod(h, 2003) * 400000007) as timestamp_ntz)",
}
"""SQL of order columns, from a number `h` that is like a random one."""


def rows(spark: SparkSession, count: int = 600, seed: int = 0) -> DataFrame:
    """Make rows: `user` 0 has 60 % of them, 12 % are null, and columns have nulls."""
    numbered = spark.range(0, count, 1, 3).selectExpr("id", f"xxhash64(id, {seed}) as h")
    user = "case when id % 10 < 6 then 0 when id % 8 = 0 then null else id % 29 end"
    orders = (
        f"if(pmod(h, 17) = {number}, null, {sql}) as {name}"
        for number, (name, sql) in enumerate(ORDERS.items())
    )
    return numbered.selectExpr(
        "id",
        f"{user} as user",
        "if(id % 3 = 0, 'x', 'y') as kind",
        *orders,
        "if(pmod(h, 7) = 0, null, pmod(h, 1000) - 300) as amount",
        "if(pmod(h, 11) = 1, null, pmod(h, 10007) / 13 + 1000000) as price",
        "if(pmod(h, 13) = 2, null, cast(pmod(h, 10007) / 100 as decimal(10, 2))) as cents",
        "if(pmod(h, 5) = 3, null, concat('n', pmod(h, 211))) as name",
        "if(pmod(h, 4) = 3, null, pmod(h, 40) < 38) as ok",
    )


def over_spark(
    df: DataFrame,
    keys: list[Any],
    order: list[Any],
    columns: Mapping[str, Column],
    frame: Frame,
) -> DataFrame:
    """Return the rows with the same columns by Spark's own windows."""
    window = Window.partitionBy(*(keys or [F.lit(0)])).orderBy(*order)
    own = (*RANKINGS, "lag", "lead")
    named = {
        name: column.over(
            window if re.search(rf"\b({'|'.join(own)})\(", str(column)) else frame.over(window)
        )
        for name, column in columns.items()
    }
    return df.withColumns(named)


def assert_same(
    df: DataFrame,
    keys: list[Any],
    order: list[Any],
    columns: Mapping[str, Column],
    *,
    cuts: bool = True,
    rows_between: tuple[int, int] | None = None,
    range_between: tuple[int, int] | None = None,
    **options: Any,
) -> DataFrame:
    """Compare `over` with Spark's own window, row by row; `id` is different in all rows."""
    options = {"workers": WORKERS, **options}
    frames = (rows_between, range_between)
    with a_hot_key_is_cut() if cuts else contextlib.nullcontext():
        got = operators.over(df, keys, order, columns, *frames, **options)
    expected = over_spark(df, keys, order, columns, frame_of(*frames))
    assert got.schema == expected.schema
    by_id = got.columns.index("id")
    found, wanted = (
        sorted(map(tuple, each.collect()), key=lambda row: row[by_id]) for each in (got, expected)
    )
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        for name, mine, its in zip(got.columns, one, other, strict=True):
            assert equal(mine, its), f"{name}: {mine} is not {its} in {other}"
    return got


class _Kept(logging.Handler):
    """Keeps the lines that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def a_hot_key_is_cut() -> Iterator[None]:
    """Check that a call in this block logs a plan that cuts a hot key."""
    logger, kept = logging.getLogger("evenkey.spark.windows"), _Kept()
    usual = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(kept)
    try:
        yield
    finally:
        logger.removeHandler(kept)
        logger.setLevel(usual)
    pieces = [int(number) for number in re.findall(r"cut into (\d+) pieces", "\n".join(kept.lines))]
    assert pieces, kept.lines
    assert min(pieces) > 1


def equal(mine: object, its: object) -> bool:
    """Return whether two values are equal; doubles may differ a little."""
    if isinstance(mine, float) and isinstance(its, float):
        if math.isnan(mine) or math.isnan(its):
            return math.isnan(mine) and math.isnan(its)
        return mine == its or math.isclose(mine, its, rel_tol=WITHIN, abs_tol=1e-9)
    return mine == its


def ranks() -> dict[str, Column]:
    """Return the functions that treat rows with equal order values alike."""
    return {
        "rank": F.rank(),
        "dense": F.dense_rank(),
        "percent": F.percent_rank(),
        "share": F.cume_dist(),
    }


def numbers() -> dict[str, Column]:
    """Return the functions whose frame is their own, and that need a total order."""
    return {
        "n": F.row_number(),
        "quarter": F.ntile(4),
        "many": F.ntile(1000),
        "before": F.lag("amount", 1),
        "far": F.lag("name", 3, "none"),
        "next": F.lead("price", 2),
        "back": F.lead("amount", -1),
    }


def aggregates() -> dict[str, Column]:
    """Return aggregates that do not depend on the order of rows in a frame."""
    return {
        "rows": F.count("*"),
        "known": F.count("amount"),
        "some": F.count_if(F.col("amount") > 100),
        "total": F.sum("amount"),
        "twice": F.sum(F.col("amount") * 2),
        "money": F.sum("cents"),
        "prices": F.sum("price"),
        "mean": F.avg("amount"),
        "mean_money": F.avg("cents"),
        "mean_of_wide": F.avg(F.col("cents").cast("decimal(20, 3)")),
        "whole_sum": F.sum(F.col("amount").cast("decimal(38, 0)")),
        "least": F.min("price"),
        "most": F.max("name"),
        "latest": F.max("time"),
        "all": F.bool_and("ok"),
        "any": F.bool_or("ok"),
        "spread": F.stddev("price"),
        "spread_of_all": F.stddev_pop("amount"),
        "var": F.variance("price"),
        "var_of_all": F.var_pop("cents"),
    }


def picks() -> dict[str, Column]:
    """Return functions that pick a row of the frame, and need a total order."""
    return {
        "first": F.first("amount"),
        "first_known": F.first("name", ignorenulls=True),
        "last": F.last("amount"),
        "last_known": F.last("name", ignorenulls=True),
        "second": F.nth_value("amount", 2),
        "fourth_known": F.nth_value("name", 4, ignoreNulls=True),
    }
