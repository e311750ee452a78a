"""Counts in Spark's real-time mode, from topic to topic, against counts without Spark."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import functions as F

from evenkey.spark import fit, place, route
from tests.brokers import begin_transaction, fill, records
from tests.kafka import real_time
from tests.processes import end_session
from tests.runs.killing import running
from tests.snippets.blocks import snippets

pytestmark = pytest.mark.classic("a session beside another, with settings of its own")
_PATIENCE = 120


@pytest.fixture
def session(spark):
    """Start a session for real-time mode, separate from the session of other tests."""
    if spark.version < "4.3":
        pytest.skip("state in real time needs Spark 4.3")
    beside = spark.newSession()
    for name, value in {**real_time.SETTINGS, "spark.sql.shuffle.partitions": "2"}.items():
        beside.conf.set(name, value)
    return beside


def wait_for(condition, check=lambda: None):
    """Wait until a condition holds; fail if it never does."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        check()
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.2)


def running_still(query):
    """Fail if a query has ended."""
    assert query.isActive, query.exception()


def plan_for(session, directory, *users):
    """Write a plan in which these users are hot."""
    hot = F.element_at(F.array(*map(F.lit, users)), (F.col("id") % len(users) + 1).cast("int"))
    rows = session.range(2000).select(
        F.when(F.col("id") % 10 < 8, hot).otherwise(F.col("id").cast("string")).alias("user")
    )
    return fit(rows, "user", "planned(planning=fit)", 2, state=directory / "state")


def listed(table):
    """Return a list of results as a dictionary by window and user."""
    return {
        (int(row["window"]["start"].timestamp()), row["user"]): (
            row["clicks"],
            int(row["total"]),
            row["last"],
        )
        for row in table.to_pylist()
    }


@pytest.mark.slow(7)
def test_the_guide_counts_exactly(session, broker, tmp_path):
    guide = [
        code.replace("localhost:9092", broker.server)
        for code in snippets("docs/real-time.md", "python")
    ]
    for path in ("state/clicks", "checkpoints/clicks"):
        assert any(path in code for code in guide)
        guide = [code.replace(path, str(tmp_path / path)) for code in guide]
    start, count, merge, own = guide
    users = ["alice" if n % 10 < 6 else f"user {n % 37}" for n in range(600)]
    clicks = [json.dumps({"user": user, "amount": n}) for n, user in enumerate(users)]
    fill(broker, "clicks", map(str.encode, clicks), partitions=1)
    aborted = begin_transaction(broker, "clicks", map(str.encode, clicks[:50]), partitions=1)
    aborted.abort_transaction(20)
    real_time.send_far_ahead(broker, "clicks")
    fill(broker, "clicks-by-worker", [], partitions=2)
    names: dict[str, Any] = {}
    exec(start, names)  # noqa: S102 - our own guide
    names["spark"] = session  # the session of all tests has other settings
    exec(count, names)  # noqa: S102 - the same
    expected = Counter[Any]()
    for n, user in enumerate(users):
        expected[real_time.window_of(n), user, "clicks"] += 1
        expected[real_time.window_of(n), user, "amount"] += n

    def found():
        sent = records(broker, "clicks-by-worker")
        lasts = {key: json.loads(value) for key, value in sent}.values()
        sums = Counter[Any]()
        for each in lasts:
            at = real_time.seconds(each["window"]["start"])
            sums.update({(at, each["user"], name): each[name] for name in ("clicks", "amount")})
        return sums

    try:
        wait_for(lambda: found() == expected, lambda: running_still(names["query"]))
    finally:
        names["query"].stop()
    exec(merge, names)  # noqa: S102 - the same
    merged = {
        (int(row["window"]["start"].timestamp()), row["user"], name): int(row[name])
        for row in names["results"].toArrow().to_pylist()
        for name in ("clicks", "amount")
    }
    assert merged == expected
    parts = [json.loads(value) for _, value in records(broker, "clicks-by-worker")]
    workers = {part["worker"] for part in parts if part["user"] == "alice"}
    assert len(workers) == 2, "it was not split: this shows nothing"
    exec(own, names)  # noqa: S102 - the same
    assert names["counts"].columns[:2] == ["user", "split"]


@pytest.mark.soak
@pytest.mark.parametrize("by", ["partition", "split"])
@pytest.mark.parametrize("grouping", ["kg", "planned"])
def test_rows_reach_their_workers_and_plans_are_learned(session, broker, tmp_path, grouping, by):
    """No plan is fitted here: the query learns that a key is hot, and splits it."""
    source, target = (f"placed-{grouping}-{by}-{end}" for end in ("in", "out"))
    fill(broker, source, [], partitions=1)
    fill(broker, target, [], partitions=1)
    rows = route(
        real_time.clicks(session, broker.server, source),
        "user",
        grouping,
        2,
        state=tmp_path / "state",
        position="offset",
        real_time=True,
    )
    key = ["number"] if by == "partition" else ["user", "split"]
    rows = place(rows, 2, by=by, key=None if by == "partition" else "user")
    counts = rows if by == "partition" else rows.groupBy(*key).agg(F.max("worker").alias("worker"))
    placed = counts.withColumn("place", F.spark_partition_id())
    query = real_time.write(placed, key, broker.server, target, tmp_path / "checkpoint")
    sent, most = 0, 2 if grouping == "planned" else 1

    def found():
        return [json.loads(value) for _, value in records(broker, target)]

    def alice():
        nonlocal sent
        running_still(query)
        real_time.send(broker, source, range(sent, sent + 50))
        sent += 50
        hot = {(row["worker"], row["place"]) for row in found() if row.get("user") == "alice"}
        return len(hot) >= most

    try:
        wait_for(lambda: alice() and sent >= 300)
        if by == "partition":
            numbers = set(range(sent))
            wait_for(lambda: {row["number"] for row in found()} == numbers)
    finally:
        query.stop()
    assert all(row["worker"] == row["place"] for row in found())
    if grouping == "planned":
        assert list((tmp_path / "state").glob("*/planned-*/table-*")), "no plan was made"
    else:
        assert len({row["worker"] for row in found() if row.get("user") == "alice"}) == 1


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_killed_count_is_exact_though_its_plan_changes(session, broker, tmp_path):
    fill(broker, "killed", [], partitions=1)
    fill(broker, "killed-parts", [], partitions=2)
    fill(broker, "killed-results", [], partitions=1)
    program, log = ["tests.kafka.real_time", broker.server, str(tmp_path)], tmp_path / "log"
    commits = tmp_path / "checkpoint" / "commits"
    real_time.send_far_ahead(broker, "killed")
    sent = 0
    for hot in ("alice", "user 6", "alice"):
        plan_for(session, tmp_path, hot)
        with running(program, log) as process:
            alive = lambda: process.poll() is None or pytest.fail(log.read_text())  # noqa: E731
            done = len(list(commits.glob("[0-9]*")))
            real_time.send(broker, "killed", range(sent, sent + 1500))
            sent += 1500
            wait_for(lambda: len(list(commits.glob("[0-9]*"))) > done, alive)  # noqa: B023
            # Some of the following records are sent in an epoch that never ends.
            real_time.send(broker, "killed", range(sent, sent + 1500))
            sent += 1500
            before = len(records(broker, "killed-parts"))
            wait_for(lambda: len(records(broker, "killed-parts")) > before, alive)  # noqa: B023
            end_session(process.pid)
    plan_for(session, tmp_path, "user 8")
    expected = real_time.truth(range(sent))
    with running(program, log) as process:
        alive = lambda: process.poll() is None or pytest.fail(log.read_text())  # noqa: E731
        wait_for(lambda: real_time.sums(broker, "killed-parts") == expected, alive)
        # The progress of an epoch reports it, after the epoch's rows.
        wait_for(lambda: list((tmp_path / "state").glob("*/held/read-past-*")), alive)
        (tmp_path / "end").touch()
        assert process.wait(timeout=240) == 0, log.read_text()
    parts = real_time.read(session.read, broker.server, "killed-parts")
    assert listed(real_time.merged(parts).toArrow()) == expected

    results = real_time.merged(real_time.read(session.readStream, broker.server, "killed-parts"))
    query = real_time.write(
        results, ("window", "user"), broker.server, "killed-results", tmp_path / "second"
    )
    try:
        wait_for(
            lambda: real_time.sums(broker, "killed-results") == expected,
            lambda: running_still(query),
        )
    finally:
        query.stop()
