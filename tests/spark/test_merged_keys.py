"""Parts are merged by key, for keys of every type that Spark groups by, in pandas and Arrow."""

from __future__ import annotations

import functools
from collections.abc import Iterator  # noqa: TC003 - Spark reads the type hints
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from evenkey import spark as operators
from evenkey.spark.groups.group_keys import keyed
from evenkey.spark.groups.texts import KeyTexts
from tests.session import compiling

eks: Any = operators
WORKERS = 3
KEYS = {
    "array": "array(if(n = 1, null, concat('\"é,\\n', n)))",
    "array of arrays": "array(array(n), null, array(null))",
    "array of times": "array(timestamp_seconds(n * 1800 + 1761400000))",
    "days and seconds": "make_dt_interval(n, 1, 2, 3.000001)",
    "days and hours": "cast(make_dt_interval(n, 5) as interval day to hour)",
    "map": "if(n = 1, null, map('a', n, 'b', null))",
    "array of maps": "array(map('a', n))",
    "not null in a struct": "named_struct('a', n, 'b', 'x')",
    "struct of all": "if(n = 2, null, named_struct('m', map(n, date'2020-01-01'), 'd', "
    "make_dt_interval(n), 'v', array(double('NaN'), 0.0D), 'A', null, 'e', array()))",
    "nothing": "null",
}
"""SQL of each key, computed from a number `n`, which is 0 in most rows and else 1 or 2."""
ARROW_ALONE = {
    "calendar": "make_interval(0, n, 0, 1, 2, -3, -4.5)",
    "map of structs": "map(named_struct('x', n), map('y', X'00FF'))",
}
"""Keys for Arrow only; Spark's own groupBy cannot pass such values to pandas either."""


@pytest.fixture(scope="module")
def frame(session):
    # Spark can sort calendar intervals only in compiled plans.
    session = compiling(session)
    number = F.when(F.col("id") % 5 < 3, 0).otherwise(F.col("id") % 2 + 1).cast("int")
    rows = session.range(0, 90, 1, 2).select("id", number.alias("n"))
    return rows.select("id", *(F.expr(sql).alias(key) for key, sql in (KEYS | ARROW_ALONE).items()))


def sum_of(pdf):
    return pd.DataFrame({"rows": [len(pdf)], "ids": [pdf["id"].sum()]})


def sum_of_table(table):
    ids = sum(table["id"].to_pylist())
    return pa.table({"rows": pa.array([table.num_rows]), "ids": pa.array([ids], pa.int64())})


def pieces_of(key: tuple[Any, ...], pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    assert len(key) == 1
    yield from map(sum_of, pieces)


def batches_of(key: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    assert len(key) == 1
    for batch in batches:
        yield from sum_of_table(pa.Table.from_batches([batch])).to_batches()


PARTIAL = "rows long, ids long"
WORKS: dict[str, Any] = {
    "pandas": lambda g, merge, **more: g.applyInPandas(sum_of, PARTIAL, merge=merge, **more),
    "pieces": lambda g, merge, **more: g.applyInPandas(pieces_of, PARTIAL, merge=merge, **more),
    "arrow": lambda g, merge, **more: g.applyInArrow(sum_of_table, PARTIAL, merge=merge, **more),
    "batches": lambda g, merge, **more: g.applyInArrow(batches_of, PARTIAL, merge=merge, **more),
}


def collected(frames):
    """Collect the rows of many DataFrames in one job, as texts after their types."""
    every = []
    for case, df in frames.items():
        named = df.toDF("key", *df.columns[1:]).withColumn("key", F.col("key").cast("string"))
        shape = f"{case}: {df.schema.simpleString()}"
        every.append(named.select(F.lit(shape).alias("shape"), *named.columns))
    union = functools.reduce(DataFrame.unionAll, every)
    return sorted(map(str, union.collect()))


NESTED = ["map", "struct of all", "calendar", "map of structs"]


@pytest.mark.slow(8)
@pytest.mark.parametrize(
    ("work", "keys"),
    [
        pytest.param("arrow", NESTED, id="some keys"),
        pytest.param("arrow", [*KEYS, *ARROW_ALONE], id="arrow", marks=pytest.mark.soak(18)),
        pytest.param("pandas", [*KEYS], id="pandas", marks=pytest.mark.soak(18)),
    ],
)
def test_aggregates_merge_parts_as_spark_aggregates_rows(frame, work, keys):
    totals = [F.sum("rows").alias("rows"), F.sum("ids").alias("ids")]
    own = [F.count("*").alias("rows"), F.sum("id").alias("ids")]
    rows = {key: frame.select(key, "id") for key in keys}
    ours = {
        key: WORKS[work](eks.groupBy(df, key, workers=WORKERS), totals) for key, df in rows.items()
    }
    assert collected(ours) == collected(
        {key: df.groupBy(key).agg(*own) for key, df in rows.items()}
    )


def merged(key, parts):
    pandas = isinstance(parts, pd.DataFrame)
    row = {
        "key": str(key),
        "rows": int(sum(parts["rows"] if pandas else parts["rows"].to_pylist())),
        "ids": int(sum(parts["ids"] if pandas else parts["ids"].to_pylist())),
        "columns": " ".join(parts.columns if pandas else parts.column_names),
    }
    return pd.DataFrame([row]) if pandas else pa.Table.from_pylist([row])


def whole(key, rows):
    if isinstance(rows, pd.DataFrame):
        return merged(key, sum_of(rows))
    return merged(key, sum_of_table(rows))


@pytest.mark.soak
@pytest.mark.parametrize("work", WORKS)
def test_a_function_merges_parts_of_the_key_that_spark_gives_it(frame, work):
    schema = "key string, rows long, ids long, columns string"
    arrow = work in ("arrow", "batches")
    keys = ["not null in a struct", "days and seconds", "map"]
    if work in ("pandas", "arrow"):
        keys = [*KEYS, *(ARROW_ALONE if arrow else ())]
    rows = {key: frame.select(key, "id") for key in keys}
    ours = {
        key: WORKS[work](eks.groupBy(df, key, workers=WORKERS), merged, merge_schema=schema)
        for key, df in rows.items()
    }
    method = "applyInArrow" if arrow else "applyInPandas"
    own = {key: getattr(df.groupBy(key), method)(whole, schema) for key, df in rows.items()}
    assert collected(ours) == collected(own)


@pytest.mark.slow(2)
def test_parts_in_arrow_are_many_and_may_be_empty(session):
    rows = session.range(0, 400, 1, 4).select(
        F.when(F.col("id") % 10 < 9, "hot").otherwise("cold").alias("k"), "id"
    )
    grouped = eks.groupBy(rows, "k", workers=4)

    def part(key, table):
        if key[0].as_py() == "cold":
            return pa.table({"n": pa.array([], pa.int64())})
        return pa.table({"n": [table.num_rows]})

    parts = grouped.applyInArrow(part, "n long", merge=lambda table: table)
    sizes = [row["n"] for row in parts.collect()]
    assert sum(sizes) == 360
    assert len(sizes) > 2
    session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        total = grouped.applyInArrow(part, "n long", merge=F.sum("n").alias("n"))
        assert total.collect() == [("hot", 360)]
    finally:
        session.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_nested_keys_come_back_from_their_texts(session):
    """The keys contain extreme intervals, and quotes and separators of JSON."""
    rows = session.sql(
        r"""
        SELECT * FROM VALUES
          (array('a","b', '\\', '', null, '名'),
           interval '-106751991 04:00:54.775808' day to second,
           interval '178956970-7' year to month,
           named_struct('x', 1L, 'y', map(float('-0.0'), X'')),
           map(named_struct('t', timestamp'9999-12-31 23:59:59.999999Z'), array(-1.5BD))),
          (array(),
           interval '0 0:0:0.000001' day to second,
           interval '-178956970-8' year to month,
           named_struct('x', null, 'y', null),
           null),
          (null, null, null, null, null)
        AS t(list, days, months, pair, deep)
        """
    )
    keys = keyed(rows, rows.columns)
    texts = KeyTexts(keys)
    spelled = texts.added_to(rows)
    assert {spelled.schema[name].dataType for name in texts.columns} == {StringType()}
    back = spelled.withColumns(texts.keys)
    pairs = list(zip(rows.columns, texts.keys, strict=True))
    assert [back.schema[own].dataType.simpleString() for _, own in pairs] == [
        field.dataType.simpleString() for field in rows.schema
    ]
    same = [
        F.count_if(F.to_json(F.struct(name)) == F.to_json(F.struct(F.col(own).alias(name))))
        for name, own in pairs
    ]
    assert tuple(back.agg(*same).collect()[0]) == (3,) * len(rows.columns)
