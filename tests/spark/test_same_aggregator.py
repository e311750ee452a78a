"""Streams keep the aggregator of their checkpoint, and log when a user's functions changed."""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from evenkey import fold
from evenkey import spark as operators
from evenkey.aggregators import Count, parse_all
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore, SharedMark
from evenkey.spark import RoutingTables
from evenkey.spark.aggregates.unchanged import SameAggregator
from evenkey.spark.sessions.task_id import TaskId
from tests.spark import oracle
from tests.spark.offered import offer, stream_of

eks: Any = operators
BEGIN = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("amount", pa.int64()),
        ("price", pa.int64()),
        ("time", pa.timestamp("us", "UTC")),
    ]
)


def added(step):
    """Make a fold whose functions contain a number, so that they differ by it."""
    return fold(
        zero=0,
        add=lambda total: total + step,
        combine=lambda first, second: first + second,
        result="total long",
        state_type="long",
    )


def known(store, aggregator, spelled=None):
    store.put("_shared_storage_check/one", b"")
    mark = SharedMark(store, "_shared_storage_check/one", "here")
    tables = RoutingTables(store, "pkg", 2)
    return SameAggregator(tables, mark, spelled or str(aggregator), aggregator.functions_digest)


def changed(known, epoch, query="query"):
    return known.check(TaskId(query, epoch, 0))


def test_functions_that_change_are_noted_in_one_epoch(tmp_path):
    store = LocalStore(tmp_path)
    assert not changed(known(store, added(1)), 0)
    assert not changed(known(store, added(1)), 1)
    other = known(store, added(2))
    assert [changed(other, epoch) for epoch in (2, 2, 3)] == [True, True, False]
    assert not changed(other, 0, "another query")


def test_another_aggregator_is_refused(tmp_path):
    store = LocalStore(tmp_path)
    changed(known(store, Count()), 0)
    with pytest.raises(ConfigurationError) as refused:
        changed(known(store, Count(), "sum(column=price)"), 1)
    assert str(refused.value) == (
        "aggregator = 'sum(column=price)': the checkpoint of this query has states of 'count': "
        "pass that aggregator, or start with a new checkpoint"
    )


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (b"{", RunError, "cannot be read or written"),
        (b'{"aggregator": "count"}', RunError, "cannot be read or written ('format')"),
        (
            b'{"format": 1, "aggregator": "count", "code": "", "changed": null}',
            ConfigurationError,
            "an earlier version wrote it",
        ),
    ],
)
def test_a_record_that_is_none_is_named(tmp_path, content, error, says):
    store = LocalStore(tmp_path)
    store.put("_aggregators/query.json", content)
    with pytest.raises(error) as refused:
        changed(known(store, Count()), 1)
    assert f"{tmp_path}/_aggregators/query.json" in str(refused.value)
    assert says in str(refused.value)


def helper(total):
    return total + 1


def through_a_helper(total):
    return helper(total)


def test_code_is_named_by_what_it_does():
    assert added(1).functions_digest == added(1).functions_digest
    assert added(1).functions_digest != added(2).functions_digest
    several = [parse_all({"n": "count", "of": added(step)}) for step in (1, 1, 2)]
    assert several[0].functions_digest == several[1].functions_digest != several[2].functions_digest
    assert several[0].functions_digest not in ("", added(1).functions_digest)

    def made():
        return fold(
            zero=set,
            add=through_a_helper,
            combine=max,
            answer=lambda state: state in {"a", "b", "c"},
            result="n int",
            state_type="long",
        )

    before = made().functions_digest
    assert before == made().functions_digest
    code, helper.__code__ = helper.__code__, (lambda total: total + 2).__code__
    try:
        assert made().functions_digest != before
    finally:
        helper.__code__ = code


def aggregated(session, directory, aggregator, epochs):
    tables = [
        pa.Table.from_pylist(
            [{"key": "a", "amount": 1, "price": 5, "time": BEGIN + dt.timedelta(seconds=epoch)}],
            schema=SCHEMA,
        )
        for epoch in range(epochs)
    ]
    offer(directory / "input", tables)
    df = eks.aggregate(
        stream_of(session, directory / "input"),
        "key",
        "pkg",
        2,
        aggregator,
        time="time",
        window="1 day",
        max_ahead=None,
        state=directory / "state",
    )
    return oracle.run(df, directory)


def heard(caplog, text):
    """Wait for a log line, since events of a query come a little later."""
    deadline = time.monotonic() + 60
    while not (lines := [each for each in caplog.messages if text in each]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return lines


@pytest.mark.slow(12)
def test_a_checkpoint_read_again_with_other_aggregators(session, tmp_path, caplog):
    aggregated(session, tmp_path, "sum(column=amount)", 1)
    # The state has the same type, so Spark continues.
    with pytest.raises(StreamingQueryException, match="has states of 'sum\\(column=amount\\)': pa"):
        aggregated(session, tmp_path, "sum(column=price)", 2)
    # The state has another type, which Spark itself rejects.
    with caplog.at_level(logging.ERROR), pytest.raises(StreamingQueryException):
        aggregated(session, tmp_path, "count", 2)
    (line,) = heard(caplog, "the states in its checkpoint are of another type")
    assert "or start with a new checkpoint" in line
    assert "\n" not in line
    aggregated(session, tmp_path, "sum(column=amount)", 2)


@pytest.mark.soak(12)
def test_a_fold_with_other_functions_goes_on_and_says_so(session, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        aggregated(session, tmp_path, added(1), 2)
        aggregated(session, tmp_path, added(1), 3)
        assert "functions of" not in caplog.text
        aggregated(session, tmp_path, added(2), 5)
        (line,) = heard(caplog, "the functions of fold( -> total) have changed since its")
    assert re.search(r"combined from epoch \d+ on\. Start with a new checkpoint", line)
