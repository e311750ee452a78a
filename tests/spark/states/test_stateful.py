"""`stateful` on Spark: streams, batches and foreachBatch, against a loop over all rows."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.core.errors import ConfigurationError
from tests.epochs import run_epochs
from tests.spark.offered import offer, stream_of
from tests.spark.states.purchases import START, expected, followed, purchases

EPOCHS = 5


def counted(tables):
    return {
        epoch: Counter(tuple(row.values()) for row in rows.to_pylist())
        for epoch, rows in tables.items()
    }


@pytest.mark.slow(25)
def test_a_stream_is_exact_through_restarts_with_other_workers(session, tmp_path):
    epochs = [purchases(epoch) for epoch in range(EPOCHS)]
    whole = expected(epochs)
    assert any(row[-1] for found in whole for row in found)
    found: dict[int, Counter[Any]] = {}
    for stop, options in (
        (2, {}),
        (4, {"workers": 3}),
        (EPOCHS, {"workers": 1, "most_workers": 3}),
    ):
        offer(tmp_path / "input", epochs[:stop])
        df = followed(stream_of(session, tmp_path / "input"), tmp_path / "state", **options)
        found |= counted(run_epochs(df, tmp_path / "checkpoint"))
    assert found == dict(enumerate(whole))
    assert sum(found[1].values()) > 10


def add_up(batch):
    """Add amounts; a negative sum deletes the state."""
    sums = batch.states["total"].fill_null(0).to_numpy().copy()
    np.add.at(sums, batch.positions, batch.rows["amount"].to_numpy())
    results = pa.table({"user": batch.states["user"], "total": pa.array(sums)})
    return results.select(["total"]), results


def test_a_batch_is_one_epoch_without_state(session):
    rows = session.range(200).select(
        F.when(F.col("id") % 9 > 0, F.concat(F.lit("u"), F.col("id") % 9)).alias("user"),
        F.col("id").alias("amount"),
    )
    found = eks.stateful(
        rows, "user", add_up, "user string, total bigint", "total bigint", workers=3
    )
    plain = rows.groupBy("user").agg(F.sum("amount"))
    assert Counter(map(tuple, found.collect())) == Counter(map(tuple, plain.collect()))


@pytest.mark.classic("over Connect, foreachBatch does not pass the epoch to tasks")
@pytest.mark.slow(8)
def test_a_batch_of_foreach_batch_has_the_states_of_its_query(session, tmp_path):
    epochs = [purchases(epoch).select(["user", "amount"]) for epoch in range(3)]
    offer(tmp_path / "input", epochs)

    def work(batch):
        return eks.stateful(
            batch,
            "user",
            add_up,
            "user string, total bigint",
            "total bigint",
            workers=2,
            state=tmp_path / "state",
        )

    found = counted(run_epochs(stream_of(session, tmp_path / "input"), tmp_path / "c", work=work))
    sums: Counter[Any] = Counter()
    for epoch, rows in enumerate(epochs):
        for row in rows.to_pylist():
            sums[row["user"]] += row["amount"]
        assert found[epoch] == Counter((user, sums[user]) for user in {*rows["user"].to_pylist()})


@pytest.mark.soak(6)
def test_an_epoch_without_rows_keeps_all_states(session, tmp_path):
    epochs = [purchases(0), purchases(1).slice(0, 0), purchases(1)]
    offer(tmp_path / "input", epochs)
    df = stream_of(session, tmp_path / "input").select("user", "amount")
    df = eks.stateful(
        df,
        "user",
        add_up,
        "user string, total bigint",
        "total bigint",
        workers=2,
        state=tmp_path / "s",
    )
    found = counted(run_epochs(df, tmp_path / "checkpoint"))
    sums: Counter[Any] = Counter()
    for epoch in (0, 2):
        for row in epochs[epoch].to_pylist():
            sums[row["user"]] += row["amount"]
    assert found[1] == Counter()
    assert dict(found[2].keys()) == {user: sums[user] for user in {*epochs[2]["user"].to_pylist()}}


def add_parts(batch):
    """Merge the sums of parts of the rows."""
    sums = batch.states["total"].fill_null(0).to_numpy().copy()
    np.add.at(sums, batch.positions, batch.rows["total"].to_numpy())
    states = batch.states.select(["user"]).append_column("total", pa.array(sums))
    return states, states


@pytest.mark.slow(9)
@pytest.mark.parametrize("merge", [add_parts, None], ids=["merge", "whole"])
def test_hot_keys_are_combined_or_get_partitions_and_are_exact(session, tmp_path, merge):
    random, count, epochs = np.random.default_rng(3), 1500, []
    for epoch in range(4):
        hot = None if epoch == 0 else "user 4"
        users = [hot if random.random() < 0.6 else f"user {n % 20}" for n in range(count)]
        users[:3] = [None, "user 4", "user 5"]
        rows = {"user": users, "amount": random.integers(0, 100, count)}
        at = pa.array([START + timedelta(seconds=epoch)] * count, pa.timestamp("us", "UTC"))
        epochs.append(pa.table({**rows, "at": at, "a.b": [{"x": 1}] * count}))
    offer(tmp_path / "input", epochs)
    df = called(
        stream_of(session, tmp_path / "input"),
        state=tmp_path / "state",
        workers=2,
        time="at",
        balance="rows",
        merge=merge,
    )
    found = counted(run_epochs(df, tmp_path / "checkpoint"))
    sums: Counter[Any] = Counter()
    for epoch, table in enumerate(epochs):
        for row in table.to_pylist():
            sums[row["user"]] += row["amount"]
        assert found[epoch] == Counter(sums.items())
    plans = [*(tmp_path / "state").glob("queries/*/epochs/*/plan-*.json")]
    plans = [json.loads(plan.read_text()) for plan in sorted(plans)]
    assert [len(plan["hot"]) for plan in plans] == ([0, 1, 1, 1] if merge else [0, 0, 0, 0])
    own = [len([*filter(None, plan["own"])]) for plan in plans]
    assert own == ([0, 0, 0, 0] if merge else [0, 1, 1, 1])
    assert [len(plan["regrouped"]) for plan in plans] == ([0, 0, 0, 0] if merge else [0, 1, 2, 0])


@pytest.mark.soak(9)
def test_an_epoch_in_which_only_another_source_has_rows_keeps_all_states(session, tmp_path):
    epochs = [purchases(epoch).select(["user", "amount"]) for epoch in range(2)]

    def run(own, other):
        offer(tmp_path / "own", epochs[:own])
        offer(tmp_path / "other", epochs[:other])
        df = called(stream_of(session, tmp_path / "own"), state=tmp_path / "s", workers=2)
        plain = stream_of(session, tmp_path / "other").withColumnRenamed("amount", "total")
        return counted(run_epochs(df.union(plain), tmp_path / "checkpoint"))

    found = run(1, 1) | run(1, 2) | run(2, 2)
    rows = [Counter(tuple(row.values()) for row in each.to_pylist()) for each in epochs]
    sums: Counter[Any] = Counter()
    results = []
    for epoch in epochs:
        for row in epoch.to_pylist():
            sums[row["user"]] += row["amount"]
        results.append(Counter((user, sums[user]) for user in {*epoch["user"].to_pylist()}))
    assert found == {0: results[0] + rows[0], 1: rows[1], 2: results[1]}


def test_floating_keys_and_columns_with_dots_are_as_in_spark(session):
    """NaN is one key, and so are zero and negative zero."""
    keys = [0.0, -0.0, float("nan"), float("nan"), None, 1.5, None, -0.0]
    rows = session.createDataFrame(
        [(key, (number, "x")) for number, key in enumerate(keys)],
        "`a.b` double, `c d` struct<e: int, f: string>",
    )

    def count(batch):
        n = pa.array(np.bincount(batch.positions, minlength=len(batch.states)))
        batch.rows.select(["a.b", "c d"])  # an error if one is missing
        return pa.table({"n": n}), batch.states.select(["a.b"]).append_column("n", n)

    found = eks.stateful(rows, "a.b", count, "`a.b` double, n bigint", "n bigint", workers=2)
    plain = rows.groupBy("`a.b`").agg(F.count("*"))
    assert sorted(map(str, map(tuple, found.collect()))) == sorted(
        map(str, map(tuple, plain.collect()))
    )


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("batch.states", "it must return a tuple: a table of states, and a table of results"),
        ("(batch.states.slice(1), None)", r"returned 1 states for 2 keys: return one row for each"),
        ("(batch.rows, None)", "the function returned columns amount; state_schema has total"),
        ("(batch.states, batch.rows)", "returned columns user, amount; output_schema has user, n"),
        ("(1 / 0, None)", r"function: the function raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_function_that_is_wrong_is_explained(session, returned, message):
    rows = session.createDataFrame([("ann", 1), ("bob", 2)], "user string, amount bigint")

    def function(batch):
        return eval(returned, {"batch": batch})  # noqa: S307 - the texts above

    df = eks.stateful(
        rows, "user", function, "user string, n bigint", "total bigint", workers=1, partitions=1
    )
    with pytest.raises(PythonException, match=message):
        df.collect()


def test_a_lost_state_fails_the_query_in_one_line(session, tmp_path):
    offer(tmp_path / "input", [purchases(0)])
    run_epochs(followed(stream_of(session, tmp_path / "input"), tmp_path / "a"), tmp_path / "c")
    offer(tmp_path / "input", [purchases(0), purchases(1)])
    df = followed(stream_of(session, tmp_path / "input"), tmp_path / "b")
    with pytest.raises(
        StreamingQueryException, match="has no states of this query, which has 1 ep"
    ):
        run_epochs(df, tmp_path / "c")


def called(df, **options):
    arguments = {
        "key": "user",
        "function": add_up,
        "output_schema": "user string, total bigint",
        "state_schema": "total bigint",
        **options,
    }
    return eks.stateful(df, **arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": "users"}, "there is no column 'users'"),
        ({"key": "tags"}, "arrays, maps and structs cannot be keys of states"),
        ({"function": 3}, "function = 3: must be a function"),
        ({"scale": 3}, "scale = 3: must be a function"),
        ({"workers": 0}, "there must be at least 1 worker"),
        ({"workers": 4, "most_workers": 3}, "most_workers = 3: must be at least 4"),
        ({"partitions": 7}, "partitions = 7: must be at least 8"),
        ({"state_schema": "user string"}, "column 'user' has the name of another column"),
        ({"state_schema": "n int, N int"}, "column 'n' has the name of another column"),
        ({"state_schema": "bigint"}, "state_schema = 'bigint': must list columns"),
        ({"timer": "due"}, "timer = 'due': state_schema has no such column; it has total"),
        ({"timer": "total"}, "timer = 'total' is of type bigint: it must be a timestamp"),
        ({"delay": "1 minute"}, "delay = '1 minute' needs time="),
        ({"time": "amount", "delay": "soon"}, "delay = 'soon': must be a duration"),
        ({"expire_after": 5}, "expire_after = 5: must be text"),
        ({"balance": "keys"}, "balance = 'keys': must be 'load' or 'rows'"),
        ({"state": "states"}, "the states of a batch are not kept"),
    ],
)
def test_wrong_arguments_are_refused(session, options, message):
    rows = session.createDataFrame([], "user string, amount bigint, tags array<string>")
    with pytest.raises(ConfigurationError, match=message):
        called(rows, **options)


def test_a_stream_needs_a_state_and_the_same_shape_again(session, tmp_path):
    df = (
        session.readStream.format("rate")
        .load()
        .selectExpr("cast(value as string) user", "value amount")
    )
    with pytest.raises(ConfigurationError, match="state = None: a stream needs the location"):
        called(df)
    called(df, state=tmp_path, workers=3)
    called(df, state=tmp_path, workers=5)
    for options, message in (
        ({"partitions": 64}, "has partitions = 48, and this call has partitions = 64"),
        (
            {"state_schema": "total int"},
            "has columns = total bigint, and this call has columns = t",
        ),
        ({"expire_after": "1 day"}, "has expires = False, and this call has expires = True"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            called(df, state=tmp_path, **options)
