"""Keys of several columns, column names and nulls behave as in Spark's own groupBy."""

from __future__ import annotations

import functools

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.aggregators import Fold, TopK
from evenkey.applications import heavy_hitters
from evenkey.core.errors import ConfigurationError
from evenkey.joins import balanced_join, refresh
from tests.spark.oracle import skewed
from tests.tiers import most_in_soak

WORKERS = 3
ODD_NAMES = [
    "worker",
    "__time",
    "key",
    "a.b",
    "a`b",
    "split",
    "n",
    "state",
    "__states",
    "",
    "KeyGrouping",
    "window",  # these results have no windows
]


class Rows(Fold):
    """Counts rows, and records the keys that it gets."""

    name = "rows"
    columns = ()
    result = pa.schema([("rows", pa.int64())])
    state_type = "long"

    def zero(self):
        return 0

    def add(self, state, message):
        (key,) = message
        assert set(key) == {"key", "Kind of"}
        return state + 1

    def combine(self, first, second):
        return first + second

    def answer(self, state):
        return {"rows": state}


@pytest.fixture(scope="module")
def batch(spark):
    """Make a batch with a key of two columns, each of which is sometimes null."""
    kind = F.when(F.col("id") % 13 != 0, F.col("id") % 3)
    return skewed(spark, 3000, 3).withColumn("Kind of", kind).cache()


@pytest.fixture
def case_sensitive(spark):
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def rows(df):
    return sorted((tuple(row) for row in df.collect()), key=str)


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    "grouping", most_in_soak(["kg", "pkg", "dkg", "planned"], 2, slow=["pkg", "planned"])
)
def test_several_columns_are_one_key(batch, grouping):
    counted = operators.aggregate(batch, ["key", "Kind of"], grouping, WORKERS)
    plain = batch.groupBy("key", "Kind of").count()
    assert counted.columns == plain.columns
    assert rows(counted) == rows(plain)


@pytest.mark.slow(5)
@pytest.mark.parametrize(
    "aggregator",
    ["mean(column=amount)", Rows(), pytest.param("sum(column=amount)", marks=pytest.mark.soak(5))],
)
def test_several_columns_under_every_kind_of_merge(batch, aggregator):
    found = operators.aggregate(
        batch, ["key", "Kind of"], "sg", WORKERS, aggregator, time="time", window="1 minute"
    )
    spelled = {"sum(column=amount)": F.sum("amount"), "mean(column=amount)": F.avg("amount")}
    value = spelled.get(aggregator if isinstance(aggregator, str) else "", F.count("*"))
    plain = batch.groupBy(F.window("time", "1 minute"), "key", "Kind of").agg(value)
    assert rows(found) == rows(plain)


@pytest.mark.slow(2)
def test_the_heaviest_of_keys_of_several_columns(batch):
    top = operators.aggregate(batch, ["key", "Kind of"], "pkg", WORKERS, TopK(5)).collect()
    plain = batch.groupBy("key", "Kind of").count().orderBy(F.desc("count")).limit(5).collect()
    assert [row["count"] for row in top] == [row["count"] for row in plain]
    assert {(row["key"]["key"], row["key"]["Kind of"]) for row in top} == {
        (row["key"], row["Kind of"]) for row in plain
    }


@pytest.mark.slow(5)
def test_heavy_hitters_of_several_columns_keep_their_names(batch):
    found = heavy_hitters(batch.dropna(), ["key", "Kind of"], 5)
    assert found.columns == ["key", "Kind of", "count", "error", "terms", "rank"]
    assert found.orderBy("rank").collect()[0]["key"] == "hot"
    with pytest.raises(ConfigurationError, match="approx_top_k takes one column"):
        heavy_hitters(batch, ["key", "Kind of"], 5, through="spark")


@pytest.mark.slow(5)
def test_a_plan_of_several_columns_is_one_of_pairs(batch, tmp_path):
    plan = operators.fit(batch, ["key", "Kind of"], "planned", WORKERS, state=tmp_path)
    assert plan.workers == WORKERS
    observer = operators.LoadObserver(WORKERS)
    routed = operators.route(batch, ["key", "Kind of"], "kg", WORKERS)
    operators.observe(routed, observer, key=["key", "Kind of"]).collect()
    pairs = batch.select("key", "Kind of").distinct().count()
    assert observer.epochs[0].keys == pytest.approx(pairs, rel=0.15)


@pytest.mark.slow(6)
def test_a_key_may_have_any_name(spark):
    results = []
    for name in ODD_NAMES:
        df = spark.range(50).select((F.col("id") % 4).alias(name))
        counted = operators.aggregate(df, name, "pkg", 2)
        assert counted.columns == [name, "count"]
        results.append(counted.select(F.lit(name), "*"))
    found = rows(functools.reduce(DataFrame.unionAll, results))  # one job for all names
    counts = [(0, 13), (1, 13), (2, 12), (3, 12)]
    assert found == sorted(((name, *row) for name in ODD_NAMES for row in counts), key=str)


@pytest.mark.parametrize(
    ("name", "options", "taken"),
    [
        ("count", {}, "count"),
        ("Count", {}, "count"),
        ("window", {"time": "at", "window": "1 minute"}, "window"),
        ("Window", {"time": "at", "window": "1 minute"}, "window"),
        ("sum", {"aggregator": "sum(column=n)"}, "sum"),
    ],
)
def test_a_key_named_as_a_column_of_the_result_is_refused(spark, name, options, taken):
    df = spark.range(5).select("id", F.lit(1).alias("n"), F.current_timestamp().alias("at"))
    named = df.withColumnRenamed("id", name)
    with pytest.raises(ConfigurationError) as raised:
        operators.aggregate(named, name, "pkg", 2, **options)
    message = str(raised.value)
    assert message.startswith(f"key = {name!r}: the result of ")
    assert f"has a column {taken!r} of its own; rename yours: df.withColumnRenamed(" in message


@pytest.mark.slow(7)
def test_columns_are_found_whatever_their_case(spark):
    df = spark.range(40).selectExpr(
        "id % 3 AS User", "id AS Amount", "timestamp_seconds(id) AS At", "CAST(id AS int) AS Place"
    )
    found = operators.aggregate(
        df, "user", "dkg", 2, "sum(column=AMOUNT)", time="AT", window="1 minute"
    )
    plain = df.groupBy(F.window("at", "1 minute").alias("w"), "user").agg(F.sum("amount"))
    assert found.columns == ["window", "user", "sum"]
    assert rows(found.drop("window")) == rows(plain.drop("w"))
    routed = operators.route(df, "USER", "planned", 2, position="PLACE", column="Worker")
    assert operators.place(routed, 2, column="worker").count() == 40
    with pytest.raises(ConfigurationError, match="there is a column 'User' already"):
        operators.route(df, "user", "kg", 2, column="USER")


@pytest.mark.slow(7)
def test_joins_find_their_keys_whatever_their_case(spark, tmp_path):
    stream = spark.range(60).selectExpr("id AS n", "concat('u', id % 7) AS User")
    static = spark.range(5).selectExpr("concat('u', id) AS USER", "id AS place")
    joined = balanced_join(stream, static, "user", workers=2, state=tmp_path)
    plain = stream.join(static.withColumnRenamed("USER", "User"), "User")
    assert joined.columns == plain.columns
    assert rows(joined) == rows(plain)
    assert refresh(static.withColumnRenamed("USER", "uSER"), tmp_path) == 2
    with pytest.raises(ConfigurationError, match="columns N are on both sides"):
        balanced_join(stream, static.withColumnRenamed("place", "N"), "user", workers=2)


@pytest.mark.slow(2)
@pytest.mark.usefixtures("case_sensitive")
def test_case_tells_columns_apart_where_spark_says_so(spark):
    df = spark.range(40).selectExpr("id % 3 AS user", "id % 2 AS User")
    assert operators.aggregate(df, "User", "pkg", 2).count() == 2
    assert operators.aggregate(df, "user", "pkg", 2).count() == 3
    with pytest.raises(ConfigurationError, match="there is no column 'USER'; there are: user, Use"):
        operators.route(df, "USER", "kg", 2)


def test_two_columns_with_the_same_name_are_reported(spark):
    df = spark.range(4).selectExpr("id AS user", "id AS n").withColumnRenamed("n", "User")
    with pytest.raises(
        ConfigurationError, match="'user': there are 2 columns of that name: user, "
    ):
        operators.route(df, "user", "kg", 2)


@pytest.mark.slow(5)
@pytest.mark.parametrize("grouping", most_in_soak(["kg", "pkg", "planned"], 5, slow=["planned"]))
def test_null_is_a_key_everywhere(batch, grouping):
    nulls = batch.filter("key IS NULL").count()
    assert nulls
    counted = operators.aggregate(batch, "key", grouping, WORKERS)
    assert counted.filter("key IS NULL").collect() == [(None, nulls)]
    top = operators.aggregate(batch, "key", grouping, WORKERS, TopK(500)).filter("key IS NULL")
    assert [row["count"] for row in top.collect()] == [nulls]


@pytest.mark.slow(3)
def test_null_is_a_key_of_a_plan(spark, tmp_path):
    """The null key is hot, so it is split over all workers."""
    df = spark.range(900).select(F.lit(None).cast("string").alias("key"))
    operators.fit(df, "key", "planned", WORKERS, state=tmp_path)
    loads = operators.route(df, "key", "planned", WORKERS, state=tmp_path).groupBy("worker").count()
    assert [row["count"] for row in loads.collect()] == pytest.approx([300] * 3, abs=30)


@pytest.mark.parametrize("kind", ["array(id)", "map('a', id)", "named_struct('a', array(id))"])
def test_lists_and_maps_are_no_keys(spark, kind):
    df = spark.range(4).selectExpr(f"{kind} AS k")
    with pytest.raises(ConfigurationError, match=r"'k' is of type .*; convert it to a string"):
        operators.aggregate(df, "k", "pkg", 2)
