"""`record`: hot keys equal an independent count, nothing else changes, and methods are restored."""

from __future__ import annotations

import collections
import json
import logging
import os
import stat
import threading
from typing import Any

import numpy as np
import pyspark.errors
import pytest
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_longs, hash_strings
from evenkey.core.profiles import read_profile
from evenkey.spark import groupBy, join, record
from evenkey.spark.intercepted import Interception, describe
from tests.session import CONNECT

ROWS = 1200
USERS = ["ann" if n % 2 else "bob" if n % 6 == 2 else f"user {n % 600}" for n in range(ROWS)]
HOT = {user: n / ROWS for user, n in collections.Counter(USERS).items() if n > 100}
SCHEMA = "user string, n long"


@pytest.fixture(scope="module")
def clicks(spark):
    rows = [(user, n % 7) for n, user in enumerate(USERS)]
    return spark.createDataFrame(rows, SCHEMA).repartition(3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "profile.json"


def counted(rows):
    return rows[["user"]].head(1).assign(n=len(rows))


def counted_both(left, right):
    return counted(left if len(left) else right)


def recorded(path):
    """Return the only operation of a profile."""
    (operation,) = read_profile(path).operations.values()
    return operation


def shares(rows):
    return {key.hashed: rows.share(key) for key in rows.keys}


def hashes_of(texts):
    return {text: int(each) for text, each in zip(texts, hash_strings(texts), strict=True)}


def wanted():
    hashes = hashes_of([*HOT])
    return {hashes[user]: pytest.approx(share) for user, share in HOT.items()}


def hot(rows, least=0.01):
    return {key: share for key, share in shares(rows).items() if share > least}


def test_keys_of_a_group(spark, clicks, path):
    with record(spark, path):
        found = clicks.groupBy("user").applyInPandas(counted, SCHEMA).toPandas()
    assert dict(zip(found["user"], found["n"], strict=True)) == collections.Counter(USERS)
    operation = recorded(path)
    assert operation.operator == "applyInPandas(counted)"
    assert operation.keys == ("user",)
    assert operation.inputs[0].rows == ROWS
    assert hot(operation.inputs[0]) == wanted()
    assert {key.text for key in operation.inputs[0].keys} == {None}
    assert not any(user in path.read_text() for user in HOT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keys_in_clear(spark, clicks, path):
    with record(spark, path, keys="clear"):
        clicks.groupBy("user").applyInArrow(lambda rows: rows, SCHEMA).count()
    rows = recorded(path).inputs[0]
    texts = {json.loads(key.text)["k0"]: key for key in rows.keys}
    assert {user: rows.share(texts[user]) for user in HOT} == {
        user: pytest.approx(share) for user, share in HOT.items()
    }
    assert {user: texts[user].hashed for user in HOT} == hashes_of([*HOT])


def test_keys_of_both_sides_of_a_cogroup(spark, clicks, path):
    other = clicks.where("user = 'ann'").withColumnRenamed("user", "who")
    with record(spark, path):
        grouped = clicks.groupBy(F.col("user")).cogroup(other.groupBy(["who"]))
        assert grouped.applyInPandas(counted_both, SCHEMA).count() == len(set(USERS))
    left, *others = recorded(path).inputs
    assert hot(left) == wanted()
    if CONNECT:
        # The client of Connect does not receive what is observed on the second side.
        assert others == []
        return
    (right,) = others
    assert shares(right) == {hashes_of(["ann"])["ann"]: 1.0}
    assert right.rows == USERS.count("ann")


@pytest.mark.parametrize("by", ["name", "condition", "aliases"])
def test_keys_of_both_sides_of_a_join(spark, clicks, path, by):
    right = spark.createDataFrame([("ann", 1), ("ann", 2), (None, 3)], "user string, m long")
    left = clicks
    on: Any = "user"
    if by == "condition":
        right = right.withColumnRenamed("user", "who")
        on = left.user == right.who
    elif by == "aliases":
        left, right, on = left.alias("l"), right.alias("r"), F.col("l.user") == F.col("r.user")
    with record(spark, path):
        joined = left.join(right, on, "left")
        assert joined.count() == ROWS + USERS.count("ann")
        assert joined.columns == left.join(right, on, "left").columns
    first, second = next(iter(read_profile(path).operations.values())).inputs
    assert hot(first) == wanted()
    assert second.rows == 3
    # A row without a key has no match, so no plan has to place it.
    assert shares(second) == {hashes_of(["ann"])["ann"]: pytest.approx(2 / 3)}


def test_a_self_join_has_the_rows_of_spark(spark, clicks, path):
    few = clicks.where("user like 'user 1%'")
    plain = sorted(map(tuple, few.join(few.select("user", "n"), "user").collect()))
    with record(spark, path):
        found = few.join(few.select("user", "n"), "user").collect()
    assert sorted(map(tuple, found)) == plain
    assert len(recorded(path).inputs) == 2


@pytest.mark.slow(6)
def test_keys_of_a_write_of_large_partitions(spark, path, tmp_path):
    total = 200_000
    value = F.expr("case when id % 10 < 4 then 1 when id % 10 < 7 then 2 else 3 end")
    rows = spark.range(0, total, 1, 1).withColumn("day", value.cast("bigint"))
    out = tmp_path / "out"
    with record(spark, path):
        rows.write.mode("overwrite").partitionBy("day").parquet(str(out))
    assert spark.read.parquet(str(out)).count() == total
    assert sorted(each.name for each in out.glob("day=*")) == ["day=1", "day=2", "day=3"]
    (found,) = recorded(path).inputs
    assert found.rows == total
    # Nulls apart: a second column says whether the value is null.
    values = {1: 0.4, 2: 0.3, 3: 0.3}
    number = F.explode(F.array(*(F.lit(n).cast("bigint") for n in values))).alias("n")
    hashed = F.xxhash64("n", F.col("n").isNull())
    of_spark = dict(spark.range(1).select(number).select("n", hashed).collect())
    # The first 10,000 rows are all drawn, then 9,375 of 150,000, then 156 of 40,000. The standard
    # deviation of a share of 0.4 is 0.009.
    assert shares(found) == {
        of_spark[n] % 2**64: pytest.approx(share, abs=0.04) for n, share in values.items()
    }


def test_keys_that_are_expressions_and_numbers(spark, path):
    numbers = spark.range(0, 1000, 1, 2)
    with record(spark, path):
        by = F.least("id", F.lit(300))
        numbers.groupBy(by).applyInPandas(lambda rows: rows, "id long").count()
    operation = recorded(path)
    assert operation.keys == ("least(id, cast(300 as bigint))",)
    (hashed,) = hash_longs(np.array([300]))
    assert hot(operation.inputs[0]) == {int(hashed): pytest.approx(0.7)}


@pytest.mark.slow(4)
def test_recordings_add_up(spark, clicks, path):
    for _ in range(2):
        with record(spark, path):
            clicks.groupBy("user").applyInPandas(counted, SCHEMA).count()
            clicks.groupBy("user").applyInPandas(counted, SCHEMA).count()
    operation = recorded(path)
    assert operation.runs == pytest.approx(2, abs=0.01)
    assert operation.inputs[0].rows == pytest.approx(4 * ROWS, rel=0.01)
    assert hot(operation.inputs[0]) == wanted()


@pytest.mark.slow(6)
def test_a_result_may_be_used_twice_in_one_query(spark, clicks, path):
    with record(spark, path):
        found = clicks.groupBy("user").applyInPandas(counted, SCHEMA)
        assert found.unionAll(found).count() == 2 * len(set(USERS))
        assert found.join(found.withColumnRenamed("n", "m"), "user").count() == len(set(USERS))
    first = next(iter(read_profile(path).operations.values()))
    assert hot(first.inputs[0]) == wanted()


def test_recorded_inputs_do_not_change_later_fingerprints(spark, clicks, path):
    def job():
        first = clicks.groupBy("user").applyInPandas(counted, SCHEMA)
        joined = first.join(clicks.select("user", F.col("n").alias("m")), "user")
        return (
            joined.where("m > 3").groupBy("n", "m").applyInArrow(lambda rows: rows, joined.schema)
        )

    seen = []

    def handle(call):
        found = describe(call, call.spark(*call.frames))
        seen.append(found and found.fingerprint)
        return call.run(*call.frames)

    interception = Interception(spark, handle)
    try:
        job()
    finally:
        interception.close()
    with record(spark, path):
        job()
    assert len(seen) == 3
    assert set(read_profile(path).operations) == set(seen)


def test_what_was_never_computed_has_no_keys(spark, clicks, path):
    recording = record(spark, str(path))
    clicks.groupBy("user").applyInPandas(counted, SCHEMA)
    clicks.join(clicks.select("user"), "user")
    recording.stop()
    recording.stop()
    assert [each.inputs for each in read_profile(path).operations.values()] == [(), ()]


def test_joins_can_be_left_uncounted(spark, clicks, path):
    with record(spark, path, joins=False):
        assert clicks.join(clicks.limit(1).select("user"), "user").count() > 0
    assert recorded(path).inputs == ()


def test_keys_that_no_plan_can_place_are_not_counted(spark, path, caplog):
    real = spark.range(3).withColumn("real", F.col("id") / 2)
    with record(spark, path), caplog.at_level(logging.INFO):
        found = real.join(spark.range(2).select(F.col("id").cast("double").alias("real")), "real")
        assert found.count() == 2
    assert recorded(path).inputs == ()
    assert "join: its keys are not recorded" in caplog.text


def test_errors_of_the_job_are_its_own(spark, clicks, path):
    with (
        pytest.raises(pyspark.errors.AnalysisException, match="missing"),
        record(spark, path),
    ):
        clicks.join(clicks, "missing").count()
    assert path.exists()


def test_own_operators_and_streams_are_not_recorded(spark, clicks, path):
    stream = spark.readStream.format("rate").load()
    with record(spark, path):
        join(clicks, clicks.limit(1).select("user"), "user", workers=2).count()
        groupBy(clicks, "user", workers=2).applyInPandas(counted, SCHEMA).count()
        assert stream.join(clicks, stream.value == clicks.n).isStreaming
    assert read_profile(path).operations == {}


def test_another_session_is_not_recorded(spark, clicks, path, tmp_path):
    other = spark.newSession()
    numbers = other.range(9)
    with record(spark, path), record(other, tmp_path / "other.json"):
        clicks.groupBy("user").applyInPandas(counted, SCHEMA).count()
        numbers.groupBy("id").applyInArrow(lambda rows: rows, "id long").count()
    assert recorded(path).operator.startswith("applyInPandas")
    assert recorded(tmp_path / "other.json").operator.startswith("applyInArrow")


@pytest.mark.classic("counts the jobs of the session's Spark")
def test_no_further_job_runs(spark, clicks, path):
    tracker = spark.sparkContext.statusTracker()

    def jobs(group):
        spark.sparkContext.setJobGroup(group, group)
        clicks.join(clicks.select("user", "n"), ["user", "n"]).count()
        clicks.groupBy("user").applyInPandas(counted, SCHEMA).collect()
        return len(tracker.getJobIdsForGroup(group))

    try:
        plain = jobs(f"plain {path}")
        with record(spark, path):
            assert jobs(f"recorded {path}") == plain > 0
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def methods(spark):
    """Return the methods that recordings replace, as they are now."""
    frame = spark.range(1)
    grouped = frame.groupBy("id")
    kinds = [type(each) for each in (frame, grouped, grouped.cogroup(grouped), frame.write)]
    return [dict(vars(kind)) for kind in kinds]


def test_methods_are_replaced_inside_only(spark, path):
    before = methods(spark)
    with record(spark, path):
        inside = methods(spark)
    assert methods(spark) == before
    changed = {
        name
        for one, other in zip(before, inside, strict=True)
        for name in other
        if one.get(name) is not other[name]
    }
    assert {"applyInArrow", "applyInPandas", "groupBy", "groupby", "join", "write"} <= changed
    assert "limit" not in changed
    with pytest.raises(KeyError), record(spark, path):
        raise KeyError
    assert methods(spark) == before


@pytest.mark.slow(3)
def test_nested_recordings_may_end_in_any_order(spark, clicks, path, tmp_path):
    before = methods(spark)
    outer, inner = record(spark, path), record(spark, tmp_path / "inner.json")
    clicks.groupBy("user").applyInPandas(counted, SCHEMA).count()
    outer.stop()
    assert methods(spark) != before
    clicks.groupBy("n").applyInPandas(counted, SCHEMA).count()
    inner.stop()
    assert methods(spark) == before
    assert hot(recorded(path).inputs[0]) == wanted()
    inner_profile = read_profile(tmp_path / "inner.json")
    of_inner = {each.keys: each for each in inner_profile.operations.values()}
    assert hot(of_inner[("user",)].inputs[0]) == wanted()
    assert len(of_inner[("n",)].inputs[0].keys) == 7


@pytest.mark.slow(5)
def test_calls_of_all_threads_are_recorded(spark, clicks, path):
    errors = []

    def work(key):
        try:
            clicks.groupBy(key).applyInPandas(counted, SCHEMA).count()
        except Exception as error:  # noqa: BLE001 - raised by the test
            errors.append(error)

    with record(spark, path):
        threads = [threading.Thread(target=work, args=(key,)) for key in ("user", "n") * 2]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert errors == []
    rows = {each.keys: each.inputs[0].rows for each in read_profile(path).operations.values()}
    assert rows == {("user",): 2 * ROWS, ("n",): 2 * ROWS}


def test_a_method_that_other_code_replaced_since_is_left(spark, clicks, path):
    kind = type(clicks)
    plain = kind.join
    recording = record(spark, path)
    ours = kind.join

    def theirs(*arguments):
        return ours(*arguments)

    kind.join = theirs
    try:
        recording.stop()
        assert kind.join is theirs
        assert clicks.join(clicks.limit(1).select("user"), "user").count() > 0
    finally:
        kind.join = plain


@pytest.mark.classic("a client of Connect cannot be forked")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_the_methods_of_spark(spark, path):
    before = methods(spark)
    names = ("applyInPandas", "groupBy", "join", "write")
    with record(spark, path) as recording:
        kinds = [type(spark.range(1)), type(spark.range(1).groupBy("id"))]
        child = os.fork()
        if not child:
            now = [vars(kind).get(name) for kind in kinds for name in names]
            own = [each.get(name) for each in before[:2] for name in names]
            recording.stop()
            os._exit(int(path.exists() or any(a is not b for a, b in zip(now, own, strict=True))))
        assert os.waitpid(child, 0)[1] == 0
        assert methods(spark) != before


def test_a_handler_can_run_a_call_on_other_frames(spark, clicks):
    interception = Interception(
        spark, lambda call: call.run(*(each.where("user = 'bob'") for each in call.frames))
    )
    try:
        found = clicks.groupBy("user").applyInPandas(counted, SCHEMA).collect()
    finally:
        interception.close()
    assert [tuple(row) for row in found] == [("bob", USERS.count("bob"))]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"session": "spark"}, "session = 'spark': must be a Spark session"),
        ({"path": ""}, "path = ''"),
        ({"path": "/no/such/directory/p.json"}, "its directory does not exist"),
        ({"keys": "all"}, "keys = 'all': must be 'hashed' or 'clear'"),
        ({"joins": 1}, "joins = 1"),
    ],
)
def test_wrong_arguments(spark, path, arguments, message):
    before = methods(spark)
    with pytest.raises(ConfigurationError, match=message):
        record(**{"session": spark, "path": path, **arguments})
    assert methods(spark) == before


def test_a_file_of_another_format_is_refused_before_the_job_runs(spark, path):
    before = methods(spark)
    path.write_text('{"kind": "evenkey profile", "format": 99, "operations": {}}')
    with pytest.raises(ConfigurationError, match="format 99"):
        record(spark, path)
    assert methods(spark) == before
