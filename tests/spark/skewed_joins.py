"""Skewed sides to join, and comparisons with Spark's own join."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = ("inner", "left", "right", "full", "semi", "anti")
TYPES = {
    "whole numbers": ("n", "n"),
    "int and bigint": ("cast(n as int)", "n"),
    "text with nulls": ("if(id % 11 = 0, null, concat('ключ ', n))",) * 2,
    "decimals": ("cast(n as decimal(10, 2))", "cast(n as decimal(20, 4))"),
    "int and decimal": ("cast(n as int)", "cast(n as decimal(20, 4))"),
    "times far off": ("timestamp_seconds(n * 5000000000)",) * 2,
    "days": ("date_from_unix_date(cast(n as int) * 60000)",) * 2,
    "structs": ("named_struct('a', n, 'b', if(n % 3 = 0, null, 'x'))",) * 2,
    "lists": ("array(n, null)",) * 2,
    "one key": ("if(id >= 0, 'all', 'none')",) * 2,
    "no left rows": ("if(id < 0, n, null)", "n"),
    "doubles": ("case n when 0 then if(id % 2 = 0, 0.0D, -0.0D) else cast('NaN' as double) end",)
    * 2,
    "double and decimal": ("cast(n as double)", "cast(n as decimal(10, 2))"),
    "text and number": ("cast(n as string)", "n"),
    "collation": ("collate(if(id % 2 = 0, 'A', 'a'), 'UTF8_LCASE')",) * 2,
}
"""SQL of the key on both sides, computed from a number `n`, which is 0 in 60 % of left rows."""


class Sides(NamedTuple):
    """The two sides of a join, and its columns."""

    left: DataFrame
    right: DataFrame
    on: list[str]


def of_type(spark: SparkSession, name: str, rows: int = 600) -> Sides:
    """Make sides with a key of some type; 60 % of the left rows have the same key."""
    expressions = TYPES[name]
    number = "case when id % 10 < 6 then 0 else id % 37 end as n"
    left = spark.range(0, rows, 1, 3).selectExpr("id", number)
    right = spark.range(0, rows // 6, 1, 2).selectExpr("id", "id % 45 as n")
    return Sides(
        left.selectExpr("id as v", f"{expressions[0]} as k", "n % 5 as same"),
        right.selectExpr(f"{expressions[1]} as k", "id as w", "n % 7 as same"),
        ["k"],
    )


def of_counts(spark: SparkSession) -> Sides:
    """Make sides with a key of two columns; keys are hot on one side or on both, cold, or null."""
    shapes = {
        "left heavy": (900, 2),
        "right heavy": (2, 900),
        "both heavy": (90, 70),
        "one left row": (1, 900),
        "one right row": (900, 1),
        "left only": (900, 0),
        "right only": (0, 900),
        "null": (60, 60),
        "light": (50, 40),
    }
    key = "case shape when 'null' then null when 'light' then concat('k', id % 30) else 'hot' end"
    sides = []
    for number, column in enumerate(("v", "w")):
        ends = dict(
            zip(shapes, itertools.accumulate(n[number] for n in shapes.values()), strict=True)
        )
        cases = " ".join(f"when id < {end} then '{shape}'" for shape, end in ends.items())
        rows = spark.range(0, max(ends.values()), 1, 3).selectExpr(
            "id", f"case {cases} end as shape"
        )
        sides.append(rows.selectExpr(f"id as {column}", f"{key} as k", "shape"))
    return Sides(sides[0], sides[1], ["k", "shape"])


def rows_of(df: DataFrame, sign: int) -> DataFrame:
    """Return rows as JSON texts, counted by `sign`; columns are renamed, as names may repeat."""
    placed = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    return placed.select(F.to_json(F.struct("*")).alias("row"), F.lit(sign).alias("n"))


def differing(got: DataFrame, expected: DataFrame) -> DataFrame:
    """Return rows that one DataFrame has more often than the other; none if both are equal."""
    both = rows_of(got, 1).unionAll(rows_of(expected, -1))
    return both.groupBy("row").agg(F.sum("n").alias("more")).where("more <> 0")
