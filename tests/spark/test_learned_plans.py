"""With `state`, a run counts its own keys, and the next run follows a plan from these counts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.groupings import PlannedGrouping
from evenkey.spark.groups import learning
from evenkey.spark.plans import learned_loads
from evenkey.spark.plans.costly_inputs import costly_part
from evenkey.spark.plans.learned_loads import LearnedLoads, loads_of
from evenkey.spark.plans.observed_rows import STEP, TIERS
from evenkey.spark.sessions.query_events import wait_for_events
from tests.connect_server import ConnectServer
from tests.spark import oracle

WORKERS, ROWS = 4, 2_000
PROGRAM = """
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from evenkey import spark as eks

place, url = sys.argv[1:]
if url:
    spark = SparkSession.builder.remote(url).getOrCreate()
else:
    spark = eks.session("local[2]", {"spark.sql.shuffle.partitions": "2"})
rows = spark.range(400).selectExpr("id % 5 as k", "id").distinct()
grouped = eks.groupBy(rows, "k", workers=2, state=place)
result = grouped.applyInPandas(lambda pdf: pdf[["k"]], "k long")
print(result.count(), len(list(Path(place).rglob("*.npz"))))
if not url:
    spark.stop()
"""


def rows_of(session, hot, rows=ROWS):
    """Make rows: half of them have the key `hot`, the others one of 40 keys."""
    key = F.when(F.col("id") % 2 == 0, hot).otherwise(F.col("id") % 40 + 100)
    return session.range(0, rows, 1, 2).select(key.alias("k"), F.col("id").alias("v"))


def size(key, pdf):
    """Return the number of rows of a key, and the task that it is in."""
    import pandas as pd
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return pd.DataFrame(
        [(int(key[0]), len(pdf), context.partitionId())], columns=["k", "n", "task"]
    )


def sizes(rows, state, **options):
    grouped = eks.groupBy(rows, "k", workers=WORKERS, state=state, **options)
    result = grouped.applyInPandas(size, "k long, n long, task int")
    found = {row["k"]: row["n"] for row in result.collect()}
    expected = Counter({row["k"]: row["count"] for row in rows.groupBy("k").count().collect()})
    assert found == expected
    return result


def explained(rows, state):
    return eks.explain(eks.groupBy, rows, "k", workers=WORKERS, state=state).placements[0]


@pytest.fixture(autouse=True)
def nothing_open(monkeypatch):
    monkeypatch.setattr(learning, "_open", [])


@pytest.mark.slow(10)
def test_the_plan_of_the_next_run_is_that_of_the_keys_of_this_one(session, tmp_path):
    sizes(rows_of(session, 1), tmp_path)
    learning.learn_now()
    assert not learning._open
    # The data changes: this run follows the plan of the previous one, and counts other keys.
    later = rows_of(session, 2)
    sizes(later, tmp_path)
    before = explained(later, tmp_path)
    (hottest, *_) = before.hot_keys
    assert hottest.name == "k 2"
    assert before.loads.max() == pytest.approx(ROWS / 2, abs=1)
    assert before.notes[-1].endswith("; each run counts its keys for the next one")
    assert before.notes[0].startswith("one key has 50 % of the rows, all in one task")


@pytest.mark.soak(8)
def test_a_run_counts_as_a_job_of_its_own_would(session, monkeypatch):
    rows = rows_of(session, 7, 6_000)
    monkeypatch.setattr("evenkey.spark.plans.observed_rows._ALL", 500)
    empty = PlannedGrouping().statistics(WORKERS)
    observed = LearnedLoads.of(rows, F.xxhash64("k"), empty)
    assert observed.frame.columns == rows.columns
    assert loads_of([observed], empty, WORKERS) is None
    observed.frame.write.format("noop").mode("overwrite").save()
    wait_for_events()
    found = loads_of([observed], empty, WORKERS)
    assert found is not None
    statistics, error = found
    # Of 3,000 rows per partition, 500 are counted, and of the others each 16th on average.
    assert 0 < error < 1
    assert statistics.total == pytest.approx(6_000, rel=0.2)
    assert statistics.total % STEP == 1_000 % STEP
    hashed = session.range(1).select(F.xxhash64(F.lit(7).cast("bigint"))).collect()[0][0]
    keys, loads, _ = statistics.items(0.0)
    (hot,) = loads[keys.astype("int64") == hashed]
    assert hot == pytest.approx(3_000, rel=0.3)


@pytest.mark.slow(4)
def test_the_first_call_with_a_cost_replaces_a_plan_of_rows(session, tmp_path):
    cost = F.when(F.col("k") == 1, 0.01).otherwise(1.0)
    rows = rows_of(session, 1).withColumn("cost", cost)

    def plan(**options):
        grouped = eks.groupBy(rows, "k", workers=WORKERS, state=tmp_path, **options)
        found = grouped.rows.plans.of("whole")
        assert found.about is not None
        return found.about.load, found.about.learns, found.place

    assert plan() == ("rows", True, "")
    assert plan(cost="cost") == ("cost", False, "")
    assert plan(cost="cost") == plan() == ("cost", False, str(tmp_path))


@pytest.mark.slow(10)
def test_the_first_run_of_a_costly_input_is_sparks_own(session, tmp_path):
    rows = rows_of(session, 1).groupBy("k", "v").agg(F.count("*").alias("n")).drop("n")
    first = sizes(rows, tmp_path)
    assert "__evenkey_split" not in oracle.plan_of(first)
    assert "CollectMetrics" in oracle.plan_of(first)
    second = sizes(rows, tmp_path)
    assert "__evenkey_split" in oracle.plan_of(second)
    assert explained(rows, tmp_path).hot_keys[0].name == "k 1"
    whole = eks.explain(eks.groupBy, rows, "k", workers=WORKERS)
    assert "which computed an aggregate once more" in str(whole)


@pytest.mark.soak(6)
def test_a_plan_that_the_user_made_does_not_change(session, tmp_path):
    rows = rows_of(session, 1)
    eks.fit(rows, "k", "whole", WORKERS, state=tmp_path)
    before = explained(rows, tmp_path).loads
    result = sizes(rows_of(session, 2), tmp_path)
    assert "CollectMetrics" not in oracle.plan_of(result)
    learning.learn_now()
    assert explained(rows, tmp_path).loads.tolist() == before.tolist()


@pytest.mark.classic("over Connect, PySpark does not return the counts of the second side")
@pytest.mark.slow(8)
def test_both_sides_of_a_cogroup_are_counted(session, tmp_path):
    def both(key, left, right):
        import pandas as pd

        return pd.DataFrame([(int(key[0]), len(left) + len(right))], columns=["k", "n"])

    left, right = rows_of(session, 1), rows_of(session, 1, 400)
    for _ in range(2):
        grouped = [
            eks.groupBy(each, "k", workers=WORKERS, state=tmp_path) for each in (left, right)
        ]
        rows = grouped[0].cogroup(grouped[1]).applyInPandas(both, "k long, n long").collect()
        assert sum(row["n"] for row in rows) == ROWS + 400
        assert len(learning._open) == 1
        learning.learn_now()
    assert explained(left, tmp_path).hot_keys[0].name == "k 1"


@pytest.mark.slow(4)
def test_a_run_that_fails_before_it_counts_keeps_the_old_plan(session, tmp_path, caplog):
    rows = rows_of(session, 1)
    sizes(rows, tmp_path)
    learning.learn_now()
    plans = {each: each.read_bytes() for each in tmp_path.rglob("*.npz")}
    bad = rows.withColumn("v", F.raise_error(F.lit("bad luck")).cast("long"))
    grouped = eks.groupBy(bad, "k", workers=WORKERS, state=tmp_path)
    with pytest.raises(Exception, match="bad luck"):
        grouped.applyInPandas(size, "k long, n long, task int").collect()
    learning.learn_now()
    assert "not stored" not in caplog.text
    assert {each: each.read_bytes() for each in tmp_path.rglob("*.npz")} == plans


def ended(place, url=""):
    """Run the program with a costly input, whose plan is not known when it has run its query."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place), url],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "400 0"
    assert "not stored" not in done.stderr
    return list(place.rglob("*.npz"))


@pytest.mark.soak(12)
@pytest.mark.classic("a program with a session of its own")
def test_a_program_that_ends_stores_the_plan_of_the_next_one(tmp_path):
    assert ended(tmp_path)


@pytest.mark.soak(25)
@pytest.mark.classic("a server of its own")
def test_a_program_over_connect_stores_it_too(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect's packages are not installed")
    with ConnectServer({"spark.sql.shuffle.partitions": "2"}) as server:
        assert ended(tmp_path, server.url)


def test_sketches_of_thousands_of_workers_are_within_sparks_limit(monkeypatch):
    monkeypatch.setattr(learned_loads, "observed", lambda *given: given[-1])
    nothing: Any = None
    counts: Any = LearnedLoads.of(nothing, nothing, PlannedGrouping().statistics(8_000)).frame
    found = [re.search(r", (\d+), (\d+)\)\) as", text) for text in counts]
    assert len(found) == 2 * TIERS
    for each in found:
        assert each is not None
        assert int(each[1]) <= int(each[2]) <= 1_000_000


def test_open_runs_are_bounded(monkeypatch):
    monkeypatch.setattr(learning, "_MOST_OPEN", 2)
    for _ in range(5):
        learning.learn_later([], PlannedGrouping().statistics(2), 2, print)
    assert len(learning._open) == 2


def test_a_run_is_learned_once_although_two_threads_look(monkeypatch):
    monkeypatch.setattr(learning, "loads_of", lambda _, empty, __: (empty, 0.5))
    stored: list[float] = []

    def store(_, error):
        stored.append(error)
        learning.learn_now()

    learning.learn_later([], PlannedGrouping().statistics(2), 2, store)
    learning.learn_now()
    assert stored == [0.5]
    assert not learning._open


@pytest.mark.slow(4)
def test_costly_inputs_are_recognised_in_the_plan_of_what_counting_reads(session):
    rows = session.range(9).select((F.col("id") % 3).alias("k"), "id")

    @F.udf("long")
    def next_of(value):
        return value + 1

    named = {
        "a Python function": rows.withColumn("k", next_of("k")),
        "an aggregate": rows.groupBy("k").count(),
        "a generator": rows.withColumn("k", F.explode(F.array("k", "id"))),
        "a join": rows.hint("merge").join(rows.hint("merge"), "k"),
    }
    for what, costly in named.items():
        assert costly_part(costly.select("k")) == what
    # A column that counting does not read is not computed.
    assert costly_part(rows.withColumn("v", next_of("id")).select("k")) is None
    assert costly_part(rows.select("k")) is None
    kept = named["an aggregate"].persist()
    try:
        assert costly_part(kept.select("k")) is None
    finally:
        kept.unpersist()
