"""Joins in SQL texts: results equal Spark's, and what is not replaced has Spark's own plan."""

from __future__ import annotations

import functools
import logging
import re
from typing import Any

import pytest

from evenkey.core.profiles import read_profile
from evenkey.spark import balanced, record
from evenkey.spark.intercepted.catalyst_nodes import Catalyst

ROWS = 1500
USERS = ["ann" if n % 2 else "bob" if n % 6 == 2 else f"user {n % 30}" for n in range(ROWS)]

TEXTS = {
    "alias, where": (
        "select c.user, p.size, c.n from clicks c join people p on c.user = p.name"
        " where c.n % 3 < 2 and p.size > 3"
    ),
    "left, in a CTE": (
        "with few as (select * from clicks where n > 10) select f.*, p.size, upper(p.name) as up"
        " from few f left join people p on f.user = p.name and p.size > 3"
    ),
    "two joins": (
        "select a.n, b.n as m, p.size from clicks a join people p on a.user = p.name"
        " left join (select user, max(n) as n from clicks group by user) b on b.user = a.user"
    ),
}
MORE_TEXTS = {
    "right, using": "select * from clicks right join named using (user)",
    "full, natural": "select * from clicks natural full join named",
    "semi": "select * from clicks c left semi join people p on p.name = c.user and p.size > 3",
    "anti": "select n, user from clicks c left anti join people p on c.user = p.name",
    "null safe": "select * from people p join people q on p.name <=> q.name and p.size = q.size",
    "full, null safe": "select p.*, c.n from clicks c full join people p on c.user <=> p.name",
    "in where": "select c.n, p.size, r.size from clicks c, people p, people r"
    " where c.user = p.name and p.name = r.name and c.n < 200",
    "a CTE twice": "with c as (select user, n + 1 as m from clicks where n > 500)"
    " select c.m, d.user from c join c as d on c.m = d.m",
    "view": "select size, count(*) as n from joined where n > 7 group by size having n > 1"
    " order by size desc limit 3",
    "union": "select c.n from clicks c join people p on c.user = p.name"
    " union all select p.size from people p join named n on p.name = n.user",
    "subquery above": "select * from clicks c join named m on c.user = m.user"
    " where exists (select 1 from people q where q.name = m.user and q.size > c.n % 9)"
    " and c.n > (select min(size) from people)",
    "other condition": "select * from clicks c join people p on c.user = p.name and c.n > p.size",
    "computed key": "select * from clicks c join people p on concat(c.user, 1) = concat(p.name, 1)",
    "lateral": "select * from (select c.n, m.size from clicks c join named m on c.user = m.user) j,"
    " lateral (select j.n + 1 as m)",
    "same names": "select * from people p join people q on p.name = q.name join people r"
    " on q.name = r.name order by p.size, r.size, p.name",
    "from first": "from clicks |> join people on user = name |> where size > 3",
}
JOINS = {"two joins": 2, "in where": 2, "union": 2, "same names": 2}
FIRST, *FURTHER = [*TEXTS, *MORE_TEXTS]
IN_CHECK = {"full, natural", "same names"}
ALL = [
    FIRST,
    *(
        pytest.param(each, marks=(pytest.mark.slow if each in IN_CHECK else pytest.mark.soak)(3))
        for each in FURTHER
    ),
]

pytestmark = pytest.mark.classic("reads plans of the JVM")


@pytest.fixture(scope="module")
def own(spark):
    """Return a session with views, in which Spark broadcasts no side of a join."""
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    clicks = [(user, n) for n, user in enumerate(USERS)]
    people = [(user, len(user)) for user in sorted({*USERS})] + [("nobody", 0), (None, 1)]
    session.createDataFrame(clicks, "user string, n long").createOrReplaceTempView("clicks")
    session.createDataFrame(people, "name string, size long").createOrReplaceTempView("people")
    session.sql("create temp view named as select name as user, size from people")
    session.sql(
        "create temp view joined as select c.n, p.size from clicks c join people p"
        " on c.user = p.name"
    )
    return session


@pytest.fixture
def path(tmp_path):
    return tmp_path / "profile.json"


def sorted_rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def first_user(rows):
    return rows.head(1)[["user"]]


def text_of(name):
    return {**TEXTS, **MORE_TEXTS}[name]


@pytest.fixture(scope="module")
def rows_of(own):
    """Return a function that returns a text's rows by Spark, sorted, which it computes once."""
    return functools.cache(lambda name: sorted_rows(own.sql(text_of(name))))


@pytest.fixture(scope="module")
def profile_of(own, rows_of, tmp_path_factory):
    """Return a function that records a text by its name, and returns the path of the profile."""

    @functools.cache
    def recorded(name):
        path = tmp_path_factory.mktemp("recorded") / "profile.json"
        plain = rows_of(name)
        with record(own, path):
            assert sorted_rows(own.sql(text_of(name))) == plain
        return path

    return recorded


@pytest.mark.parametrize("name", ALL)
def test_results_equal_those_of_spark(own, profile_of, rows_of, name):
    plain = own.sql(text_of(name))
    path = profile_of(name)
    operations = read_profile(path).operations.values()
    assert len(operations) == JOINS.get(name, 1)
    for each in operations:
        assert each.operator.startswith("SQL join ")
        assert len(each.inputs) == 2, each
    with balanced(own, path, least_gain=0) as balancing:
        frame = own.sql(text_of(name))
        assert frame.schema == plain.schema
        found = frame.collect()
        assert sorted(map(tuple, found), key=repr) == rows_of(name)
        if "order by" in text_of(name):
            assert found == plain.collect()
    assert len(balancing.rerouted) == len(operations), balancing.summary
    # Columns can still be named by the table, and rows sorted by columns that are not selected.
    assert [each.name for each in frame.select("*").schema] == plain.columns


def test_a_profile_has_the_hot_keys_of_both_sides(profile_of):
    (operation,) = read_profile(profile_of("alias, where")).operations.values()
    assert operation.operator == "SQL join Inner"
    assert operation.keys == ("(user = name)",)
    left, right = operation.inputs
    shares = sorted((left.share(each) for each in left.keys), reverse=True)
    # Filters are below the join while keys are counted.
    kept = [user for n, user in enumerate(USERS) if n % 3 < 2]
    assert left.rows == len(kept)
    assert right.rows < len({*USERS}) + 2
    assert shares[0] == pytest.approx(kept.count("ann") / len(kept))


def physical(frame):
    text = frame._jdf.queryExecution().executedPlan().toString()
    return re.sub(r"#\d+L?|plan_id=\d+|\[id=\d+\]", "", text)


SHARED = "it has a recursive CTE, or a CTE with random values that is read twice"
OTHERS = {
    "not in the profile": ("select * from clicks c join people p on c.user = p.name", None),
    "no equality": ("select * from people c join people p on c.size > p.size", None),
    "a hint": (
        TEXTS["alias, where"].replace("select", "select /*+ shuffle_hash(p) */", 1),
        "SQL join Inner by (user = name): the text has a hint for this join",
    ),
    "a command": (
        "cache table kept_by_spark as select * from clicks c join people p on c.user = p.name",
        "SQL text: it is a command, which Spark runs when sql() is called",
    ),
    "random values": (
        "with c as (select *, rand(7) as r from people) select r as user from c join c d using (r)",
        f"SQL text: {SHARED}",
    ),
}


def test_what_is_not_replaced_has_the_plan_of_spark(own, profile_of):
    tracker = own.sparkContext.statusTracker()
    for name, (text, reason) in OTHERS.items():
        plain = own.sql(text) if name != "a command" else None
        with balanced(own, profile_of("alias, where"), least_gain=0) as balancing:
            own.sparkContext.setJobGroup(name, name)
            frame = own.sql(text)
            assert plain is None or not tracker.getJobIdsForGroup(name)
            own.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        assert balancing.summary == ([f"left to Spark: {reason}"] if reason else []), name
        if plain is not None:
            assert physical(frame) == physical(plain)
    own.sql("uncache table kept_by_spark")
    own.catalog.dropTempView("kept_by_spark")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "select * from clicks c left join people p on c.user = p.name and c.n > p.size",
            "ON has a condition that is no equality and no filter of one side",
        ),
        (
            "select * from clicks c, people q join people p on c.user = p.name and q.size = p.size",
            "it reads a join without a condition, and Spark may join in another order",
        ),
        (
            "select * from clicks c join people p on c.user = p.name and c.n > p.size + (select 1)",
            "its condition has a subquery",
        ),
    ],
)
def test_a_join_that_cannot_be_replaced_is_left_with_the_reason(own, path, text, reason):
    with record(own, path):
        own.sql(text)
    with balanced(own, path, least_gain=0) as balancing:
        own.sql(text)
    assert balancing.rerouted == []
    assert [each.rpartition(": ")[2] for each in balancing.summary] == [reason]


def test_an_error_leaves_the_text_to_spark_with_one_line(own, profile_of, monkeypatch, caplog):
    text = text_of("alias, where")
    plain = own.sql(text)
    monkeypatch.setattr(Catalyst, "project", lambda *_: 1 / 0)
    with (
        caplog.at_level(logging.WARNING, "evenkey"),
        balanced(own, profile_of("alias, where"), least_gain=0) as balancing,
    ):
        for _ in range(2):
            assert physical(own.sql(text)) == physical(plain)
    assert balancing.rerouted == []
    lines = [each.getMessage() for each in caplog.records]
    assert lines == ["left to Spark: SQL join Inner by (user = name): division by zero"]


@pytest.mark.slow(2)
def test_without_sql_joins_in_the_profile_texts_are_not_read(own, path, monkeypatch):
    clicks, people = own.table("clicks"), own.table("people")
    with record(own, path):
        clicks.join(people, clicks.user == people.name).count()
    monkeypatch.setattr(Catalyst, "__init__", None)
    monkeypatch.setattr("evenkey.spark.intercepted.nodes_in_plans.analysed_plan", None)
    with balanced(own, path, least_gain=0) as balancing:
        own.sql(text_of("alias, where"))
    assert balancing.summary == []


def test_texts_without_a_known_join_are_skipped_quickly(own, profile_of, monkeypatch):
    passed: list[Any] = []
    filtered = Catalyst.filtered_early

    def counting(self, *arguments):
        passed.append(arguments)
        return filtered(self, *arguments)

    path = profile_of("alias, where")
    monkeypatch.setattr(Catalyst, "filtered_early", counting)
    own.range(3).createOrReplaceTempView("numbers")
    with balanced(own, path, least_gain=1000) as balancing:
        # Other tables, or other columns of the same tables.
        own.sql("select * from numbers a join numbers b using (id)")
        own.sql("select * from people a join people b on a.size = b.size")
        assert passed == []
        for _ in range(3):
            own.sql("select * from clicks c join people p on c.user = p.name")
        assert len(passed) == 1
        # The gain of this one is found to be too little.
        for _ in range(4):
            own.sql(text_of("alias, where"))
        assert len(passed) == 3
    assert len(balancing.summary) == 1
    own.catalog.dropTempView("numbers")


@pytest.mark.slow(5)
def test_cached_rows_are_still_read_from_the_cache(own, path):
    text = "select c.n, p.size from kept_clicks c join people p on c.user = p.name where c.n > 100"
    own.table("clicks").where("n > 50").createOrReplaceTempView("kept_clicks")
    own.catalog.cacheTable("kept_clicks")
    plain = sorted_rows(own.sql(text))
    with record(own, path):
        assert sorted_rows(own.sql(text)) == plain
    with balanced(own, path, least_gain=0) as balancing:
        frame = own.sql(text)
        assert "In-memory table" in physical(frame)
        assert sorted_rows(frame) == plain
        own.catalog.uncacheTable("kept_clicks")
        assert "In-memory table" not in physical(own.sql(text))
        assert sorted_rows(own.sql(text)) == plain
    assert len(balancing.rerouted) == 1
    own.catalog.dropTempView("kept_clicks")


@pytest.mark.slow(10)
def test_calls_on_the_result_keep_their_fingerprints(own, path):
    def job():
        made = own.sql(text_of("two joins"))
        made.createOrReplaceTempView("made")
        again = own.sql("select m.n, c.user from made m join clicks c on m.n = c.n")
        return again.groupBy("user").applyInPandas(
            lambda rows: rows.head(1)[["user"]], "user string"
        )

    plain = sorted_rows(job())
    with record(own, path):
        assert sorted_rows(job()) == plain
    with balanced(own, path, least_gain=0) as balancing:
        assert sorted_rows(job()) == plain
    assert len(balancing.rerouted) == len(read_profile(path).operations) == 4
    # The calls are also recognized where those before them are left to Spark.
    with balanced(own, path, least_gain=1000) as balancing:
        assert sorted_rows(job()) == plain
    assert len(balancing.summary) == 4
    assert all("too little" in each for each in balancing.summary)
    own.catalog.dropTempView("made")


@pytest.mark.slow(4)
def test_the_result_has_the_columns_of_spark_for_later_methods(own, profile_of):
    def later(frame):
        rows = frame.where("p.size > 4").orderBy("c.n").select("c.user", frame["size"])
        return [tuple(row) for row in rows.collect()]

    text = text_of("alias, where")
    plain = later(own.sql(text))
    with balanced(own, profile_of("alias, where"), least_gain=0) as balancing:
        assert later(own.sql(text)) == plain
    assert len(balancing.rerouted) == 1


@pytest.mark.slow(4)
def test_a_hint_in_a_view_of_a_dataframe_is_a_hint_for_the_join(own, path):
    text = "select c.n from clicks c join hinted h on c.user = h.name"
    people = own.table("people")
    people.createOrReplaceTempView("hinted")
    with record(own, path):
        own.sql(text).collect()
    people.hint("shuffle_hash").where("size > -1").createOrReplaceTempView("hinted")
    plain = physical(own.sql(text))
    with record(own, path):
        own.sql(text).collect()
    with balanced(own, path, least_gain=0) as balancing:
        assert physical(own.sql(text)) == plain
    line = "left to Spark: SQL join Inner by (user = name): the text has a hint for this join"
    assert balancing.summary == [line]
    # A hint for another join in the view is none for the join in the text.
    people.join(people.hint("broadcast").select("name"), "name").createOrReplaceTempView("hinted")
    with record(own, path):
        own.sql(text).collect()
    with balanced(own, path, least_gain=0) as balancing:
        own.sql(text)
    assert len(balancing.rerouted) == 1
    own.catalog.dropTempView("hinted")


@pytest.mark.slow(2)
def test_a_text_that_is_left_to_spark_counts_no_rerouted_join(own, profile_of, monkeypatch):
    text, frame = text_of("two joins"), Catalyst.frame
    plain, path = own.sql(text), profile_of("two joins")

    def failing(self, plan):
        made = frame(self, plan)
        if made.columns == plain.columns:
            message = "the text as a whole"
            raise ValueError(message)
        return made

    monkeypatch.setattr(Catalyst, "frame", failing)
    with balanced(own, path, least_gain=0) as balancing:
        assert physical(own.sql(text)) == physical(plain)
    assert balancing.rerouted == []
    assert balancing.summary == ["left to Spark: SQL text: the text as a whole"]
