"""Keys of as-of joins, names of columns, empty sides, stored plans and plans without hot keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from tests.spark.asof.timed_rows import WORKERS, joined, left_rows, matched, right_rows
from tests.spark.oracle import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.soak(8)
def test_composite_keys(session):
    left, right = left_rows(session), right_rows(session)
    on = ["user", "kind"]
    assert matched(left, right, on, "whole") == joined(left, right, on, "whole")


@pytest.mark.slow(3)
def test_keys_by_equalities(session):
    left, right = left_rows(session), right_rows(session)
    other = right.withColumnsRenamed({"user": "account", "kind": "sort"})
    conditions: Any = [left.user == other.account, left.kind == other["sort"]]
    wanted = joined(left, right, ["user", "kind"], "whole")
    found = operators.asof_join(
        left,
        other,
        conditions,
        left.whole,
        other.whole,
        workers=WORKERS,
        right_order="seq",
    )
    assert found.columns == [*left.columns, *other.columns]
    assert {row["id"]: row["seq"] for row in found.select("id", "seq").collect()} == wanted
    equal_nulls = left.user.eqNullSafe(other.account)
    found = operators.asof_join(left, other, equal_nulls, "whole", "whole", workers=WORKERS)
    by_text = F.coalesce(F.col("user").cast("string"), F.lit("none"))
    first, second = (each.withColumn("user", by_text) for each in (left, right))
    wanted = joined(first, second, ["user"], "whole")
    rows = found.where("user is null").select("id", "seq").collect()
    assert rows
    assert {row["id"]: row["seq"] is None for row in rows} == {
        row["id"]: wanted[row["id"]] is None for row in rows
    }


@pytest.mark.slow(8)
def test_without_keys_all_rows_have_one(session):
    left, right = left_rows(session, 300), right_rows(session, 100)
    first, second = (each.withColumn("user", F.lit(1)) for each in (left, right))
    assert matched(left, right, [], "whole") == joined(first, second, ["user"], "whole")


@pytest.mark.soak(3)
def test_keys_and_times_of_several_types_of_numbers(session):
    left = left_rows(session).withColumn("user", F.col("user").cast("int"))
    right = right_rows(session).withColumn("user", F.col("user").cast("decimal(10, 0)"))
    right = right.withColumn("whole", F.col("whole").cast("bigint"))
    wanted = joined(left, right, ["user"], "whole")
    assert matched(left, right, "user", "whole", tolerance=10**6) == wanted
    left, right = (each.withColumn("user", F.col("user").cast("double")) for each in (left, right))
    assert matched(left, right, "user", "whole", cuts=False) == wanted


@pytest.mark.soak(7)
def test_columns_are_those_of_sparks_join(session):
    left, right = left_rows(session, 50), right_rows(session, 20)
    left = left.select("id", "whole", "user", F.lit(1).alias("a.b `c`"), F.lit(2).alias("id "))
    right = right.select("whole", F.lit("x").alias("a.b `c`"), "user", "seq", F.lit(3).alias("seq"))
    found = operators.asof_join(left, right, "user", "whole", "whole", workers=WORKERS)
    own = left.join(right, "user", "left")
    assert found.columns == own.columns
    kinds = [[each.dataType for each in df.schema] for df in (found, own)]
    assert kinds[0] == kinds[1]
    assert found.count() == 50
    twice = left.select("*", F.lit(7).alias("id"))
    found = operators.asof_join(twice, right, "user", F.col("whole"), "whole", "inner", WORKERS)
    assert found.columns == twice.join(right, "user").columns
    assert (
        found.toDF(*map(str, range(len(found.columns)))).where("`5` = 7").count() == found.count()
    )


@pytest.mark.slow(3)
def test_values_of_all_types_stay(session):
    kinds = ["map('a', 1) as m", "array(id) as l", "named_struct('x', id) as s", "X'00' as b"]
    left = session.range(60).selectExpr("id", "if(id < 40, 0, id) as user", *kinds)
    right = session.range(30).selectExpr("id as at", "if(id < 25, 0, id) as user", *kinds)
    found = operators.asof_join(left, right, "user", "id", "at", workers=WORKERS)
    (row,) = found.where("id = 30").toDF("user", "id", *"mlsbtnkuc").collect()
    assert row["m"] == row["n"] == {"a": 1}
    assert (row["l"], row["k"], row["t"]) == ([30], [24], 24)
    assert (row["s"]["x"], row["u"]["x"]) == (30, 24)


@pytest.mark.soak(12)
def test_empty_sides(session):
    left, right = left_rows(session, 100), right_rows(session, 100)
    found = matched(left, right.where("false"), "user", "whole")
    assert found == dict.fromkeys(range(100))
    assert matched(left.where("false"), right, "user", "whole", cuts=False) == {}
    none = matched(left.where("false"), right.where("false"), "user", "whole", cuts=False)
    assert none == {}
    assert matched(left, right.where("false"), "user", "whole", how="inner") == {}


def test_without_hot_keys_the_plan_is_sparks_own(session):
    left = session.range(4000).selectExpr("id", "id % 1000 as user")
    right = session.range(2000).selectExpr("id as at", "id % 1000 as user")
    found = operators.asof_join(left, right, "user", "id", "at", workers=4)
    plan = plan_of(found)
    assert plan.count("Exchange") == 1
    assert "hashpartitioning(key_0" in plan
    assert "xxhash64(key_0" not in plan
    rows = found.where("id % 1000 = 500").sort("id").collect()
    assert [row["at"] for row in rows] == [500, 1500, 1500, 1500]


@pytest.mark.soak(3)
def test_a_stored_plan_serves_other_rows(session, tmp_path):
    state = tmp_path / "plan"
    left, right = left_rows(session), right_rows(session)
    wanted = joined(left, right, ["user"], "time")
    assert matched(left, right, "user", "time", state=state) == wanted
    left, right = left_rows(session, 300, seed=5), right_rows(session, 300, seed=6)
    wanted = joined(left, right, ["user"], "time")
    assert matched(left, right, "user", "time", state=state) == wanted
    found = operators.asof_join(
        left, right, "user", "time", "time", workers=WORKERS, right_order="seq", state=state
    )
    assert "sample" not in plan_of(found).lower()
    with pytest.raises(ConfigurationError, match=r"another|holds|belongs"):
        matched(left, right, "kind", "time", state=state, cuts=False)
    with pytest.raises(ConfigurationError, match=r"from time to time, seq desc\)"):
        matched(left, right, "user", "time", state=state, right_order=F.desc("seq"))


@pytest.mark.soak(7)
def test_costs_decide_where_keys_are_cut(session):
    left, right = left_rows(session), right_rows(session)
    cost = F.when(F.col("id") < 90, 50).otherwise(1)
    found = matched(left, right, "user", "whole", cost=cost)
    assert found == joined(left, right, ["user"], "whole")


@pytest.mark.soak(2)
def test_rows_of_one_time_are_cut_too(session):
    left, right = left_rows(session), right_rows(session)
    left, right = (each.withColumn("whole", F.lit(1)) for each in (left, right))
    found = operators.asof_join(
        left, right, "user", "whole", "whole", workers=WORKERS, right_order="seq"
    )
    wanted = {row["id"]: row["seq"] for row in found.select("id", "seq").collect()}
    assert wanted == joined(left, right, ["user"], "whole")
    sizes = [row["count"] for row in found.groupBy(F.spark_partition_id()).count().collect()]
    assert max(sizes) < 0.5 * sum(sizes)


@pytest.mark.soak(6)
def test_in_foreach_batch(session, tmp_path):
    left_rows(session).write.parquet(str(tmp_path / "in"))
    stream = session.readStream.schema(left_rows(session).schema)
    right = right_rows(session)
    out = str(tmp_path / "out")

    def each(batch, _):
        found = operators.asof_join(batch, right, "user", "whole", "whole", "inner", WORKERS)
        found.select("id", "seq").write.mode("append").parquet(out)

    query = stream.parquet(str(tmp_path / "in")).writeStream.foreachBatch(each)
    query = query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    query.start().awaitTermination()
    wanted = joined(left_rows(session), right, ["user"], "whole", how="inner")
    assert {row["id"] for row in session.read.parquet(out).collect()} == wanted.keys()


WRONG: dict[str, Callable[[], dict[str, Any]]] = {
    r"direction = 'back': must be 'backward' or 'forward' or 'nearest'": lambda: {
        "direction": "back"
    },
    r"how = 'full': must be 'left' or 'inner'": lambda: {"how": "full"},
    r"allow_exact_matches = 1": lambda: {"allow_exact_matches": 1},
    r"on = 'never': there is no column": lambda: {"on": "never"},
    r"left_time = 'never': there is no column": lambda: {"left_time": "never"},
    r"left_time = 3: must be a column's name or a Column": lambda: {"left_time": 3},
    r"right_time = CAST\(bid AS STRING\).*cast it first": lambda: {
        "right_time": F.col("bid").cast("string").alias("bid")
    },
    r"left_time, right_time = .*have types int and date; cast one side": lambda: {
        "right_time": "day"
    },
    r"left: Spark cannot compute one of the columns .*never": lambda: {"left_time": F.col("never")},
    r"tolerance = -1: must be at least 0": lambda: {"tolerance": -1},
    r"tolerance = '3': must be a finite number": lambda: {"tolerance": "3"},
    r"tolerance = 3: the times are of type timestamp; pass a datetime.timedelta": lambda: {
        "tolerance": 3,
        "left_time": "time",
        "right_time": "time",
    },
    r"right_order = \[\]: there is no order": lambda: {"right_order": []},
    r"right_order = array.*order by numbers": lambda: {"right_order": F.array("seq")},
    r"on = user: the sides have types bigint and string": lambda: {"right": "user as text"},
    r"on = user: it is of type map": lambda: {"left": "map", "right": "map"},
    r"cast both to fewer digits, such as decimal\(37, 2\)": lambda: {
        "left_time": F.col("whole").cast("decimal(38, 2)"),
        "right_time": F.col("whole").cast("decimal(38, 2)"),
        "direction": "nearest",
    },
    r"workers = 0": lambda: {"workers": 0},
    r"exact = 'all': must be True or False": lambda: {"exact": "all"},
    r"cost = 3: must be a column of numbers": lambda: {"cost": 3},
}
CHANGES = {
    "user as text": lambda df: df.withColumn("user", F.col("user").cast("string")),
    "map": lambda df: df.withColumn("user", F.create_map("user", "user")),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_calls_are_refused_in_one_line(session, message):
    good: dict[str, Any] = {"on": "user", "left_time": "whole", "right_time": "whole"}
    wrong = WRONG[message]()
    left, right = (
        CHANGES.get(wrong.pop(name, ""), lambda df: df)(df)
        for name, df in (("left", left_rows(session, 5)), ("right", right_rows(session, 5)))
    )
    with pytest.raises(ConfigurationError, match=message) as refused:
        operators.asof_join(left, right, **(good | wrong))
    assert len(str(refused.value).splitlines()) == 1


def test_a_stream_is_refused(session):
    stream = session.readStream.format("rate").load()
    with pytest.raises(ConfigurationError, match=r"right is a stream.*foreachBatch"):
        operators.asof_join(session.range(3), stream, [], "id", "value")


def test_explain_says_what_is_carried(session):
    left, right = left_rows(session), right_rows(session)
    explained = operators.explain(
        operators.asof_join,
        left,
        right,
        "user",
        "whole",
        "whole",
        workers=WORKERS,
        direction="nearest",
    )
    (placement,) = explained.placements
    assert explained.operator == "asof_join(user; nearest from whole to whole)"
    assert placement.choice == "hot keys are cut into 4 pieces"
    assert placement.hot_keys[0].name == "user 0"
    assert placement.loads.max() < placement.spark_loads.max() / 2
    assert placement.notes[:2] == (
        "backward: a value carried from other pieces",
        "forward: a value carried from other pieces",
    )
