"""Windows of a profile: results equal Spark's, and what is left to Spark has Spark's own plan."""

from __future__ import annotations

import collections
import functools
import re
from typing import Any

import pandas as pd  # noqa: TC002 - PySpark reads the type hints
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey.core.profiles import read_profile
from evenkey.spark import balanced, record
from evenkey.spark.intercepted.rerouted_windows import PLACE
from evenkey.spark.sessions.query_events import wait_for_events

ROWS = 3000
HOT = ("ann", "bob", "cid", "dan")
USERS = [HOT[n % 4] if n % 5 else None if n % 15 == 0 else f"user {n % 40}" for n in range(ROWS)]
BY_USER = "partition by user"
IN_ORDER = f"{BY_USER} order by n"
BY_DAY = "partition by user, day order by n"
TIED = f"{BY_USER} order by day desc"

pytestmark = pytest.mark.classic("reads plans of the JVM")


@pytest.fixture(scope="module")
def own(spark):
    """Return a session with views, in which Spark broadcasts no side of a join."""
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    rows = [(user, n, n % 7, n / 3 + 1) for n, user in enumerate(USERS)]
    clicks = session.createDataFrame(rows, "user string, n long, day long, x double")
    clicks.repartition(3).createOrReplaceTempView("clicks")
    session.sql(
        "create temp view totals as"
        " select user, n, sum(x) over (partition by user order by n) as total from clicks"
    )
    return session


@pytest.fixture
def clicks(own):
    return own.table("clicks")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "profile.json"


def sorted_rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def physical(frame):
    text = frame._jdf.queryExecution().executedPlan().toString()
    return re.sub(r"#\d+L?|plan_id=\d+|\[id=\d+\]", "", text)


def over(function, window):
    return F.expr(f"{function} over ({window})")


PEERS = ("rank()", "dense_rank()", "percent_rank()", "cume_dist()")
RANKINGS = (*PEERS, "row_number()", "ntile(4)", "lag(n, 2, -1)", "lead(x)")
AGGREGATES = ("sum(x)", "avg(n)", "max(n)", "count(user)", "first(x)", "collect_list(n)")
FRAMES = {
    "to here": "",
    "rows": " rows between 2 preceding and 1 following",
    "range": " range between 9 preceding and 9 following",
    "all": " rows between unbounded preceding and unbounded following",
}


def every_function(clicks):
    columns = {each: over(each, IN_ORDER) for each in RANKINGS}
    columns |= {
        f"{each}, {frame}": over(each, f"{IN_ORDER}{rows}")
        for each in AGGREGATES
        for frame, rows in FRAMES.items()
    }
    return clicks.withColumns(columns)


def with_ties(clicks):
    columns = {each: over(each, TIED) for each in PEERS}
    columns |= {
        f"{each}, {frame}": over(each, f"{TIED}{FRAMES[frame]}")
        for each in ("sum(n)", "max(x)", "count(n)")
        for frame in ("to here", "range")
    }
    return clicks.withColumns(columns)


def chained(clicks):
    numbered = clicks.withColumn("place", over("row_number()", IN_ORDER)).where(clicks.n > 4)
    more = numbered.withColumns({"sum": over("sum(x)", IN_ORDER), "lag": over("lag(n)", TIED)})
    return more.alias("m").select("*", over("count(m.x)", BY_DAY).alias("daily"))


def several(clicks):
    share = over("sum(x)", BY_DAY) / over("sum(x)", IN_ORDER)
    days = F.rank().over(Window.partitionBy("day").orderBy("n"))
    return clicks.select("user", "n", share.alias("share"), over("lag(n)", IN_ORDER), days)


def hidden(clicks):
    joined = clicks.alias("c").join(clicks.where("n % 2 = 0").alias("d"), "n", "left")
    made = joined.select("*", F.lead("n").over(Window.partitionBy("c.user").orderBy("n")))
    return made.where("d.n > 10").select("*", "d.n", "c.user")


def joined_with_itself(clicks):
    made = clicks.select("user", "n", over("lag(n)", IN_ORDER).alias("before"))
    others = made.alias("other")
    return made.alias("one").join(others, F.col("one.before") == F.col("other.n"))


def middle(values: pd.Series) -> float:
    return float(values.median())


TEXTS = {
    "in a subquery": "select user, most - n as rest from"
    " (select *, max(n) over (partition by user) as most from clicks where n > 7) where day > 1",
    "in a CTE": "with c as (select *, lead(n) over (partition by user order by n) as next"
    " from clicks) select user, next, avg(next) over (partition by user order by n) as mean from c",
    "in a view": "select user, total + 1 as more from totals where n % 3 = 0 and user > 'b'",
    "beside a join": "select t.n, total, c.day, count(*) over (partition by c.day) as daily"
    " from totals t join clicks c on t.n = c.n order by t.n",
}
JOBS: dict[str, Any] = {
    "every function": every_function,
    "with ties": with_ties,
    "chained": chained,
    "several": several,
    "hidden": hidden,
    "joined with itself": joined_with_itself,
    "computed key": lambda clicks: clicks.selectExpr(
        "n", "sum(x) over (partition by n % 4, upper(user) order by n) as total"
    ),
    "same names": lambda clicks: clicks.select(
        "user", "user", "n", over("sum(n)", BY_USER).alias("n")
    ),
    "in Python": lambda clicks: clicks.withColumn(
        "middle",
        F.pandas_udf(middle, "double")("x").over(Window.partitionBy("user")),  # type: ignore[call-overload]
    ),
    **{
        name: lambda clicks, text=text: clicks.sparkSession.sql(text)
        for name, text in TEXTS.items()
    },
}
OPERATIONS = {"several": 2, "beside a join": 3, "hidden": 2, "joined with itself": 2}
IN_TEST = {"chained", "in a CTE"}
IN_CHECK = {"every function", "beside a join", "in Python"}
ALL = [
    each
    if each in IN_TEST
    else pytest.param(each, marks=(pytest.mark.slow if each in IN_CHECK else pytest.mark.soak)(4))
    for each in JOBS
]


@pytest.fixture(scope="module")
def profile_of(own, tmp_path_factory):
    """Return a function that records a job by its name, and returns the path of the profile."""

    @functools.cache
    def recorded(name):
        path = tmp_path_factory.mktemp("recorded") / "profile.json"
        clicks = own.table("clicks")
        plain = sorted_rows(JOBS[name](clicks))
        with record(own, path):
            assert sorted_rows(JOBS[name](clicks)) == plain
        return path

    return recorded


@pytest.mark.parametrize("name", ALL)
def test_results_equal_those_of_spark(own, clicks, profile_of, name):
    plain = JOBS[name](clicks)
    path = profile_of(name)
    operations = read_profile(path).operations.values()
    assert len(operations) == OPERATIONS.get(name, 1)
    with balanced(own, path, least_gain=0) as balancing:
        frame = JOBS[name](clicks)
        assert frame.schema == plain.schema
        assert sorted_rows(frame) == sorted_rows(plain)
    assert len(balancing.rerouted) == len(operations), balancing.summary
    assert all("not measured" not in each for each in balancing.summary), balancing.summary
    assert [each.name for each in frame.select("*").schema] == plain.columns


def test_hot_keys_share_no_task(own, clicks, profile_of):
    (operation,) = read_profile(profile_of("chained")).operations.values()
    assert (operation.operator, operation.keys) == ("window row_number", ("user",))
    (rows,) = operation.inputs
    assert rows.rows == ROWS

    with balanced(own, profile_of("chained"), least_gain=0) as balancing:
        frame = chained(clicks).withColumn("task", F.spark_partition_id())
        # Spark's own shuffles are not needed: windows read the rows where the first one did.
        assert physical(frame).count("Exchange hashpartitioning") == 1
        found = frame.collect()
    tasks = {each: {row.task for row in found if row.user == each} for each in HOT}
    assert {len(each) for each in tasks.values()} == {1}
    assert len(set.union(*tasks.values())) == len(HOT)
    counts = collections.Counter(row.task for row in found)
    hottest = max(USERS.count(each) for each in HOT)
    assert max(counts.values()) <= hottest
    (called,) = balancing.measured
    assert called.found is not None
    assert called.found.rows.max() == hottest
    assert called.planned.rows.max() == pytest.approx(hottest, rel=0.1)


def in_order(rows):
    return rows[["user"]].head(1).assign(n=int(rows["n"].is_monotonic_decreasing))


def lagged(rows):
    return rows.withColumn("lag", over("lag(n)", f"{BY_USER} order by day"))


def sorted_by_user(clicks):
    return clicks.repartition(4, "user").sortWithinPartitions("user", "n")


SHUFFLED = "Spark does not shuffle its input, which may be in order, and would keep it"
LATER = "a filter reads the first rows of each key, and Spark drops the others before it shuffles"


def first_of_view(clicks):
    ranked = clicks.withColumn("r", over("rank()", IN_ORDER))
    ranked.count()  # Spark returns no counts of keys with a text that reads a view.
    ranked.createOrReplaceTempView("ranked")
    return clicks.sparkSession.sql("select * from ranked where r = 1")


ROW_NUMBERS = (
    "select * from (select *, row_number() over (partition by user order by n) as r from clicks)"
)
LEFT: dict[str, Any] = {
    "partitioned": (lambda c: c.repartition("user").select(over("sum(n)", BY_USER)), None),
    "sorted": (lambda c: lagged(sorted_by_user(c)), None),
    "no key": (lambda c: c.select(F.sum("n").over(Window.partitionBy())), None),
    "constant": (lambda c: c.selectExpr("sum(n) over (partition by user, 1) as t"), None),
    "random": (lambda c: c.withColumn("t", over("sum(rand(3))", BY_USER)), None),
    "random above": (lambda c: c.withColumn("t", over("sum(n)", BY_USER) * F.rand(3)), None),
    "first rows in a text": (
        lambda c: c.sparkSession.sql(f"{ROW_NUMBERS} where r < 3"),
        LATER,
    ),
    "first rows": (
        lambda c: c.withColumn("r", over("rank()", IN_ORDER)).where("day < 5").where("r = 1"),
        LATER,
    ),
    "first rows of a view": (first_of_view, LATER),
    "a function on groups": (
        lambda c: (
            c.withColumn("r", over("rank()", f"{BY_USER} order by n desc"))
            .groupBy("user")
            .applyInPandas(in_order, "user string, n long")
        ),
        "a later applyInPandas gets rows in the order of the window",
    ),
}


@pytest.mark.slow(8)
def test_what_is_left_to_spark_has_its_plan(own, clicks, path):
    for name, (job, reason) in LEFT.items():
        plain = job(clicks)
        file = path.with_name(f"{name}.json")
        with record(own, file):
            job(clicks).collect()
        with balanced(own, file, least_gain=0) as balancing:
            frame = job(clicks)
        assert physical(frame) == physical(plain), name
        lines = [each for each in balancing.summary if each.startswith("left to Spark")]
        reasons = [each.rpartition(": ")[2] for each in lines if "window" in each]
        assert reasons == ([reason] if reason else []), name
        if reason is None:
            assert read_profile(file).operations == {}


@pytest.mark.slow(8)
def test_a_window_with_the_fingerprint_of_another_is_left_for_the_same_reasons(own, clicks, path):
    for job in (lagged, lambda rows: rows.withColumn("count", over("count(n)", BY_USER))):
        with record(own, path):
            job(clicks).collect()
    ordered = sorted_by_user(clicks)
    plain = lagged(ordered)
    random = clicks.withColumn("id", F.monotonically_increasing_id())
    with balanced(own, path, least_gain=0) as balancing:
        assert physical(lagged(ordered)) == physical(plain)
        # Values that are computed once, below the window, may depend on the task.
        random.drop("id").withColumn("count", over("count(n)", BY_USER)).collect()
    assert balancing.rerouted == ["window count by user"]
    assert balancing.summary[1:] == [f"left to Spark: window lag by user: {SHUFFLED}"]


@pytest.mark.slow(6)
@pytest.mark.parametrize("key", ["(n % 2 - 1) * 0.0D", "collate(user, 'UNICODE_CI')"])
def test_keys_that_cannot_be_placed_are_left(own, clicks, path, key):
    def job():
        return clicks.select("n", over("count(n)", f"partition by {key}"))

    plain = job()
    with record(own, path):
        assert sorted_rows(job()) == sorted_rows(plain)
    (operation,) = read_profile(path).operations.values()
    assert operation.inputs == ()
    with balanced(own, path, least_gain=0) as balancing:
        assert sorted_rows(job()) == sorted_rows(plain)
    assert balancing.rerouted == []


@pytest.mark.slow(8)
def test_cached_rows_are_read_from_the_cache(own, clicks, path):
    def job(rows):
        made = rows.withColumn("total", over("sum(n)", IN_ORDER)).cache()
        again = made.withColumn("rank", over("rank()", f"{BY_USER} order by total"))
        return made, again

    kept = clicks.where("n > 3").cache()
    kept.count()
    made, again = job(kept)
    plain = sorted_rows(again)
    made.unpersist()
    with record(own, path):
        made, again = job(kept)
        assert sorted_rows(again) == plain
        made.unpersist()
    with balanced(own, path, least_gain=0) as balancing:
        made, again = job(kept)
        assert sorted_rows(again) == plain
        made.unpersist()
        placed = physical(kept.withColumn("total", over("sum(n)", IN_ORDER)))
        assert PLACE in placed
        assert "InMemoryTableScan" in placed
    assert "window sum by user" in balancing.rerouted
    kept.unpersist()


@pytest.mark.slow(5)
def test_other_windows_have_the_plan_of_spark_and_run_no_job(own, clicks, profile_of):
    tracker = own.sparkContext.statusTracker()
    other = clicks.where("n > 5")
    for name, job in JOBS.items():
        if name in TEXTS:
            continue
        plain = job(other)
        with balanced(own, profile_of("chained"), least_gain=0) as balancing:
            own.sparkContext.setJobGroup(name, name)
            frame = job(other)
            wait_for_events()
            assert not tracker.getJobIdsForGroup(name)
            own.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        assert physical(frame) == physical(plain), name
        assert balancing.summary == []


@pytest.mark.soak(4)
def test_a_later_call_keeps_its_fingerprint(own, clicks, path):
    def job():
        made = clicks.withColumn("total", over("sum(n)", IN_ORDER)).where("total > 9")
        grouped = made.groupBy("day").applyInPandas(lambda rows: rows.head(1)[["day"]], "day long")
        return grouped, made.join(clicks.select("n", "x"), "n")

    plain = [sorted_rows(each) for each in job()]
    with record(own, path):
        assert [sorted_rows(each) for each in job()] == plain
    with balanced(own, path, least_gain=0) as balancing:
        assert [sorted_rows(each) for each in job()] == plain
    assert len(balancing.rerouted) == len(read_profile(path).operations) == 3, balancing.summary


@pytest.mark.slow(3)
def test_a_stream_and_a_window_of_time_are_not_looked_at(own, clicks, profile_of):
    stream = own.readStream.format("rate").load()
    with balanced(own, profile_of("chained"), least_gain=0) as balancing:
        counted = stream.withColumn("n", F.count("timestamp").over(Window.partitionBy("value")))
        assert counted.isStreaming
        clicks.groupBy(F.window(F.timestamp_seconds("n"), "1 minute")).count().collect()
    assert balancing.summary == []


def test_errors_leave_the_window_to_spark(own, clicks, profile_of, monkeypatch):
    plain = chained(clicks)
    failing = "evenkey.spark.intercepted.windows_in_plans.NamedRows.of"
    monkeypatch.setattr(failing, lambda *_, **__: 1 / 0)
    with balanced(own, profile_of("chained"), least_gain=0) as balancing:
        assert physical(chained(clicks)) == physical(plain)
    assert balancing.summary == ["left to Spark: window row_number by user: division by zero"]
