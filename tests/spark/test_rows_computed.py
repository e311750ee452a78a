"""How often an operator computes the rows of its input, and in how many queries it plans."""

from __future__ import annotations

import pandas as pd
import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.spark.sessions.query_events import wait_for_events
from evenkey.spark.sessions.task_slots import slots_of
from tests.spark import oracle

ROWS = 3_000
pytestmark = pytest.mark.classic("accumulators and Spark's store of queries are in the driver")


@pytest.fixture(scope="module")
def own(session):
    """Make a session without broadcasts."""
    own = session.newSession()
    own.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    own.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    return own


class Counted:
    """Rows that Python functions make, which count how often a row is made.

    Half of the rows have the key 0, the others one of 50 keys.
    """

    def __init__(self, session, rows=ROWS):
        counter = session.sparkContext.accumulator(0)

        def made(batches):
            for batch in batches:
                counter.add(batch.num_rows)
                yield batch

        key = F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("id") % 50)
        plain = session.range(0, rows, 1, 3).select(key.alias("k"), F.col("id").alias("v"))
        self.df = plain.mapInArrow(made, plain.schema)
        self._counter, self._rows = counter, rows

    @property
    def times(self):
        """How often each row was made."""
        return self._counter.value / self._rows


def first(pdf):
    return pdf[:1]


def size(key, pdf):
    return pd.DataFrame({"k": key, "n": [len(pdf)]})


@pytest.mark.slow(12)
def test_each_row_is_computed_for_the_plan_and_for_the_result(own):
    rows, other = Counted(own), Counted(own, 600)
    grouped = eks.groupBy(rows.df, "k", workers=3).applyInPandas(first, rows.df.schema)
    assert rows.times == 1
    grouped.collect()
    assert rows.times == 2
    joined = eks.join(rows.df, other.df, "k", workers=3)
    assert (rows.times, other.times) == (3, 1)
    joined.count()
    assert (rows.times, other.times) == (4, 2)
    placed = eks.partition_for_write(other.df, "k", files=3)
    assert other.times == 3
    placed.count()
    assert other.times == 4


@pytest.mark.slow(6)
def test_a_stored_plan_needs_no_further_read(own, tmp_path):
    rows = Counted(own)
    eks.groupBy(rows.df, "k", workers=3, grouping="whole", state=tmp_path).applyInPandas(
        first, rows.df.schema
    )
    planned = rows.times
    again = eks.groupBy(rows.df, "k", workers=3, grouping="whole", state=tmp_path)
    result = again.applyInPandas(first, rows.df.schema)
    assert rows.times == planned
    result.collect()
    assert rows.times == planned + 1


@pytest.mark.soak(8)
def test_a_costly_input_with_state_is_computed_once_for_each_run(own, tmp_path):
    rows = Counted(own)
    for runs in (1, 2, 3):
        grouped = eks.groupBy(rows.df, "k", workers=3, state=tmp_path)
        found = grouped.applyInPandas(size, "k long, n long").collect()
        assert rows.times == runs
        assert {row["k"]: row["n"] for row in found} == {
            0: ROWS / 2,
            **dict.fromkeys(range(1, 50, 2), ROWS / 50),
        }
    # The first run was Spark's own, and the next ones followed the plans of the runs before them.
    assert "__evenkey_split" in oracle.plan_of(grouped.applyInPandas(size, "k long, n long"))


def queries(session):
    """Return the number of queries that Spark has run in all sessions.

    Spark keeps the last 1,000 of them, each with its number.
    """
    wait_for_events()
    every = session._jsparkSession.sharedState().statusStore().executionsList()
    return 0 if every.isEmpty() else every.last().executionId() + 1


@pytest.mark.slow(15)
def test_a_plan_is_made_in_one_query(own):
    rows = own.range(0, ROWS, 1, 3).select((F.col("id") % 50).alias("k"), F.col("id").alias("v"))
    hot = rows.withColumn("k", F.when(F.col("v") % 2 == 0, 0).otherwise(F.col("k")))

    def calls():
        yield eks.groupBy(rows, "k", workers=3).applyInPandas, (first, rows.schema)
        yield eks.join, (hot, rows, "k", "inner", 3)
        yield eks.join, (hot, rows, "k", "full", 3)
        yield eks.partition_for_write, (hot, "k", 3)
        # No key has more rows than a bucket of keys, so nothing is cut.
        cold = rows.withColumn("k", F.col("v") % 1_000)
        yield eks.over, (cold, "k", "v", {"n": F.row_number()}, None, None, 3)

    for call, arguments in calls():
        before = queries(own)
        call(*arguments)
        assert queries(own) == before + 1, call


def test_slots_are_counted_without_a_query(own):
    before = queries(own)
    slots = slots_of(own)
    assert queries(own) == before
    places = own.range(1 << 16).select(F.spark_partition_id().alias("slot"))
    assert slots == places.distinct().count()


def test_slots_do_not_depend_on_the_partitions_of_a_range(own):
    slots, settings = slots_of(own), own.sparkContext._jsc.sc().conf()
    settings.set("spark.default.parallelism", str(slots + 60))
    try:
        assert own.range(1 << 16).rdd.getNumPartitions() == slots + 60
        assert slots_of(own) == slots
    finally:
        settings.remove("spark.default.parallelism")


def test_one_file_is_written_without_counting(own):
    before = queries(own)
    placed = eks.partition_for_write(own.range(100), "id", files=1)
    assert queries(own) == before
    assert placed.groupBy(F.spark_partition_id()).count().count() == 1


@pytest.mark.slow(3)
def test_few_files_of_many_uniform_values_are_placed_by_spark(own):
    uniform = own.range(0, 40_000, 1, 3).select((F.col("id") % 8_000).alias("k"))
    placed = eks.partition_for_write(uniform, "k", files=3)
    assert "__evenkey" not in oracle.plan_of(placed)
    by_key = placed.withColumn("task", F.spark_partition_id()).groupBy("k")
    written = by_key.agg(F.count_distinct("task").alias("files"))
    assert written.where("files > 1").count() == 0
    loads = [row["count"] for row in placed.groupBy(F.spark_partition_id()).count().collect()]
    assert max(loads) <= 1.08 * 40_000 / 3
