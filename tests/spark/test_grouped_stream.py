"""groupBy on streams: every method has the results of Spark, for keys of all types."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import Sum
from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from tests.spark import oracle
from tests.spark.offered import offer, stream_of
from tests.spark.skewed_frame import skewed_frame, text_of

eks: Any = operators
WORKERS, ROWS, EPOCHS = 2, 120, 2
CASES: dict[str, list[str]] = {
    "nulls and unicode": ["text"],
    "NaN": ["double"],
    "decimal": ["decimal"],
    "time": ["time"],
    "days": ["date", "local_time"],
    "struct": ["struct"],
    "several": ["text", "double", "struct", "bytes"],
    "bytes": ["bytes"],
    "one": ["one"],
    "no rows": ["text"],
}
COLUMNS = ["text", "double", "decimal", "time", "local_time", "date", "struct", "bytes", "one"]
KEYS = ["case", *COLUMNS]
"""Key columns of a stream of all cases; a case has values in its own columns, null in others."""


@pytest.fixture(scope="module")
def tagged(session, tmp_path_factory):
    """Write the rows of all cases as epochs of streams; return their directory."""
    # In state, Spark treats 0.0 and -0.0 as one key or as two, depending on the order of rows.
    zero = F.when(F.col("double") == 0, 0.0).otherwise(F.col("double"))
    frame = skewed_frame(session, ROWS).withColumn("double", zero)
    # Spark's transformWithState rejects a key with a space in its name.
    frame = frame.withColumnRenamed("local time", "local_time")
    cases = [
        frame.where(F.lit(case != "no rows")).select(
            F.lit(case).alias("case"),
            "id",
            F.timestamp_seconds(F.col("id") * 60).alias("at"),
            (F.col("id") % 7).cast("decimal(10,2)").alias("amount"),
            *(F.col(n) if n in keys else F.lit(None).cast(frame.schema[n].dataType).alias(n)
              for n in COLUMNS),
        )
        for case, keys in CASES.items()
    ]  # fmt: skip
    rows = functools.reduce(DataFrame.unionAll, cases).toArrow()
    rows = rows.cast(pa.schema([(field.name, field.type) for field in rows.schema]))
    place = tmp_path_factory.mktemp("tagged")
    epoch = pc.divide(rows["id"], ROWS // EPOCHS)
    epochs = [rows.filter(pc.equal(epoch, number)) for number in range(EPOCHS)]
    offer(place / "open", epochs)
    last = pa.Table.from_pylist(
        [{"case": "end", "at": pd.Timestamp("2026-01-01", tz="UTC")}], schema=rows.schema
    )
    offer(place / "closed", [*epochs, last])
    return place


def spark_s_own(df, *keys, **_):
    return df.groupBy(*keys)


GROUPS = {"ours": eks.groupBy, "plain": spark_s_own}

COMBINED = {
    "count": lambda g: g.count(),
    "sum": lambda g: g.sum("amount", "id"),
    "avg": lambda g: g.avg("amount"),
    "mean": lambda g: g.mean("id"),
    "min": lambda g: g.min("amount", "id"),
    "max": lambda g: g.max("amount"),
    "agg of a dict": lambda g: g.agg({"*": "count", "amount": "max"}),
    "agg": lambda g: g.agg(
        F.sum("amount").alias("all"), F.sort_array(F.collect_set("id")).alias("ids")
    ),
}


def rows_of(epochs):
    """Count the rows of all epochs, by method."""
    tables = [rows for rows in epochs.values() if rows.num_columns]
    return Counter(tuple(row.values()) for rows in tables for row in rows.to_pylist())


def as_text(df, method):
    return df.select(F.lit(method).alias("method"), F.to_json(F.struct("*")).alias("row"))


@pytest.mark.soak
def test_windows_give_what_they_give_on_spark(session, tagged, tmp_path):
    """One query runs all methods of a side."""
    own = session.newSession()  # without RocksDB, which so many small states do not need
    own.conf.set("spark.sql.shuffle.partitions", str(WORKERS))
    rows = stream_of(own, tagged / "closed").withWatermark("at", "0 seconds")
    keys = [F.window("at", "1 hour"), *KEYS]
    found = {}
    for side, group in GROUPS.items():
        every = [as_text(work(group(rows, *keys)), method) for method, work in COMBINED.items()]
        union = functools.reduce(DataFrame.unionAll, every)
        found[side] = rows_of(oracle.run(union, tmp_path / side))
    assert found["ours"] == found["plain"]
    assert {method for method, _ in found["plain"]} == COMBINED.keys()
    for case in CASES.keys() - {"no rows"}:
        assert any(f'"case":"{case}"' in row for _, row in found["plain"])


@pytest.mark.slow(4)
def test_growing_results_are_those_of_spark(session, tagged, tmp_path):
    """Without windows a query repeats all results, or those that changed."""
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(WORKERS))
    found = {}
    for side, group in GROUPS.items():
        counted = group(stream_of(own, tagged / "open"), *KEYS).agg(
            F.count("*"), F.sum("amount"), F.avg("id"), F.min("id"), F.max("id")
        )
        name = f"growing_{side}"
        writer = counted.writeStream.format("memory").queryName(name).outputMode("complete")
        query = writer.option("checkpointLocation", str(tmp_path / side)).start()
        query.processAllAvailable()
        found[side] = as_text(own.table(name), "agg").toArrow()["row"].to_pylist()
        query.stop()
    assert Counter(found["ours"]) == Counter(found["plain"])
    assert len(found["plain"]) > 100


OUT = "key string, seen long, ids long"


class Seen(StatefulProcessor):
    """Counts the rows of a key, and sums their ids."""

    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long, ids long")

    def added(self, key, count, ids):
        before = self.seen.get() if self.seen.exists() else (0, 0)
        after = before[0] + count, before[1] + ids
        self.seen.update(after)
        return {"key": text_of(key), "seen": after[0], "ids": after[1]}

    def close(self):
        pass


class SeenInRows(Seen):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803
        ids = [row["id"] for row in rows]
        yield Row(**self.added(key, len(ids), sum(ids)))


def with_state(key, pieces, state):
    every = pd.concat(list(pieces))
    before = state.get if state.exists else (0, 0)
    after = before[0] + len(every), before[1] + int(every["id"].sum())
    state.update(after)
    yield pd.DataFrame({"key": [text_of(key)], "seen": [after[0]], "ids": [after[1]]})


TRANSFORM = {"outputStructType": OUT, "outputMode": "Append", "timeMode": "None"}
STATEFUL = {
    "transformWithState": lambda g: g.transformWithState(SeenInRows(), **TRANSFORM),
    "applyInPandasWithState": lambda g: g.applyInPandasWithState(
        with_state, OUT, "n long, ids long", "append", "NoTimeout"
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("method", STATEFUL)
def test_state_is_that_of_spark_in_every_epoch(session, tagged, tmp_path, method):
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(WORKERS))
    name = "spark.sql.streaming.stateStore.providerClass"
    own.conf.set(name, session.conf.get(name))
    batch = own.read.parquet(str(tagged / "open"))
    eks.fit(batch, KEYS, "whole", WORKERS, state=tmp_path / "plans")
    rows = stream_of(own, tagged / "open")
    found = {}
    for side, options in (
        ("ours", {"workers": WORKERS, "state": tmp_path / "plans"}),
        ("plain", {}),
    ):
        result = STATEFUL[method](GROUPS[side](rows, *KEYS, **options))
        found[side] = oracle.run(as_text(result, method), tmp_path / side)
    assert len(found["plain"]) == EPOCHS
    for epoch, table in found["plain"].items():
        expected = rows_of({epoch: table})
        assert rows_of({epoch: found["ours"][epoch]}) == expected
        assert len(expected) > 80


REFUSED = {
    "pivot": lambda g: g.pivot("case"),
    "pivot of values": lambda g: g.pivot("case", ["one"]),
    "applyInPandas": lambda g: g.applyInPandas(lambda pdf: pdf, "id long"),
    "applyInPandas and merge": lambda g: g.applyInPandas(
        lambda pdf: pdf, "id long", merge=lambda pdf: pdf
    ),
    "applyInArrow": lambda g: g.applyInArrow(lambda table: table, "id long"),
    "cogroup in pandas": lambda g: g.cogroup(g).applyInPandas(lambda left, _: left, "id long"),
    "cogroup in Arrow": lambda g: g.cogroup(g).applyInArrow(lambda left, _: left, "id long"),
    "agg of ours": lambda g: g.agg(Sum("amount")),
}


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("method", REFUSED)
def test_what_a_stream_cannot_have_is_refused_in_one_line(session, tagged, method):
    grouped = eks.groupBy(stream_of(session, tagged / "open"), "case", workers=WORKERS)
    with pytest.raises(ConfigurationError) as refused:
        REFUSED[method](grouped)
    says = str(refused.value)
    assert "\n" not in says
    assert "stream" in says
    assert "foreachBatch" in says or "eks.aggregate" in says
