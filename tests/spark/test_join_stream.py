"""A stream joined with a batch: exact in every epoch, and even once keys are known."""

from __future__ import annotations

import time
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.groupings import PlannedGrouping
from evenkey.spark.joining.streams import Pinned
from evenkey.spark.meeting import Meeting
from evenkey.spark.plan_lookup import Followed
from evenkey.spark.routing_table import RoutingTable, RoutingTables
from evenkey.spark.task import TaskId
from evenkey.streams import generated
from tests.spark import oracle, skewed_joins

WORKERS, EPOCHS, MESSAGES = 5, 3, 12_000
STREAM = generated("country-skew-r80", messages=MESSAGES)


@pytest.fixture(scope="module")
def plain(session):
    """A session that broadcasts nothing on its own."""
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    return session


def static_of(session, messages):
    """Two rows for each key but some of them, and keys that the stream has not."""
    counts = messages.groupBy("key").count()
    keys = counts.where("xxhash64(key) % 9 <> 0 or count > 1000").select("key")
    every = keys.unionAll(session.sql("select 'nobody' as key"))
    return every.selectExpr("key", "explode(array(1, 2)) as number").cache()


@pytest.mark.parametrize(("how", "stream_is"), [("left", "left"), ("inner", "right")])
def test_epochs_equal_sparks_join_and_become_even(plain, tmp_path, how, stream_is):
    df = oracle.streaming(plain, STREAM, tmp_path, epochs=EPOCHS).select("key", "time")
    read = plain.read.schema(df.schema).parquet(str(tmp_path / "input"))
    static = static_of(plain, read)

    def joined(rows, join):
        sides = (rows, static) if stream_is == "left" else (static, rows)
        return join(*sides, "key", how)

    state = tmp_path / "state"

    def wait_for_plan(epoch):
        """Of epoch 0, which has ended when epoch 1 hands over its rows, that of epoch 2 is made."""
        deadline = time.monotonic() + 60
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


def test_all_who_ask_in_an_epoch_are_given_one_plan(tmp_path):
    """A plan that comes while an epoch runs is that of none of its tasks, nor if it runs again."""

    tables = RoutingTables(tmp_path, "planned", WORKERS)
    grouping, task = PlannedGrouping(), TaskId("query", 3, 0)
    plans = [grouping.plan(np.array([key], np.uint64), np.array([9.0]), WORKERS) for key in (1, 2)]
    tables.of_query("query").write(2, RoutingTable(plans[0]))
    seen = mock.create_autospec(Meeting, instance=True)
    of_epoch = Pinned(Followed(tables, seen))
    first = of_epoch.decide(task)
    tables.of_query("query").write(3, RoutingTable(plans[1]))
    for again in (of_epoch.decide(task), of_epoch.recall(task)):
        np.testing.assert_array_equal(again.memory["keys"], first.memory["keys"])
    later = of_epoch.decide(task._replace(epoch=4))
    np.testing.assert_array_equal(later.memory["keys"], plans[1]["keys"])
