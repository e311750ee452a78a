"""With columns named `a.b`, or with quotes in their names, every operator works as in Spark."""

from __future__ import annotations

import functools
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import Sum
from evenkey import spark as operators
from evenkey.joins import balanced_join
from tests.spark import oracle, skewed_joins
from tests.spark.offered import offer, stream_of
from tests.tiers import most_in_soak

eks: Any = operators
WORKERS = 3
COLUMNS = ["a.b", "c`d", "", "*", "x"]
PLAIN = ["p", "q", "r", "s", "x"]
OUT = "key string, `rows.n` long, names string"


def keys() -> dict[str, Any]:
    """Return keys by odd and by plain names; a function, since columns need a session."""
    return {
        "by name": ("a.b", "p"),
        "quoted": ("`a.b`", "p"),
        "position": (2, "q"),
        "expression": (F.col("`a.b`") % 2, F.col("p") % 2),
        "a plain one": ("x", "x"),
    }


@pytest.fixture(scope="module")
def frames(session):
    """Make the same rows with odd and with plain column names."""
    session = session.newSession()
    for name in ("autoBroadcastJoinThreshold", "adaptive.autoBroadcastJoinThreshold"):
        session.conf.set(f"spark.sql.{name}", "-1")
    number = F.col("id")
    rows = session.range(0, 90, 1, 2).select(
        F.when(number % 5 < 3, 0).otherwise(number % 4),
        number % 7,
        number * 2,
        number.cast("string"),
        number % 3,
    )
    return rows.toDF(*COLUMNS), rows.toDF(*PLAIN)


def row_of(key, *names):
    return {"key": str(key), "rows.n": 0, "names": " | ".join(names)}


def on_pandas(key, pdf):
    return pd.DataFrame([{**row_of(key, *pdf.columns), "rows.n": len(pdf)}])


def on_arrow(key, table):
    return pa.Table.from_pylist([{**row_of(key, *table.column_names), "rows.n": table.num_rows}])


def on_sides(key, left, right):
    names = (*left.columns, *right.columns)
    return pd.DataFrame([{**row_of(key, *names), "rows.n": 1000 * len(left) + len(right)}])


def part_of(pdf):
    return pd.DataFrame({"rows.n": [len(pdf)], "x": [pdf["x"].sum()]})


def merged(key, pdf):
    names = [str(name) for name in pdf.columns]
    return pd.DataFrame([{**row_of(key, *names), "rows.n": pdf["rows.n"].sum()}])


WORKS: dict[str, Any] = {
    "pandas": lambda g: g.applyInPandas(on_pandas, OUT),
    "arrow": lambda g: g.applyInArrow(on_arrow, OUT),
    "count": lambda g: g.count(),
    "max": lambda g: g.max("x"),
}


def same(cases):
    """Compare pairs of DataFrames in one job, by the positions of their columns."""
    every = [
        skewed_joins.differing(got, expected).select(F.lit(case).alias("case"), "*")
        for case, (got, expected) in cases.items()
    ]
    assert functools.reduce(DataFrame.unionAll, every).collect() == []


@pytest.mark.soak
@pytest.mark.parametrize("workers", [1, WORKERS])
def test_groups_are_those_of_plain_names(frames, workers):
    """With one worker, Spark's own placement is used."""
    odd, plain = frames
    pairs = {
        f"{case}, {work}": (
            apply(eks.groupBy(odd, ours, workers=workers)),
            apply(plain.groupBy(own)),
        )
        for case, (ours, own) in keys().items()
        for work, apply in WORKS.items()
        if workers > 1 or (case == "by name" and work in ("pandas", "arrow"))
    }
    # Functions get the user's names; everything else is equal.
    named = F.replace("names", F.lit(" | ".join(COLUMNS)), F.lit(" | ".join(PLAIN)))
    same(
        {
            case: (got.withColumn("names", named) if "names" in got.columns else got, expected)
            for case, (got, expected) in pairs.items()
        }
    )


@pytest.mark.slow(6)
def test_parts_cogroups_and_aggregators(frames):
    odd, plain = frames
    ours, own = eks.groupBy(odd, "a.b", workers=WORKERS), plain.groupBy("p")
    total = F.sum("`rows.n`").alias("rows.n")
    count = F.count("*").alias("rows.n")
    schema = "`rows.n` long, x long"
    both = ours.cogroup(eks.groupBy(plain, "p", workers=WORKERS)).applyInPandas(on_sides, OUT)
    cases = {
        "aggregates": (ours.applyInPandas(part_of, schema, merge=total), own.agg(count)),
        "aggregator": (ours.agg(Sum("c`d")), own.agg(F.sum("q"))),
        "function": (
            ours.applyInPandas(part_of, schema, merge=merged, merge_schema=OUT).select(
                "key", "`rows.n`"
            ),
            own.applyInPandas(on_pandas, OUT).select("key", "`rows.n`"),
        ),
        "cogroup": (
            both.select("key", "`rows.n`"),
            own.cogroup(plain.groupBy("p")).applyInPandas(on_sides, OUT).select("key", "`rows.n`"),
        ),
    }
    same(cases)
    assert both.limit(1).collect()[0]["names"] == " | ".join([*COLUMNS, *PLAIN])


@pytest.mark.slow(6)
def test_fields_of_structs_keep_their_meaning(session):
    """Where Spark takes `a.b` for a struct's field, so do we, although a column has that name."""
    rows = session.range(6).select(F.struct((F.col("id") % 2).alias("b")).alias("a"), "id")
    both = rows.withColumn("a.b", F.col("id") % 3)
    assert (
        eks.groupBy(both, "a.b", workers=2).count().count() == both.groupBy("a.b").count().count()
    )
    sizes = eks.groupBy(both, "a.b", workers=2).applyInPandas(on_pandas, OUT)
    assert {row["rows.n"] for row in sizes.collect()} == {3}


@pytest.mark.slow(6)
def test_the_other_operators(frames, tmp_path):
    odd, plain = frames
    routed = eks.route(odd, "a.b", "planned", WORKERS, position="c`d", column="w.o")
    observer = eks.LoadObserver(WORKERS)
    placed = eks.observe(eks.place(routed, WORKERS, column="w.o"), observer, key="", column="w.o")
    assert placed.count() == 90
    assert int(observer.loads.sum()) == 90
    assert eks.fit(odd, ["a.b", "c`d"], "planned", WORKERS, state=tmp_path / "fit").workers == 3
    parts = eks.aggregate_by_worker(odd, "a.b", "kg", WORKERS, {"n.n": "count", "m": "sum(c`d)"})
    merged_back = eks.merge_workers(
        parts.withColumn("o.o", F.lit(1)),
        "a.b",
        WORKERS,
        {"n.n": "count", "m": "sum(m)"},
        order="o.o",
    )
    some = odd.sparkSession.range(3).select(F.col("id"), (F.col("id") + 1).alias("y"))
    static, own_static = some.withColumnRenamed("id", "a.b"), some.withColumnRenamed("id", "p")
    joined = eks.join(odd, static, "a.b", "full", WORKERS)
    on = odd["`a.b`"] == static["`a.b`"]
    cases = {
        "by worker": (merged_back, plain.groupBy("p").agg(F.count("*"), F.sum("q"))),
        "join": (joined, plain.join(own_static, "p", "full")),
        "condition": (
            eks.join(odd, static, on, "left", WORKERS),
            plain.join(own_static, plain["p"] == own_static["p"], "left"),
        ),
        "balanced join": (
            balanced_join(odd, static, "a.b", workers=2, state=tmp_path / "static"),
            plain.join(own_static, "p"),
        ),
        "written": (eks.partition_for_write(odd, ["a.b", "c`d"], 3), plain),
    }
    same(cases)


class Seen(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long")

    def counted(self, key, names, count):
        before = self.seen.get()[0] if self.seen.exists() else 0
        self.seen.update((before + count,))
        return {**row_of(key, *names), "rows.n": before + count}

    def close(self):
        pass


class SeenInPandas(Seen):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803
        pieces = list(rows)
        yield pd.DataFrame([self.counted(key, pieces[0].columns, sum(map(len, pieces)))])


class SeenInRows(Seen):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803
        pieces = list(rows)
        row = self.counted(key, pieces[0].__fields__, len(pieces))
        yield Row(*row)(*row.values())


@pytest.mark.slow(6)
@pytest.mark.parametrize("placed", most_in_soak([True, False], 6, slow=[True]))
def test_keys_with_state(session, tmp_path, placed):
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    name = "spark.sql.streaming.stateStore.providerClass"
    own.conf.set(name, session.conf.get(name))
    offer(tmp_path / "input", [pa.table({"k": ["a", "a", "b", "a"], "n.n": [1, 2, 3, 4]})])
    rows = stream_of(own, tmp_path / "input")
    options = {"workers": 2, "grouping": "spark"}
    if placed:
        batch = own.read.parquet(str(tmp_path / "input"))
        eks.fit(batch, "k", "whole", 2, state=tmp_path / "plans")
        options = {"workers": 2, "state": tmp_path / "plans"}
    transform = {"outputStructType": OUT, "outputMode": "Update", "timeMode": "None"}
    grouped = eks.groupBy(rows, "k", **options)
    found = [
        grouped.transformWithStateInPandas(SeenInPandas(), **transform),
        grouped.transformWithState(SeenInRows(), **transform),
    ]
    for number, df in enumerate(found):
        (epoch,) = oracle.run(df, tmp_path / str(number)).values()
        seen = {(row["key"], row["rows.n"], row["names"]) for row in epoch.to_pylist()}
        assert seen == {("('a',)", 3, "k | n.n"), ("('b',)", 1, "k | n.n")}
