"""Work that follows a join in the joining task: exact, checked, and part of the load."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.joins import DynamicDistributor, balanced_join
from evenkey.joins.balance.distributor import Window
from evenkey.joins.balance.epoch_log import EpochLog
from evenkey.joins.balance.placement import Placement
from evenkey.joins.balance.work import items, seconds
from evenkey.joins.matching.by_key import KeyedJoin
from evenkey.joins.matching.following import Following
from evenkey.joins.matching.partition_join import HASH, PARTITION, SLOT
from evenkey.joins.tasks.join_task import _Slot
from evenkey.spark.slots.cache import WorkerCache

SCHEMA = pa.schema([("n", pa.int64()), ("twice", pa.float64())])


@pytest.fixture(scope="module")
def sides(session):
    number = F.col("id")
    stream = session.range(300).select((number % 20).alias("k"), number.alias("n"))
    static = session.range(30).select((number % 15).alias("k"), (number * 1.5).alias("price"))
    return stream, static


def doubled(joined):
    """Yield some of the rows, with other columns in another order, in two pieces."""
    kept = joined.filter(pc.greater(joined["price"], 10.0))
    twice = pc.multiply(kept["price"], 2.0)
    result = pa.table({"twice": twice, "n": kept["n"].cast(pa.int32())})
    yield result.slice(0, 1)
    yield from result.slice(1).to_batches()


def expected(stream, static):
    rows = stream.join(static, "k").where("price > 10").selectExpr("n", "price * 2 twice")
    return Counter(map(tuple, rows.collect()))


@pytest.mark.slow(5)
def test_a_batch_equals_sparks_join_with_the_same_work_after_it(sides):
    stream, static = sides
    result = balanced_join(
        stream, static, "k", workers=2, then=doubled, schema="n bigint, twice double"
    )
    assert result.columns == ["n", "twice"]
    assert Counter(map(tuple, result.collect())) == expected(stream, static)
    same = balanced_join(stream, static, "k", workers=2, then=lambda joined: joined.slice(0, 0))
    assert same.columns == ["k", "n", "price"]
    assert same.count() == 0


@pytest.mark.slow(5)
def test_a_stream_stays_exact_while_partitions_move(sides, stream_of_files, run_to_end, tmp_path):
    stream, static = sides
    joined = balanced_join(
        stream_of_files(stream),
        static,
        "k",
        workers=2,
        state=tmp_path / "join",
        distributor=DynamicDistributor(forced=(1,), load_clock="wall"),
        then=doubled,
        schema="n bigint, twice double",
    )
    parts = run_to_end(joined)
    rows = Counter((row["n"], row["twice"]) for part in parts.values() for row in part)
    assert rows == expected(stream, static)
    (log,) = map(EpochLog, (tmp_path / "join" / "epochs").iterdir())
    plan = log.plan(1)
    assert plan
    assert plan.redistributions == 1
    # Records count the rows of the join, before the work that follows.
    pairs = sum(work[2] for e in range(3) for r in log.records(e) for work in r.work.values())
    assert pairs == stream.join(static, "k").count()


def fails(joined):
    return joined["price"][0].as_py() / 0


@pytest.mark.slow(3)
def test_an_error_names_the_users_own_line(sides):
    stream, static = sides
    line = fails.__code__.co_firstlineno + 1
    message = (
        rf"function raised ZeroDivisionError.*test_following.py, line {line}, in fails: return"
    )
    with pytest.raises(Exception, match=message):
        balanced_join(stream, static, "k", workers=2, then=fails).collect()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "the function returned NoneType: it must return a pyarrow Table"),
        ([1], "the function returned int"),
        (pa.table({"n": [1]}), "returned columns n; schema has n, twice"),
        (pa.table({"n": ["a"], "twice": [1.0]}), "column 'n' is string, schema has int64"),
        (pa.table({"n": [1.5], "twice": [1.0]}), "column 'n' is double, schema has int64"),
    ],
)
def test_what_the_function_returns_is_checked(given, message):
    with pytest.raises(RunError, match=message):
        list(Following(lambda _: given, SCHEMA)(pa.table({"n": [1]})))


def test_nulls_are_refused_where_the_schema_rules_them_out():
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with pytest.raises(RunError, match="column 'n' has nulls"):
        list(Following(lambda rows: rows, schema)(pa.table({"n": pa.array([None], pa.int64())})))


def test_a_generator_that_fails_halfway_is_reported():
    def halfway(rows):
        yield rows
        message = "no more"
        raise LookupError(message)

    with pytest.raises(
        RunError, match=r"then: the function raised LookupError: no more .*in halfway"
    ):
        list(Following(halfway, pa.schema([("n", pa.int64())]))(pa.table({"n": [1]})))


def test_invalid_options_are_reported(sides):
    stream, static = sides
    with pytest.raises(ConfigurationError, match="schema is given without then"):
        balanced_join(stream, static, "k", schema="n int")
    with pytest.raises(ConfigurationError, match="then = 'doubled': must be a function"):
        balanced_join(stream, static, "k", then=cast("Any", "doubled"))
    for schema in ("n of int", "int"):
        with pytest.raises(ConfigurationError, match="such as 'user string, total bigint'"):
            balanced_join(stream, static, "k", then=doubled, schema=schema)


class Clock:
    """A clock that advances only when a test advances it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def slot_of(clock, following, matching=0.0, loading=0.0):
    """Make a slot whose static partitions have one row each, with simulated costs."""
    join = KeyedJoin(("k",), ("n",), "inner")
    static = {"k": [1], "price": [1.0], HASH: pa.array([7], pa.int64())}

    def load(_, partition):
        clock.now += loading
        return join.prepare(pa.table(static), partition)

    def match(prepared, rows):
        for table in join.match(prepared, rows):
            clock.now += matching * table.num_rows
            yield table

    cache = WorkerCache(1 << 20)
    task: Any = SimpleNamespace(cache=lambda _: cache, key=lambda *key: key, load=load, match=match)
    plan: Any = SimpleNamespace(version=1)
    return _Slot(task, 0, plan, clock, following)


def rows_of(counts):
    """Make stream rows, given their number for each partition."""
    partitions = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    count = len(partitions)
    return pa.table(
        {
            "k": np.ones(count, np.int64),
            "n": np.arange(count),
            HASH: np.full(count, 7),
            PARTITION: partitions,
            SLOT: np.zeros(count, np.int32),
        }
    )


def test_the_load_is_the_join_what_follows_and_the_handing_over_and_no_more():
    clock = Clock()

    def costly(joined):
        clock.now += 10.0 * joined.num_rows
        return joined

    schema = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("price", pa.float64())])
    slot = slot_of(clock, Following(costly, schema), matching=1.0, loading=500.0)
    for _ in range(2):
        for batch in slot.join(rows_of([3, 2])):
            clock.now += 100.0 * batch.num_rows  # Spark reads the rows
        clock.now += 1e6  # the slot waits for rows
    record = slot.record()
    assert record.work == {0: (6, 666.0, 6), 1: (4, 444.0, 4)}
    assert record.loaded == {0: 500.0, 1: 500.0}


def test_partitions_move_by_what_follows_the_join():
    """All partitions have equally many rows and pairs, but those of slot 0 cost more afterwards."""
    clock = Clock()

    def costly(joined):
        clock.now += joined.num_rows * (50.0 if joined["n"][0].as_py() < 200 else 1.0)
        return joined

    schema = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("price", pa.float64())])
    slot = slot_of(clock, Following(costly, schema), matching=1.0)
    list(slot.join(rows_of([100] * 8)))
    before = Placement((0, 0, 1, 1, 2, 2, 3, 3))
    work = EpochLog.work([slot.record()], 8)
    planned = {}
    for load in (seconds, items):
        distributor = DynamicDistributor(load=load, min_items=800, copies=False)
        window = distributor.take_in(Window(), work, began=0.0, now=10.0)
        _, planned[load] = distributor.look(window, before, 4, now=10.0, epoch=1)
    assert planned[seconds].owners[0] != planned[seconds].owners[1]
    assert planned[items] == before
