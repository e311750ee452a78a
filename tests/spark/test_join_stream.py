"""A stream joined with a batch is exact in every epoch, and balanced once keys are known."""

from __future__ import annotations

import functools
import time
from collections import Counter
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import SharedMark
from evenkey.core.streams import generated
from evenkey.groupings import PlannedGrouping
from evenkey.spark.plans.plan_source import PerEpoch
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.task_id import TaskId
from tests.spark import oracle, skewed_joins
from tests.spark.offered import offer, stream_of
from tests.tiers import most_in_soak

WORKERS, EPOCHS, MESSAGES = 5, 3, 12_000
STREAM = generated("country-skew-r80", messages=MESSAGES)
OF_STREAM = {"left": ("inner", "left", "semi", "anti"), "right": ("inner", "right")}
"""Kinds of joins with a batch that Spark supports, by the side of the stream."""


@pytest.fixture(scope="module")
def plain(session):
    """Make a session without automatic broadcasts."""
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    return session


def static_of(session, messages):
    """Make a static side: two rows for most keys, and a key that the stream lacks."""
    counts = messages.groupBy("key").count()
    keys = counts.where("xxhash64(key) % 9 <> 0 or count > 1000").select("key")
    every = keys.unionAll(session.sql("select 'nobody' as key"))
    return every.selectExpr("key", "explode(array(1, 2)) as number").cache()


@pytest.mark.slow(28)
@pytest.mark.parametrize(
    ("how", "stream_is"),
    most_in_soak([("left", "left"), ("inner", "right")], 28, slow=[("left", "left")]),
)
def test_epochs_equal_sparks_join_and_become_balanced(plain, tmp_path, how, stream_is):
    df = oracle.streaming(plain, STREAM, tmp_path, epochs=EPOCHS).select("key", "time")
    read = plain.read.schema(df.schema).parquet(str(tmp_path / "input"))
    static = static_of(plain, read)

    def joined(rows, join):
        sides = (rows, static) if stream_is == "left" else (static, rows)
        return join(*sides, "key", how)

    state = tmp_path / "state"

    def wait_for_plan(epoch):
        """Wait in epoch 1 until the plan of epoch 2 exists, which is made from epoch 0."""
        deadline = time.monotonic() + 240
        while epoch == 1 and not list(state.glob("*/*/table-0000000002.npz")):
            assert time.monotonic() < deadline, "no plan was made"
            time.sleep(0.05)

    def balance(left, right, on, kind):
        return operators.join(left, right, on, kind, WORKERS, state=state)

    balanced = joined(df, balance)
    expected = joined(read, lambda left, right, on, kind: left.join(right, on, kind))
    assert balanced.schema == expected.schema
    placed = balanced.select("*", F.spark_partition_id().alias("worker"))
    epochs = oracle.run(placed, tmp_path, wait_for_plan)
    rows = pa.concat_tables(epochs.values()).drop_columns("worker")
    found = plain.createDataFrame(rows)
    assert skewed_joins.differing(found, expected).collect() == []
    loads = [np.bincount(each["worker"].to_numpy(), minlength=WORKERS) for each in epochs.values()]
    assert len(loads) == EPOCHS
    assert loads[0].max() / loads[0].mean() > 2
    assert max(each.max() / each.mean() for each in loads[2:]) < 1.3


SHARED = ["k", "part"]


def joined_so(side, how, rows, static, join):
    return join(*((rows, static) if side == "left" else (static, rows)), SHARED, how)


def all_of(rows, static, join):
    """Make all joins that Spark supports; add their name and the task of each row."""
    named = [
        joined_so(side, how, rows, static, join).select(
            F.lit(f"{side} {how}").alias("case"),
            F.to_json(F.struct("*")).alias("row"),
            F.spark_partition_id().alias("task"),
        )
        for side, kinds in OF_STREAM.items()
        for how in kinds
    ]
    return functools.reduce(DataFrame.unionAll, named)


def epoch_of(number):
    """Make an epoch: half of its rows have one key, some have null in one or both key columns."""
    names = [
        "hot" if n % 2 else (None, f"k{n % 11}", "nobody", "cold")[n % 8 // 2] for n in range(200)
    ]
    parts = [0 if name == "hot" else None if n % 3 == 0 else n % 5 for n, name in enumerate(names)]
    ids = [1000 * number + n for n in range(200)]
    return pa.table({"k": names, "part": pa.array(parts, pa.int32()), "id": ids})


def counted(rows):
    """Count the rows by case and content."""
    return Counter(zip(rows["case"].to_pylist(), rows["row"].to_pylist(), strict=True))


def own(left, right, on, how):
    return left.join(right, on, how)


@pytest.mark.soak
def test_every_kind_gives_the_rows_of_sparks_own_stream(plain, tmp_path):
    """Keys are split from the first epoch on, and the query continues with other workers."""
    epochs = [epoch_of(number) for number in range(2)]
    static = plain.sql(
        """SELECT k, part, name FROM VALUES ('hot', 0, 'a'), ('hot', 0, 'b'), ('hot', 1, 'c'),
        ('k2', 1, 'd'), ('k4', 4, 'e'), (null, 1, 'f'), ('cold', null, 'g'), (null, null, 'h'),
        ('cold', 2, 'i'), ('else', 1, 'j') AS t(k, part, name)"""
    )
    state = tmp_path / "state"
    found = []
    for number, workers in enumerate((WORKERS, WORKERS + 2)):
        offer(tmp_path / "input", epochs[: number + 1])
        rows = stream_of(plain, tmp_path / "input")
        if number == 0:
            seen = plain.read.parquet(str(tmp_path / "input"))
            operators.fit(seen, SHARED, "planned", workers, state=state)
        join = functools.partial(operators.join, workers=workers, state=state)
        (got,) = oracle.run(all_of(rows, static, join), tmp_path).values()
        found.append(got)
    expected = oracle.run(all_of(rows, static, own), tmp_path / "own")
    cases = {f"{side} {how}" for side, kinds in OF_STREAM.items() for how in kinds}
    for got, there in zip(found, expected.values(), strict=True):
        counts = counted(there)
        assert {case for case, _ in counts} == cases
        assert counted(got) == counts
    hot = [row for row in found[0].to_pylist() if '"k":"hot"' in row["row"]]
    assert len({row["task"] for row in hot if row["case"] == "left inner"}) > 1


@pytest.mark.parametrize("side", OF_STREAM)
def test_what_spark_refuses_is_refused_in_one_line(plain, tmp_path, side):
    offer(tmp_path / "input", [epoch_of(0)])
    rows = stream_of(plain, tmp_path / "input")
    static = plain.createDataFrame([("hot", 0)], "k string, part int")
    for how in skewed_joins.KINDS:
        if how in OF_STREAM[side]:
            continue
        with pytest.raises(AnalysisException, match="not supported"):
            joined_so(side, how, rows, static, own).writeStream.format("noop").start()
        with pytest.raises(ConfigurationError) as refused:
            joined_so(side, how, rows, static, operators.join)
        assert str(refused.value) == (
            f"how = '{how}': Spark has no such join with a stream on the {side}, as a later epoch "
            f"may bring a match; use {', '.join(OF_STREAM[side])}"
        )


def test_all_who_ask_in_an_epoch_are_given_one_plan(tmp_path):
    """A plan that appears while an epoch runs is not used in that epoch, even if it runs again."""

    tables = RoutingTables(tmp_path, "planned", WORKERS)
    grouping, task = PlannedGrouping(), TaskId("query", 3, 0)
    plans = [grouping.plan(np.array([key], np.uint64), np.array([9.0]), WORKERS) for key in (1, 2)]
    tables.of_query("query").write(2, RoutingTable(plans[0]))
    seen = mock.create_autospec(SharedMark, instance=True)
    of_epoch = PerEpoch(tables, seen)
    first = of_epoch.decide(task)
    tables.of_query("query").write(3, RoutingTable(plans[1]))
    for again in (of_epoch.decide(task), of_epoch.recall(task)):
        np.testing.assert_array_equal(again.memory["keys"], first.memory["keys"])
    later = of_epoch.decide(task._replace(epoch=4))
    np.testing.assert_array_equal(later.memory["keys"], plans[1]["keys"])
