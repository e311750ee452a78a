"""Later calls on the result of a SQL text find the columns that they find on Spark's own."""

from __future__ import annotations

import pytest

from evenkey.core.profiles import read_profile
from evenkey.spark import balanced, record
from tests.tiers import most_in_soak

pytestmark = pytest.mark.classic("reads plans of the JVM")

QUALIFIED = {
    "a derived table": (
        "select x.user from (select user, n from clicks where n > 10) x join clicks using (user)",
        lambda made: made.where("clicks.n < 5"),
    ),
    "not selected": (
        "select c.user from clicks c join people p on c.user = p.name",
        lambda made: made.where("p.size > 4").orderBy("c.n"),
    ),
    "a join in a derived table": (
        "select x.user from (select c.*, p.size from clicks c join people p on c.user = p.name) x",
        lambda made: made.where("x.size > 4 and x.n > 20").repartition(2, "x.n"),
    ),
    "a join that is left to Spark": (
        "select c.user from clicks c join people p on user = name join people q on p.size > q.size",
        lambda made: made.where("q.size > 2 and p.size > 4 and c.n > 3"),
    ),
    "a view": (
        "select named.user from clicks join named on clicks.user = named.user",
        lambda made: made.where("named.size > 4 and clicks.n > 3"),
    ),
    "using, where": (
        "select * from clicks c join named m using (user) where n > 3",
        lambda made: made.where("m.user = 'ann' and c.user < 'b'"),
    ),
    "natural": (
        "select * from clicks c natural full join named m",
        lambda made: made.where("m.user = 'ann' or c.user is null"),
    ),
    "hidden columns in a star": (
        "select * from clicks c left join named m using (user) where n > 3",
        lambda made: made.select("m.*", "c.user"),
    ),
    "using, twice": (
        "select * from clicks c join named m using (user) left join named using (user) where n > 9",
        lambda made: made.where("m.user < 'b'").select("named.*", "m.user", "c.*"),
    ),
    "using, not selected": (
        "select n from clicks c full join named m using (user)",
        lambda made: made.where("m.user < 'b' or m.user = 'nobody'"),
    ),
    "cached": (
        "select c.n from clicks c join kept k on c.user = k.name",
        lambda made: made.where("k.size > 4"),
    ),
}
CORRELATED = {
    "exists": "select c.n from clicks c join named m on c.user = m.user"
    " where exists (select 1 from people q where q.name = m.user) and c.n > 20",
    "in": "select c.n from clicks c join named m on c.user = m.user"
    " where m.size in (select q.size from people q where q.name = m.user)",
    "scalar": "select c.n from clicks c join named m on c.user = m.user"
    " where m.size >= (select max(q.size) from people q where q.name = m.user)",
    "exists in on": "select c.n from clicks c join named m on c.user = m.user"
    " and exists (select 1 from people q where q.name = m.user)",
    "above a union": "select u.n from (select user as who, n from clicks union all"
    " select name as who, size as n from people) u join people p on u.who = p.name"
    " where not exists (select 1 from named q where q.user = u.who and q.size > 4)",
    "above an aggregate": "select u.m from (select user as who, max(n) as m from clicks"
    " group by user) u join people p on u.who = p.name"
    " where exists (select 1 from named q where q.user = u.who and q.size > 3)",
    "in a selected column": "select * from (select m.user as who, c.n, (select max(q.size)"
    " from people q where q.name = m.user) as size from clicks c join named m"
    " on c.user = m.user) u where size > 4",
    "from first": "select c.n from clicks c, named m where c.user = m.user"
    " and exists (select 1 from people q where q.name = m.user)",
}


@pytest.fixture(scope="module")
def own(spark):
    """Return a session with views, in which Spark broadcasts no side of a join."""
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    users = ["ann" if n % 2 else f"user {n % 6}" for n in range(60)]
    clicks = [(user, n) for n, user in enumerate(users)]
    people = [(user, len(user)) for user in sorted({*users})] + [("nobody", 0), (None, 1)]
    session.createDataFrame(clicks, "user string, n long").createOrReplaceTempView("clicks")
    session.createDataFrame(people, "name string, size long").createOrReplaceTempView("people")
    session.sql("create temp view named as select name as user, size from people")
    session.sql("create temp view kept as select * from people where size > 0")
    session.catalog.cacheTable("kept")
    yield session
    session.catalog.uncacheTable("kept")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "profile.json"


def sorted_rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def check(own, path, jobs):
    """Compare the rows of jobs with those of Spark, recorded and rerouted."""
    plain = {name: sorted_rows(job()) for name, job in jobs.items()}
    assert all(plain.values()), plain
    for name, job in jobs.items():
        with record(own, path):
            assert sorted_rows(job()) == plain[name], f"{name}, recorded"
        assert read_profile(path).operations, name
        with balanced(own, path, least_gain=0) as balancing:
            assert sorted_rows(job()) == plain[name], f"{name}, rerouted"
        assert balancing.rerouted, (name, balancing.summary)
        path.unlink()


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    "name",
    most_in_soak(QUALIFIED, 3, slow=["a join that is left to Spark", "using, twice", "cached"]),
)
def test_columns_are_found_by_the_names_that_spark_knows(own, path, name):
    text, later = QUALIFIED[name]
    check(own, path, {name: lambda: later(own.sql(text))})


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    "name", most_in_soak(CORRELATED, 3, slow=["exists in on", "in a selected column"])
)
def test_correlated_subqueries_find_the_columns_of_the_join(own, path, name):
    check(own, path, {name: lambda: own.sql(CORRELATED[name])})
