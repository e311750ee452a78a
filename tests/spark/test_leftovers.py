"""Files and threads of a query are removed when it ends; a query that never runs has none."""

from __future__ import annotations

import functools
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from pyspark import accumulators

from evenkey import spark as operators
from evenkey.groupings import Plan
from evenkey.spark import LoadObserver
from evenkey.spark.plans.tables import RoutingTables
from evenkey.spark.sessions.access import is_remote
from tests.servers import eventually

WORKERS = 3


@pytest.fixture
def home(tmp_path, monkeypatch):
    make = functools.partial(tempfile.mkdtemp, prefix="evenkey-", dir=str(tmp_path))
    monkeypatch.setattr("evenkey.spark.sessions.starting._make_home", make)
    monkeypatch.setattr("evenkey.spark.sessions.starting._homes", {})
    return tmp_path


@pytest.fixture
def stream(session):
    rate = session.readStream.format("rate").option("rowsPerSecond", 200).load()
    return rate.selectExpr("concat('u', value % 5) as u", "value")


def tables_in(home):
    """Return the files of temporary directories, without those of the shared-storage check."""
    # Unlike `rglob`, `walk` ignores a directory that is deleted meanwhile.
    walked = ((Path(place), names) for place, _, names in os.walk(home))
    return [
        place / name
        for place, names in walked
        if place.name != "_shared_storage_check"
        for name in names
    ]


def places_in(home):
    return [path.name for path in home.glob("*/*") if path.name != "_shared_storage_check"]


def queries_in(home):
    return {path.relative_to(home).parts[2] for path in tables_in(home)}


def start(df, directory):
    """Start a query with a checkpoint directory."""
    return df.writeStream.format("noop").option("checkpointLocation", str(directory)).start()


def run(df, directory):
    """Run a query for at least two epochs, and return its id."""
    query = start(df, directory)
    eventually(lambda: query.lastProgress is not None and query.lastProgress.batchId > 1)
    query.stop()
    return str(query.id)


def listeners(session):
    if is_remote(session):
        return len(session.streams._sqlb._listener_bus)
    return len(session._jsparkSession.streams().listListeners())


@pytest.mark.slow(5)
def test_tables_go_with_their_query(stream, home, tmp_path_factory):
    routed = operators.route(stream, "u", "dkg", WORKERS)
    assert tables_in(home) == []
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    query = start(routed, checkpoint)
    eventually(lambda: tables_in(home))
    assert all(str(query.id) in path.parts for path in tables_in(home))
    query.stop()
    eventually(lambda: places_in(home) == [])

    # The DataFrame can run again, and again leaves nothing.
    run(routed, checkpoint)
    eventually(lambda: places_in(home) == [])


@pytest.mark.slow(5)
@pytest.mark.classic("over Connect tables are deleted once")
def test_what_a_task_writes_before_spark_kills_it_goes_too(stream, home, tmp_path_factory):
    routed = operators.route(stream, "u", "dkg", WORKERS)
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    query = start(routed, checkpoint)
    eventually(lambda: tables_in(home))
    table = tables_in(home)[0]
    query.stop()
    eventually(lambda: places_in(home) == [])
    table.parent.mkdir(parents=True)
    table.touch()
    eventually(lambda: places_in(home) == [])


@pytest.mark.slow(5)
@pytest.mark.classic("over Connect tables are deleted once")
def test_the_end_of_a_run_leaves_the_tables_of_the_next_run(
    stream, home, tmp_path_factory, monkeypatch
):
    monkeypatch.setattr("evenkey.spark.sessions.query_events._KILLED_WITHIN", 1.0)
    routed = operators.route(stream, "u", "dkg", WORKERS)
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    first = start(routed, checkpoint)
    eventually(lambda: tables_in(home))
    first.stop()
    second = start(routed, checkpoint)
    assert second.id == first.id
    eventually(lambda: tables_in(home))
    kept = tables_in(home)[0].parent / "kept"
    kept.touch()
    # The source has new rows once per second.
    eventually(lambda: second.lastProgress is not None and second.lastProgress.batchId > 4)
    assert kept.exists()
    second.stop()
    eventually(lambda: places_in(home) == [])


def test_of_two_queries_of_a_frame_one_goes_on(stream, home, tmp_path_factory):
    routed = operators.route(stream, "u", "dkg", WORKERS)
    first, second = (start(routed, tmp_path_factory.mktemp("checkpoint")) for _ in range(2))
    eventually(lambda: queries_in(home) == {str(first.id), str(second.id)})
    first.stop()
    eventually(lambda: queries_in(home) == {str(second.id)})
    second.stop()


@pytest.mark.slow(2)
def test_tables_of_a_users_own_stay(stream, home, tmp_path_factory):
    own = tmp_path_factory.mktemp("own")
    routed = operators.route(stream, "u", "dkg", WORKERS, state=own)
    query = run(routed, tmp_path_factory.mktemp("checkpoint"))
    assert RoutingTables(own, "dkg", WORKERS).of_query(query).numbers()
    assert list(home.iterdir()) == []


@pytest.mark.slow(10)
def test_plans_made_of_samples_go_with_their_query(stream, home, tmp_path_factory):
    routed = operators.route(stream, "u", "planned", WORKERS)
    assert tables_in(home) == []
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    query = start(routed, checkpoint)
    eventually(lambda: tables_in(home))
    (place,) = {path.parent for path in tables_in(home)}
    tables = RoutingTables(place, "planned", WORKERS)
    assert tables.numbers()[0] >= 2, "an epoch's figures come when the next one may have begun"
    # The first epochs may have no rows.
    eventually(lambda: len(Plan.from_arrays(tables.latest()).keys) > 0)
    query.stop()
    eventually(lambda: tables_in(home) == [])


@pytest.mark.slow(2)
def test_frames_that_never_run_leave_nothing(session, stream, home):
    def frames():
        operators.route(stream, "u", "dkg", WORKERS)
        operators.route(stream, "u", "planned", WORKERS)
        operators.observe(operators.route(stream, "u", "kg", WORKERS), LoadObserver(WORKERS))

    frames()
    before = listeners(session), len(accumulators._accumulatorRegistry)
    for _ in range(5):
        frames()
    assert (listeners(session), len(accumulators._accumulatorRegistry)) == before
    assert tables_in(home) == []


@pytest.mark.slow(4)
def test_a_counted_batch_leaves_nothing(spark, home):
    batch = spark.range(500).selectExpr("concat('u', id % 7) as u")
    rows = operators.aggregate(batch, "u", "planned", WORKERS).collect()
    assert sum(row["count"] for row in rows) == 500
    assert list(home.iterdir()) == []


SESSIONS = """
import json, os, sys, tempfile, threading
tempfile.tempdir = sys.argv[1]
from pyspark import accumulators
from evenkey import spark as operators
from evenkey.spark.sessions.starting import session
from tests.servers import eventually

def left():
    return sum(name.startswith("evenkey") for name in os.listdir(sys.argv[1]))

seen = []
for number in range(2):
    spark = session("local[1]", {"spark.sql.shuffle.partitions": "1"})
    stream = spark.readStream.format("rate").load().selectExpr("concat('u', value % 5) as u")
    for grouping in ("dkg", "planned"):
        routed = operators.route(stream, "u", grouping, 3)
        query = routed.writeStream.format("noop").start()
        eventually(lambda: query.lastProgress is not None)
        # One query ends with its session.
        if grouping == "dkg":
            query.stop()
    seen.append((left(), len(accumulators._accumulatorRegistry)))
    rows = spark.range(9).selectExpr("concat('u', id) as u", "int(id % 3) as worker")
    spark.stop()
said = []
for call in (
    lambda: operators.route(rows, "u", "dkg", 3, column="w"),
    lambda: operators.place(rows, 3),
    lambda: operators.groupBy(rows, "u"),
    lambda: operators.aggregate(rows, "u", "pkg", 3),
    lambda: operators.join(rows, rows, "u"),
    lambda: operators.partition_for_write(rows, "u", 3),
    lambda: operators.observe(rows, operators.LoadObserver(3)),
    lambda: operators.fit(rows, "u", "planned", 3, state="unused"),
):
    try:
        call()
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
print(json.dumps([seen, said]))
"""


def program(text, *arguments):
    """Run Python code in a separate process."""
    return subprocess.run(
        [sys.executable, "-c", text, *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


@pytest.mark.soak
@pytest.mark.classic("a program with a session of the command line's kind")
def test_sessions_that_stopped_leave_nothing(tmp_path):
    """A session that needs a directory first deletes those of stopped sessions."""
    (tmp_path / "temporary").mkdir()
    done = program(SESSIONS, str(tmp_path / "temporary"))
    seen, said = json.loads(done.stdout.splitlines()[-1])
    directories, registered = zip(*seen, strict=True)
    assert directories == (1, 1)
    stopped = (
        r"ConfigurationError: \w+: the Spark session of this DataFrame was stopped; start one, .*"
    )
    assert [each for each in said if not re.fullmatch(stopped, each)] == []
    assert len(said) == 8
    assert len(set(registered)) == 1
    assert [path.name for path in (tmp_path / "temporary").glob("evenkey*")] == []


ENDING = """
from evenkey import spark as operators
from evenkey.spark.sessions.starting import session
from tests.servers import eventually

spark = session("local[1]", {"spark.sql.shuffle.partitions": "1"})
stream = spark.readStream.format("rate").load().selectExpr("concat('u', value % 5) as u")
routed = operators.route(stream, "u", "dkg", 3)
queries = [routed.writeStream.format("noop").start() for _ in range(3)]
eventually(lambda: all(query.lastProgress for query in queries))
for query in queries:
    query.stop()
"""


@pytest.mark.soak
@pytest.mark.classic("a program with a session of the command line's kind")
def test_a_process_may_end_when_its_queries_have():
    """Spark reports the end of queries a little later, when the process may have ended."""
    assert "threw an exception" not in program(ENDING).stderr


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_queries_come_and_go_and_nothing_grows(session, stream, home, tmp_path_factory):
    def figures():
        gc.collect()
        return {
            "listeners": listeners(session),
            "accumulators": len(accumulators._accumulatorRegistry),
            "directories": len(list(home.rglob("*"))),
        }

    def query():
        routed = operators.route(stream, "u", "dkg", WORKERS)
        observer = LoadObserver(WORKERS)
        run(operators.observe(routed, observer), tmp_path_factory.mktemp("checkpoint"))
        eventually(lambda: observer.loads.sum() > 0)
        planned = operators.route(stream, "u", "planned", WORKERS)
        run(planned, tmp_path_factory.mktemp("checkpoint"))
        eventually(lambda: places_in(home) == [])

    query()
    query()
    before, threads = figures(), threading.active_count()
    for _ in range(4):
        query()
    assert figures() == before
    # 8 more queries ran. The thread of a query ends when the second query after it ends.
    assert threading.active_count() <= threads + 2
