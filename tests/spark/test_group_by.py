"""groupBy: every method has Spark's results, and keys are placed according to their weight."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator  # noqa: TC003 - Spark reads the type hints
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import TaskContext
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import KeyStatistics
from evenkey.spark.plans.batch_plans import weighed
from tests.spark import oracle
from tests.spark.skewed_frame import skewed_frame, text_of
from tests.tiers import most_in_soak

eks: Any = operators
WORKERS = 2
ROWS = 600
KEYS: dict[str, list[Any]] = {
    "double": ["double"],
    "decimal": ["decimal"],
    "time": ["time"],
    "days": ["date", "local time"],
    "struct": ["struct"],
    "several": ["text", "double", "struct", "bytes"],
    "one": ["one"],
    "position": [2],
    "twice": ["text", "text"],
    "expression": ["id % 7", "one"],
    "collated": ["collated"],
    "list": ["list"],
    "map": ["map"],
}
RESULT = "case string, key string, rows long, ids long, columns string"


@pytest.fixture(scope="module")
def frame(session):
    return skewed_frame(session, ROWS).cache()


@pytest.fixture(scope="module")
def grouped(frame):
    """Group by each key, with evenkey and with Spark."""
    return {
        case: (eks.groupBy(frame, *_keys(keys), workers=WORKERS), frame.groupBy(*_keys(keys)))
        for case, keys in KEYS.items()
    }


def _keys(keys):
    return [F.expr(key) if isinstance(key, str) and "%" in key else key for key in keys]


def result(case, key, count, ids, columns):
    columns = " ".join(map(str, columns))
    return {"case": case, "key": text_of(key), "rows": count, "ids": ids, "columns": columns}


def of_key(case, key, pdf):
    return pd.DataFrame([result(case, key, len(pdf), int(pdf["id"].sum()), pdf.dtypes.items())])


def of_rows(case, pdf):
    return of_key(case, (), pdf)


def of_table(case, key, table):
    ids = pc.sum(table["id"]).as_py()
    return pa.Table.from_pylist([result(case, key, table.num_rows, ids, table.column_names)])


def of_table_alone(case, table):
    return of_table(case, (), table)


def on_pandas(function, case):
    if function is of_key:
        return lambda key, pdf: of_key(case, key, pdf)
    return lambda pdf: of_rows(case, pdf)


def on_arrow(function, case):
    if function is of_table:
        return lambda key, table: of_table(case, key, table)
    return lambda table: of_table_alone(case, table)


def pandas_pieces(case):
    def work(key: tuple[Any, ...], pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield of_key(case, key, pd.concat(list(pieces)))

    return work


def pandas_pieces_alone(case):
    def work(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for piece in pieces:
            yield of_rows(case, piece)

    return work


def arrow_pieces(case):
    def work(key: tuple[Any, ...], pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(list(pieces))
        yield from of_table(case, key, table).to_batches()

    return work


WORKS = {
    "rows": lambda g, case: g.applyInPandas(on_pandas(of_rows, case), RESULT),
    "key and rows": lambda g, case: g.applyInPandas(on_pandas(of_key, case), RESULT),
    "pieces": lambda g, case: g.applyInPandas(pandas_pieces(case), RESULT),
    "pieces alone": lambda g, case: g.applyInPandas(pandas_pieces_alone(case), RESULT),
    "table": lambda g, case: g.applyInArrow(on_arrow(of_table_alone, case), RESULT),
    "key and table": lambda g, case: g.applyInArrow(on_arrow(of_table, case), RESULT),
    "batches": lambda g, case: g.applyInArrow(arrow_pieces(case), RESULT),
}


def collected(frames):
    """Collect the rows of many DataFrames in one job."""
    every = functools.reduce(lambda one, more: one.unionAll(more), frames)
    return sorted(map(tuple, every.collect()))


EVERY = (
    "key and rows",
    "key and table",
)  # run for all keys; the other forms differ only in their arguments


@pytest.mark.slow(4)
@pytest.mark.parametrize("work", most_in_soak(WORKS, 4, slow=["key and rows", "batches"]))
def test_functions_give_what_they_give_on_spark(grouped, work):
    cases = KEYS if work in EVERY else ("several", "expression", "collated")
    ours = collected([WORKS[work](grouped[case][0], case) for case in cases])
    plain = collected([WORKS[work](grouped[case][1], case) for case in cases])
    assert ours == plain
    assert len(plain) > 30


@pytest.mark.slow(4)
@pytest.mark.parametrize("arrow", most_in_soak([False, True], 4, slow=[True]))
def test_cogroups_are_as_on_spark(frame, arrow):
    other = frame.where("id % 5 < 2").withColumn("more", F.col("id"))
    schema = "case string, key string, left long, right long, columns string"

    def on_sides(case):
        def pandas(key, left, right):
            columns = " ".join((*left.columns, *right.columns))
            row = [case, text_of(key), len(left), len(right), columns]
            return pd.DataFrame([row], columns=["case", "key", "left", "right", "columns"])

        def table(left, right):
            columns = " ".join((*left.column_names, *right.column_names))
            row = {"case": case, "key": "", "left": left.num_rows, "right": right.num_rows}
            return pa.Table.from_pylist([{**row, "columns": columns}])

        return table if arrow else pandas

    def of(group, case, keys):
        both: Any = group(frame, *keys).cogroup(group(other, *keys))
        return (both.applyInArrow if arrow else both.applyInPandas)(on_sides(case), schema)

    cases = {case: _keys(KEYS[case]) for case in ("several", "expression", "collated")}
    ours = functools.partial(eks.groupBy, workers=WORKERS)
    plain = [of(lambda df, *keys: df.groupBy(*keys), case, keys) for case, keys in cases.items()]
    assert collected([of(ours, case, keys) for case, keys in cases.items()]) == collected(plain)


def test_keys_of_different_types_are_reported(session, caplog):
    rows = session.range(9).select(F.col("id").alias("k"))
    other = eks.groupBy(rows.select(F.col("k").cast("int")), "k")

    def both(grouping):
        cogroup = eks.groupBy(rows, "k", workers=2, grouping=grouping).cogroup(other)
        return cogroup.applyInPandas(lambda left, _: left[["k"]], "k long")

    with pytest.raises(ConfigurationError, match="types, bigint and int; cast one side"):
        both("whole")
    assert "__evenkey" not in oracle.plan_of(both("auto"))
    assert "the keys are of different types, bigint and int" in caplog.text


PARTIAL = "case string, rows long, ids long"
MERGED = "case string, key string, rows long, ids long, parts long, columns string"
MERGEABLE = ["double", "time", "several", "expression", "one", "collated"]


def partial_of(case):
    def work(key, pdf):
        assert len(key) in (1, 2, 4)
        assert not [name for name in pdf.columns if "evenkey" in name]
        return pd.DataFrame({"case": [case], "rows": [len(pdf)], "ids": [pdf["id"].sum()]})

    return work


def merge_of(case):
    def work(key, pdf):
        row = [
            case,
            text_of(key),
            pdf["rows"].sum(),
            pdf["ids"].sum(),
            len(pdf),
            *pdf.dtypes.items(),
        ]
        row = [*row[:5], " ".join(map(str, row[5:]))]
        names = ["case", "key", "rows", "ids", "parts", "columns"]
        return pd.DataFrame([row], columns=names)

    return work


@pytest.mark.slow(4)
def test_parts_are_merged_by_key(grouped):
    ours = collected(
        [
            grouped[case][0].applyInPandas(
                partial_of(case), PARTIAL, merge=merge_of(case), merge_schema=MERGED
            )
            for case in MERGEABLE
        ]
    )
    plain = collected([WORKS["key and rows"](grouped[case][1], case) for case in MERGEABLE])
    assert [row[:4] for row in ours] == [row[:4] for row in plain]
    parts = {case: max(row[4] for row in ours if row[0] == case) for case in MERGEABLE}
    assert parts.pop("collated") == 1  # Spark's own
    assert min(parts.values()) > 1  # the hot key of each frame
    assert parts["one"] == WORKERS
    assert {row[5] for row in ours} == {ours[0][5]}


def shape_and_rows(case, df):
    """Return the rows as texts, each after the schema of its DataFrame."""
    rows = df.select(F.lit(f"{case}: {df.schema.simpleString()}"), F.expr("to_json(struct(*))"))
    return rows.toDF("shape", "row").withColumn("row", F.lower(F.replace("row", F.lit("-0.0"))))


def ids_of(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for piece in pieces:
        yield pd.DataFrame([(len(piece), piece["id"].sum())])


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    "partial",
    [pytest.param(partial_of("any"), marks=pytest.mark.soak(4)), ids_of],
    ids=["rows", "pieces"],
)
def test_parts_are_merged_by_spark_s_aggregates(frame, grouped, partial):
    """There are null and NaN keys; workers write whole numbers and strings as text."""
    schema = PARTIAL if partial is not ids_of else "rows long, ids long"
    totals = [F.sum("rows").alias("rows"), F.sum("ids").alias("ids")]
    own = [F.count("*").alias("rows"), F.sum("id").alias("ids")]
    cases = [*MERGEABLE, "decimal", "days", "struct"]
    ours = collected(
        [
            shape_and_rows(case, grouped[case][0].applyInPandas(partial, schema, merge=totals))
            for case in cases
        ]
    )
    assert ours == collected([shape_and_rows(case, grouped[case][1].agg(*own)) for case in cases])
    number = F.when(F.col("id") % 5 < 3, F.col("id") % 2).cast("int").alias("number")
    numbered = frame.select("id", number)
    by_number = eks.groupBy(numbered, "number", workers=WORKERS)
    one = by_number.applyInPandas(partial, schema, merge=totals[0])
    several = by_number.applyInPandas(partial, schema, merge={"rows": "sum", "ids": "max"})
    assert one.dtypes == [("number", "int"), ("rows", "bigint")]
    assert set(several.columns) == {"number", "sum(rows)", "max(ids)"}
    rows = {row[0]: row[1] for row in numbered.groupBy("number").count().collect()}
    assert set(rows) == {None, 0, 1}
    assert dict(one.collect()) == dict(several.select("number", "sum(rows)").collect()) == rows


def in_worker(pdf):
    context = TaskContext.get()
    assert context is not None
    return pd.DataFrame(
        {"n": [pdf["n"].iloc[0]], "rows": [len(pdf)], "task": [context.partitionId()]}
    )


def tasks_of(grouped) -> pd.DataFrame:
    """Return the number of rows and the task of each key."""
    found: Any = grouped.applyInPandas(in_worker, "n int, rows long, task int")
    return found.toPandas()


@pytest.mark.slow(4)
def test_keys_lie_where_their_weight_puts_them(session):
    shares = [300, 200, 100, 100, 100, 50, 50]
    rows = session.range(900).select(
        F.element_at(
            F.array(*(F.lit(n) for n, share in enumerate(shares) for _ in range(share))),
            (F.col("id") + 1).cast("int"),
        ).alias("n")
    )
    placed = tasks_of(eks.groupBy(rows, "n", workers=3))
    assert placed.groupby("task")["rows"].sum().tolist() == [300, 300, 300]
    assert placed.set_index("n")["rows"].to_dict() == dict(enumerate(shares))
    costly = F.when(F.col("n") == 6, 100).otherwise(0.5)
    placed = tasks_of(eks.groupBy(rows, "n", workers=3, cost=costly))
    alone = placed.set_index("n")["task"].to_dict()
    assert [n for n, task in alone.items() if task == alone[6]] == [6]


@pytest.mark.soak(4)
def test_the_bound_of_the_hottest_key_is_logged(frame, caplog):
    grouped = eks.groupBy(frame, "text", workers=WORKERS)
    bound = "text Zoë 名前 0 has 6"
    with caplog.at_level(logging.WARNING, "evenkey"):
        grouped.applyInPandas(lambda pdf: pdf[["id"]], "id long")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(bound)
    assert line.endswith(f" times the mean of {WORKERS}; to split it pass merge=")


@pytest.mark.slow(4)
def test_a_plan_is_kept_and_used_again(frame, tmp_path):
    def explained(keys, workers=WORKERS):
        return str(eks.explain(eks.groupBy, frame, *keys, workers=workers, state=tmp_path))

    def rows_of(keys):
        group = eks.groupBy(frame, *keys, workers=WORKERS, state=tmp_path)
        return group.applyInPandas(lambda pdf: pdf[["id"]], "id long").count()

    assert "counting took" in explained(["text"])
    kept = {each: each.read_bytes() for each in tmp_path.rglob("*.npz")}
    assert explained(["text"]).count("the operator counts nothing") == 2
    assert {each: each.read_bytes() for each in tmp_path.rglob("*.npz")} == kept
    assert rows_of(["text"]) == ROWS
    assert explained(["text"]).count("each run counts its keys for the next one") == 2
    with pytest.raises(ConfigurationError, match="holds a plan for the key text, not for date"):
        rows_of(["date"])
    with pytest.raises(ConfigurationError, match="written by whole with 2 workers"):
        explained(["text"], WORKERS + 1)


@pytest.mark.slow(4)
def test_no_key_is_in_two_places_though_the_input_is_never_the_same(session):
    key = (F.rand() * F.rand() * 40).cast("int")
    rows = session.range(0, 2000, 1, 4).select(key.alias("n"), "id")
    found = tasks_of(eks.groupBy(rows, "n", workers=WORKERS))
    assert found["rows"].sum() == 2000
    assert found["n"].is_unique
    assert found["task"].nunique() == WORKERS


@pytest.mark.soak(4)
def test_costs_of_many_keys_are_summed_by_spark(session):
    key = F.when(F.col("id") % 4 == 0, 7).otherwise(F.col("id"))
    rows = session.range(0, 20_000, 1, 2).select(key.alias("n"), (F.col("id") % 5).alias("cost"))
    hashed = F.xxhash64("n")
    counted = rows.groupBy(hashed.alias("hash")).agg(F.sum("cost").alias("cost")).toArrow()
    hashes = counted["hash"].to_numpy().view(np.uint64)
    costs = counted["cost"].to_numpy().astype(np.float64)
    statistics = weighed(rows, hashed, F.col("cost"), KeyStatistics(64, 256))
    buckets = (hashes & np.uint64(255)).astype(np.int64)
    np.testing.assert_array_equal(
        statistics.bucket_loads, np.bincount(buckets, costs, minlength=256)
    )
    np.testing.assert_array_equal(statistics.bucket_keys, np.bincount(buckets, minlength=256))
    keys, loads, rests = statistics.items(costs.max())
    assert (keys.tolist(), loads.tolist()) == ([hashes[costs.argmax()]], [costs.max()])
    assert rests.sum() == costs.sum() - costs.max()
