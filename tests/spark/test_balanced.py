"""`balanced`: results equal Spark's, all other calls are untouched, and methods are restored."""

from __future__ import annotations

import collections
import functools
import logging
import os
import re
import shutil
import threading
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyspark.errors
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.core.profiles import Profile, TaskFigures, read_profile, write_profile
from evenkey.spark import balanced, record
from evenkey.spark.balancing import stage_tasks
from evenkey.spark.intercepted import replaced_methods
from evenkey.spark.sessions.query_events import wait_for_events
from tests.session import CONNECT
from tests.spark.test_record import methods

ROWS = 3000
USERS = ["ann" if n % 2 else "bob" if n % 6 == 2 else f"user {n % 30}" for n in range(ROWS)]
CLICKS, COUNTED = "user string, n long", "user string, n long"


@pytest.fixture(scope="module")
def own(spark):
    """Return a session in which Spark broadcasts no side of a join."""
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    return session


@pytest.fixture(scope="module")
def clicks(own):
    return own.createDataFrame([(user, n) for n, user in enumerate(USERS)], CLICKS).repartition(3)


@pytest.fixture(scope="module")
def people(own):
    rows = [(user, len(user)) for user in sorted({*USERS})] + [("nobody", 0), (None, 1)]
    return own.createDataFrame(rows, "name string, size long")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "profile.json"


def counted(rows):
    return rows[["user"]].head(1).assign(n=len(rows))


def counted_by_key(key, rows):
    return pd.DataFrame({"user": [str(key)], "n": [len(rows)]})


def counted_in_arrow(rows):
    return pa.table({"user": rows["user"][:1], "n": [rows.num_rows]})


def counted_both(key, left, right):
    return pd.DataFrame({"user": [key[0]], "n": [1000 * len(left) + len(right)]})


def by_name(clicks, people, how="inner"):
    return clicks.join(people.withColumnRenamed("name", "user"), "user", how)


def aliases(clicks, people):
    left, right = clicks.alias("l"), people.alias("r")
    joined = left.join(right, F.col("l.user") == F.col("r.name"), "left")
    return joined.where("r.size > 3").select("l.user", "r.size", "l.n")


JOBS: dict[str, Any] = {
    "pandas": lambda c, _: c.groupBy("user").applyInPandas(counted, COUNTED),
    "key": lambda c, _: c.groupby(["user"]).applyInPandas(counted_by_key, schema=COUNTED),
    "expression": lambda c, _: c.groupBy(F.upper(c.user), c["n"] % 2).applyInPandas(
        counted_by_key, COUNTED
    ),
    "arrow": lambda c, _: c.groupBy(c.user).applyInArrow(func=counted_in_arrow, schema=COUNTED),
    "cogroup": lambda c, p: (
        c.groupBy("user").cogroup(p.groupBy("name")).applyInPandas(counted_both, COUNTED)
    ),
    **{
        f"join {how}": lambda c, p, how=how: by_name(c, p, how)
        for how in ("inner", "left", "right", "outer", "left_semi", "anti")
    },
    "condition": lambda c, p: (
        c.join(p, c.user == p.name).select(c.n, p["size"], "name").where(p["size"] > 3)
    ),
    "null safe": lambda c, p: c.join(p, c.user.eqNullSafe(p.name), "full").drop(p.name),
    "aliases": aliases,
    "chain": lambda c, p: by_name(c, p).groupBy("user").applyInPandas(counted, COUNTED),
}

SOME_JOBS = {"pandas", "cogroup", "join inner", "join left_semi", "condition", "chain"}
"""The jobs of which `make test` compares the results."""


def sorted_rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


class Recorded(NamedTuple):
    """A job: its rows and schema by Spark alone, its rows while recorded, and its operations."""

    plain: list[tuple[Any, ...]]
    schema: Any
    rows: list[tuple[Any, ...]]
    operations: dict[str, Any]


@pytest.fixture(scope="module")
def recorded(own, clicks, people, tmp_path_factory):
    """Return a function that runs a job by its name, once without and once with a recording."""

    @functools.cache
    def run(name):
        path = tmp_path_factory.mktemp("recorded") / "profile.json"
        plain = JOBS[name](clicks, people)
        with record(own, path):
            rows = sorted_rows(JOBS[name](clicks, people))
        operations = {**read_profile(path).operations}
        return Recorded(sorted_rows(plain), plain.schema, rows, operations)

    return run


@pytest.fixture
def profiled(recorded, path):
    """Return a function that writes a profile of some jobs."""

    def write(*names):
        operations = [recorded(name).operations for name in names]
        write_profile(path, Profile(dict(collections.ChainMap(*operations))))

    return write


@pytest.mark.parametrize(
    "name",
    [each if each in SOME_JOBS else pytest.param(each, marks=pytest.mark.slow(2)) for each in JOBS],
)
def test_results_equal_those_of_spark(own, clicks, people, path, recorded, profiled, name):
    job = recorded(name)
    assert job.rows == job.plain
    profiled(name)
    with balanced(own, path, least_gain=0) as balancing:
        frame = JOBS[name](clicks, people)
        assert sorted_rows(frame) == job.plain
    assert frame.schema == job.schema
    assert len(balancing.rerouted) == len(job.operations) == 1 + (name == "chain")
    if not CONNECT:
        assert all("not measured" not in line for line in balancing.summary), balancing.summary


def written(files):
    return sorted(map(tuple, files.collect()))


@pytest.mark.parametrize(
    "by",
    [
        "name",
        pytest.param("number", marks=pytest.mark.slow(2)),
        pytest.param("column", marks=pytest.mark.soak(2)),
    ],
)
def test_a_write_has_the_rows_of_spark(own, path, tmp_path, by):
    forms: dict[str, list[Any]] = {
        "name": ["day"],
        "number": [4, "day"],
        "column": [F.col("day")],
    }
    columns = forms[by]
    rows = own.range(1000).selectExpr("id", "if(id % 10 < 7, 1, id % 7) as day")

    def job(out):
        rows.repartition(*columns).write.mode("overwrite").partitionBy("day").parquet(str(out))
        return own.read.parquet(str(out)), {
            each.name: len([*each.glob("*.parquet")]) for each in out.glob("day=*")
        }

    with record(own, path):
        plain, files = job(tmp_path / "plain")
    assert {*files.values()} == {1}
    with balanced(own, path, least_gain=0) as balancing:
        found, files = job(tmp_path / "balanced")
    assert written(found) == written(plain)
    assert balancing.rerouted == ["write by day"]
    # 70 % of the rows are nearly three of four tasks; each other value fits into one.
    assert files.pop("day=1") == 3
    assert {*files.values()} == {1}


def test_a_write_without_a_shuffle_by_its_columns_is_left(own, path, tmp_path):
    rows = own.range(0, 100, 1, 1).selectExpr("id", "id % 3 as day")

    def job():
        for number, each in enumerate((rows, rows.repartition(2), rows.repartition("id"))):
            each.write.partitionBy("day").mode("overwrite").json(str(tmp_path / str(number)))

    with record(own, path):
        job()
    with balanced(own, path, least_gain=0) as balancing:
        job()
    assert balancing.rerouted == []
    (line,) = balancing.summary
    assert line.startswith("left to Spark: write by day: ")
    assert "its rows are not repartitioned by the partition columns" in line


def test_a_write_of_cached_rows_is_left(own, path, tmp_path):
    def job():
        rows = own.range(100).selectExpr("id", "id % 3 as day").repartition("day").cache()
        rows.write.partitionBy("day").mode("overwrite").json(str(tmp_path / "out"))
        rows.unpersist()

    with record(own, path):
        job()
    with balanced(own, path, least_gain=0) as balancing:
        job()
    assert balancing.rerouted == []
    (line,) = balancing.summary
    assert "its repartitioned rows are cached" in line


def changed(path, **changes):
    """Change all operations of a profile."""
    operations = {
        name: replace(each, **{key: value(each) for key, value in changes.items()})
        for name, each in read_profile(path).operations.items()
    }
    write_profile(path, Profile(operations))


def other_keys(operation):
    """Return the inputs with other hot keys than those that were recorded."""
    return tuple(
        replace(rows, keys=tuple(replace(key, hashed=key.hashed ^ 0x5A5A5A5A) for key in rows.keys))
        for rows in operation.inputs
    )


@pytest.mark.parametrize(
    "name",
    [
        *("pandas", "join inner"),
        pytest.param("cogroup", marks=pytest.mark.slow(3)),
        pytest.param("join left", marks=pytest.mark.soak(3)),
    ],
)
def test_replaced_hot_keys_cost_no_rows_and_are_noticed(
    own, clicks, people, path, recorded, profiled, caplog, name
):
    profiled(name)
    changed(path, inputs=other_keys)
    with caplog.at_level(logging.WARNING), balanced(own, path, least_gain=0) as balancing:
        assert sorted_rows(JOBS[name](clicks, people)) == recorded(name).plain
    assert len(balancing.rerouted) == 1
    notices = [each for each in caplog.messages if "the profile is out of date" in each]
    assert len(notices) == (0 if CONNECT else 1), caplog.messages
    assert ("the profile is out of date: " in balancing.summary[0]) is not CONNECT


def measured(balancing):
    """Return the tasks of each rerouted operation."""
    return [each.found for each in balancing.measured]


@pytest.mark.classic("reads the times of tasks")
def test_the_tasks_have_the_rows_that_the_profile_predicts(
    own, clicks, people, path, profiled, caplog
):
    profiled("pandas", "join left")
    changed(path, tasks=lambda _: TaskFigures("app", 0.0, (ROWS, 0), (300.0, 0.0)))
    with caplog.at_level(logging.WARNING), balanced(own, path, least_gain=0) as balancing:
        JOBS["pandas"](clicks, people).collect()
        JOBS["join left"](clicks, people).collect()
    assert "out of date" not in caplog.text
    group, join = balancing.measured
    found_group, found_join = measured(balancing)
    # Half of the rows are of one key, which one task has.
    assert found_group.rows.max() == USERS.count("ann")
    assert found_group.rows.sum() == ROWS
    assert group.planned.rows.max() == pytest.approx(USERS.count("ann"), rel=0.1)
    # In the join they are divided: no task has much more than an eighth.
    assert found_join.rows.max() < ROWS / 4
    assert join.planned.rows.sum() == pytest.approx(found_join.rows.sum(), rel=0.1)
    assert re.search(
        r"^join LeftOuter by .*: 1 call rerouted, predicted \d+\.\d s in place of \d+\.\d s, "
        r"measured \d+\.\d s$",
        balancing.summary[1],
    )


def test_a_small_gain_is_left_to_spark(own, clicks, path, profiled):
    profiled("pandas")
    with balanced(own, path, least_gain=50) as balancing:
        JOBS["pandas"](clicks, None).collect()
        JOBS["pandas"](clicks, None).collect()
    assert balancing.rerouted == []
    (line,) = balancing.summary
    assert "faster, which is too little" in line


def test_keys_that_no_plan_can_place_are_left_to_spark(own, path):
    numbers = own.range(100).selectExpr("id", "cast(id % 2 as double) as real")

    def job():
        return numbers.join(own.range(2).selectExpr("cast(id as double) as real"), "real")

    with record(own, path):
        job().collect()
    with balanced(own, path, least_gain=0) as balancing:
        assert job().count() == 100
    assert balancing.summary[0].endswith("the profile has no keys of it; record the job again")


def physical(frame):
    text = frame._jdf.queryExecution().executedPlan().toString()
    return re.sub(r"#\d+L?|plan_id=\d+|\[id=\d+\]", "", text)


@pytest.fixture
def jobs_of(own, path):
    """Return a function that runs an action, and counts the jobs of Spark that it runs."""
    tracker = own.sparkContext.statusTracker()

    def count(name, action):
        group = f"{name} {path}"
        own.sparkContext.setJobGroup(group, group)
        action()
        return len(tracker.getJobIdsForGroup(group))

    yield count
    own.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.slow(8)
@pytest.mark.classic("reads physical plans and jobs of the JVM")
def test_other_calls_have_the_same_plan_and_run_no_further_job(
    own, clicks, people, path, jobs_of, profiled
):
    other = clicks.where("n > 5")
    profiled("pandas")
    for name, job in JOBS.items():
        plain = job(other, people)
        with balanced(own, path, least_gain=0) as balancing:
            assert jobs_of(f"call {name}", lambda job=job: job(other, people)) == 0
            frame = job(other, people)
        assert physical(frame) == physical(plain)
        assert balancing.summary == []


@pytest.mark.classic("counts the jobs of the session's Spark")
def test_no_key_is_counted(own, clicks, people, path, jobs_of, profiled):
    def job():
        JOBS["pandas"](clicks, people)
        JOBS["join left"](clicks, people)

    profiled("pandas", "join left")
    with balanced(own, path, least_gain=0) as balancing:
        # The first call of a context asks for the number of slots.
        assert jobs_of("first", job) <= 1
        assert jobs_of("second", job) == 0
    assert len(balancing.rerouted) == 2


def in_order(rows):
    return rows[["user"]].head(1).assign(n=int(rows["n"].is_monotonic_increasing))


def in_order_of_both(left, right):
    del left
    return in_order(right)


def by_user(frame):
    return frame.repartition(4, "user").sortWithinPartitions("user", "n")


def numbered(frame):
    return frame.withColumn("place", F.row_number().over(Window.partitionBy("user").orderBy("n")))


ORDERED: dict[str, Any] = {
    "sorted": by_user,
    "window": numbered,
    "cached": lambda clicks: by_user(clicks).cache(),
    "global sort": lambda clicks: clicks.sort("user"),
}


def in_groups(frame):
    return frame.groupBy("user").applyInPandas(in_order, COUNTED)


@pytest.mark.parametrize(
    "name",
    [
        *("sorted", "cached"),
        pytest.param("window", marks=pytest.mark.slow(3)),
        pytest.param("global sort", marks=pytest.mark.soak(3)),
    ],
)
def test_groups_that_spark_does_not_shuffle_keep_their_order(own, clicks, path, name):
    ordered = ORDERED[name](clicks)
    plain = sorted_rows(in_groups(ordered))
    with record(own, path):
        assert sorted_rows(in_groups(ordered)) == plain
        in_groups(clicks).collect()
    ordered.unpersist()
    ordered = ORDERED[name](clicks)
    with balanced(own, path, least_gain=0) as balancing:
        assert sorted_rows(in_groups(ordered)) == plain
        assert balancing.rerouted == []
        # A call with the same fingerprint whose rows Spark shuffles is still rerouted.
        in_groups(clicks).collect()
        assert sorted_rows(in_groups(ordered)) == plain
    ordered.unpersist()
    assert balancing.rerouted == ["applyInPandas(in_order) by user"]
    assert balancing.measured[0].count == 1
    assert "Spark does not shuffle an input that may be in order" in balancing.summary[-1]
    if name != "global sort":
        assert {row[1] for row in plain} == {1}


@pytest.mark.slow(4)
def test_a_sorted_side_keeps_its_order(own, clicks, people, path):
    def job():
        cogrouped = clicks.groupBy("user").cogroup(by_user(clicks).groupBy("user"))
        joined = by_user(clicks).join(people.withColumnRenamed("name", "user"), "user")
        return cogrouped.applyInPandas(in_order_of_both, COUNTED), in_groups(joined)

    with record(own, path):
        plain = [sorted_rows(each) for each in job()]
    with balanced(own, path, least_gain=0) as balancing:
        assert [sorted_rows(each) for each in job()] == plain
    assert {row[1] for rows in plain for row in rows} == {1}
    assert balancing.rerouted == []
    assert len(balancing.summary) == 3


def test_errors_of_the_job_are_its_own_and_methods_are_restored(own, clicks, path, profiled):
    profiled("pandas")
    before = methods(own)
    with (
        pytest.raises(pyspark.errors.AnalysisException, match="missing"),
        balanced(own, path, least_gain=0),
    ):
        clicks.groupBy("missing").applyInPandas(counted, COUNTED).count()
    assert methods(own) == before
    with pytest.raises(KeyError), balanced(own, path, least_gain=0):
        raise KeyError
    assert methods(own) == before
    with balanced(own, path, least_gain=0):
        assert methods(own) != before


@pytest.mark.parametrize("puts", [1, 5])
def test_an_error_while_methods_are_replaced_restores_them(own, path, monkeypatch, puts):
    def failing(self, *arguments):
        if len(self._replaced) == puts:
            raise KeyboardInterrupt
        put(self, *arguments)

    write_profile(path, Profile({}))
    before, put = methods(own), replaced_methods._Methods._put
    with monkeypatch.context() as patched:
        patched.setattr(replaced_methods._Methods, "_put", failing)
        with pytest.raises(KeyboardInterrupt):
            balanced(own, path)
    assert methods(own) == before
    with balanced(own, path):
        assert methods(own) != before
    assert methods(own) == before


def test_errors_of_workers_are_those_of_the_function(own, clicks, path):
    def checked(most):
        def checked_count(rows):
            if len(rows) > most:
                message = "too many clicks"
                raise ValueError(message)
            return counted(rows)

        return clicks.groupBy("user").applyInPandas(checked_count, COUNTED)

    with record(own, path):
        checked(most=ROWS).collect()
    with balanced(own, path, least_gain=0) as balancing:
        frame = checked(most=900)
        with pytest.raises(pyspark.errors.PythonException, match="too many clicks"):
            frame.collect()
    assert balancing.rerouted == ["applyInPandas(checked_count) by user"]


@pytest.mark.slow(6)
def test_calls_of_all_threads_are_rerouted(own, clicks, people, path, recorded, profiled):
    names = ("pandas", "arrow", "join left")
    plain = {name: recorded(name).plain for name in names}
    profiled(*names)
    found: dict[Any, Any] = {}

    def work(name, number):
        found[name, number] = sorted_rows(JOBS[name](clicks, people))

    with balanced(own, path, least_gain=0) as balancing:
        threads = [
            threading.Thread(target=work, args=(name, n)) for name in names for n in range(2)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert found == {(name, n): plain[name] for name in names for n in range(2)}
    counts = collections.Counter(each.count for each in balancing.measured)
    assert counts == {2: 3}
    # Each operation has its own number of tasks, by which its stage is found.
    assert len({len(each.planned.rows) for each in balancing.measured}) == 3


def test_another_session_is_not_touched(own, clicks, people, path, profiled):
    other = own.newSession()
    theirs = other.createDataFrame([(user, n) for n, user in enumerate(USERS)], CLICKS)
    theirs = theirs.repartition(3)
    profiled("pandas")
    with balanced(own, path, least_gain=0) as ours:
        JOBS["pandas"](theirs, people).collect()
        assert ours.summary == []
        with balanced(other, path, least_gain=0) as second:
            assert sorted_rows(JOBS["pandas"](theirs, people)) == sorted_rows(
                JOBS["pandas"](clicks, people)
            )
    assert (len(ours.rerouted), len(second.rerouted)) == (1, 1)


def test_the_innermost_context_that_knows_a_call_decides(
    own, clicks, people, path, tmp_path, profiled
):
    before = methods(own)
    inner_path = tmp_path / "inner.json"
    profiled("pandas")
    shutil.copy(path, inner_path)
    profiled("pandas", "arrow")
    outer = balanced(own, path, least_gain=0)
    inner = balanced(own, inner_path, least_gain=0)
    for name in ("pandas", "arrow", "join inner"):
        JOBS[name](clicks, people).collect()
    outer.stop()
    assert methods(own) != before
    inner.stop()
    inner.stop()
    assert methods(own) == before
    assert inner.rerouted == ["applyInPandas(counted) by user"]
    assert outer.rerouted == ["applyInArrow(counted_in_arrow) by user"]


def test_a_recording_inside_sees_the_calls(own, clicks, people, path, tmp_path, recorded, profiled):
    again = tmp_path / "again.json"
    profiled("pandas")
    with balanced(own, path, least_gain=0) as balancing, record(own, again):
        assert sorted_rows(JOBS["pandas"](clicks, people)) == recorded("pandas").plain
    assert len(balancing.rerouted) == 1
    (first,), (second,) = (read_profile(each).operations.values() for each in (path, again))
    counts = [{key.hashed: key.rows for key in each.inputs[0].keys} for each in (first, second)]
    assert counts[0] == counts[1]


@pytest.mark.classic("a client of Connect cannot be forked")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_the_methods_of_spark(own, path, clicks, profiled):
    profiled("pandas")
    kinds = [type(clicks), type(clicks.groupBy("user"))]
    names = ("applyInPandas", "groupBy", "join", "repartition", "write")
    plain = [vars(kind).get(name) for kind in kinds for name in names]
    with balanced(own, path) as balancing:
        child = os.fork()
        if not child:
            now = [vars(kind).get(name) for kind in kinds for name in names]
            balancing.stop()
            os._exit(int(any(a is not b for a, b in zip(now, plain, strict=True))))
        assert os.waitpid(child, 0)[1] == 0
        assert [vars(kind).get(name) for kind in kinds for name in names] != plain


@pytest.mark.classic("reads the times of tasks")
def test_tasks_are_read_before_the_session_stops(own, clicks, path, monkeypatch, profiled):
    stopped: list[Any] = []
    monkeypatch.setattr(type(own), "stop", stopped.append)
    profiled("pandas")
    with balanced(own, path, least_gain=0) as balancing:
        JOBS["pandas"](clicks, None).collect()
        own.stop()
        (found,) = measured(balancing)
        assert found.rows.sum() == ROWS
    assert stopped == [own]


@pytest.mark.classic("reads the times of tasks")
def test_tasks_are_read_although_spark_is_late_with_events(
    own, clicks, path, monkeypatch, profiled
):
    def late():
        message = "not delivered"
        raise Py4JError(message)

    profiled("pandas")
    with balanced(own, path, least_gain=0) as balancing:
        JOBS["pandas"](clicks, None).collect()
        wait_for_events()
        monkeypatch.setattr(stage_tasks, "wait_for_events", late)
    (found,) = measured(balancing)
    assert found.rows.sum() == ROWS


def test_streams_are_not_rerouted(own, clicks, path, profiled):
    stream = own.readStream.format("rate").load()
    profiled("pandas")
    with balanced(own, path, least_gain=0) as balancing:
        assert stream.join(clicks, stream.value == clicks.n).isStreaming
    assert balancing.summary == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"session": "spark"}, r"session = 'spark': .* pass balanced\(spark, profile\)"),
        ({"profile": ""}, "profile = ''"),
        ({"profile": "/no/such/profile.json"}, "the profile cannot be read"),
        ({"least_gain": -1}, "least_gain = -1: must be at least 0"),
        ({"least_gain": "much"}, "least_gain = 'much'"),
    ],
)
def test_wrong_arguments(own, path, arguments, message):
    before = methods(own)
    write_profile(path, Profile({}))
    with pytest.raises(ConfigurationError, match=message):
        balanced(**{"session": own, "profile": path, **arguments})
    assert methods(own) == before
