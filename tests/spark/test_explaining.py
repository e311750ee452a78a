"""`explain` predicts exactly how the operator, and Spark's own, place rows."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.core.errors import ConfigurationError
from tests.tiers import most_in_soak

WORKERS = 5
PARTITIONS = 7


@pytest.fixture(scope="module")
def plain(session):
    """Make a session without automatic broadcasts and without adaptive execution."""
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    return session


@pytest.fixture(scope="module")
def rows(plain):
    """Make 2,000 rows: 40 % have the key 7, 10 % a null key, the others one of 300 keys."""
    number = F.col("id")
    key = F.when(number % 10 < 4, 7).when(number % 10 > 4, number % 300 + 10)
    return plain.range(0, 2000, 1, 3).select(key.alias("k"), number.alias("v"))


def by_task(df, tasks, work=None):
    """Return the number of rows of each task of a DataFrame, or the sum of their `work`."""
    load = F.count(F.lit(1)) if work is None else F.sum(work)
    found = df.groupBy(F.spark_partition_id().alias("task")).agg(load.alias("load")).collect()
    loads = np.zeros(tasks)
    for row in found:
        loads[row["task"]] = row["load"]
    return loads


@pytest.mark.slow(3)
def test_a_group_by_is_as_predicted(rows):
    whole, split = eks.explain(eks.groupBy, rows, "k", workers=WORKERS).placements
    grouped = eks.groupBy(rows, "k", workers=WORKERS)

    def same(pdf):
        return pdf

    placed = by_task(grouped.applyInPandas(same, rows.schema), WORKERS)
    np.testing.assert_array_equal(whole.loads, placed)
    spark = by_task(rows.repartition(PARTITIONS, "k"), PARTITIONS)
    np.testing.assert_array_equal(whole.spark_loads, spark)
    assert [(key.name, key.share, key.tasks) for key in whole.hot_keys] == [
        ("k 7", 0.4, 1),
        ("k null", 0.1, 1),
    ]
    bound = "k 7 has 40 % of the rows, all in one task, 2.0 times the mean of 5"
    assert f"{bound}; to split it pass merge=" in whole.notes
    assert split.hot_keys[0].tasks == 2
    assert split.loads.max() < 1.01 * split.loads.mean()
    assert split.loads.sum() == whole.loads.sum() == 2000
    costs = eks.explain(eks.groupBy, rows, "k", workers=WORKERS, cost="v").placements[0]
    assert costs.unit == "cost"
    assert costs.loads.sum() == costs.spark_loads.sum() == sum(range(2000))


@pytest.mark.slow(2)
def test_a_write_is_as_predicted(rows):
    explanation = eks.explain(eks.partition_for_write, rows, "k", files=WORKERS)
    (placement,) = explanation.placements
    placed = eks.partition_for_write(rows, "k", files=WORKERS)
    np.testing.assert_allclose(by_task(placed, WORKERS), placement.loads, rtol=0.1)
    spark = by_task(rows.repartition(PARTITIONS, "k"), PARTITIONS)
    np.testing.assert_array_equal(placement.spark_loads, spark)
    files = placed.select("k", F.spark_partition_id()).distinct().count()
    more = files - rows.select("k").distinct().count()
    assert f"files: one for each value, and {more} more" in str(explanation)


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    "how",
    most_in_soak(["inner", "left", "right", "full", "semi", "anti"], 3, slow=["left"]),
)
def test_a_join_is_as_predicted(plain, rows, how):
    """The work of a task, counted independently, is 1 per result row and 0.1 per input row."""
    right = plain.range(0, 400, 1, 2).select((F.col("id") % 200).alias("k"), F.col("id").alias("w"))
    explanation = eks.explain(eks.join, rows, right, "k", how, WORKERS)
    (placement,) = explanation.placements
    joined = eks.join(rows, right, "k", how, WORKERS).where("k is not null")
    outputs = by_task(joined, WORKERS)
    assert (outputs <= placement.loads * 1.1).all()
    spark = by_task(rows.join(right, "k", how), PARTITIONS)
    inputs = [
        rows if how in ("left", "full", "anti") else rows.where("k is not null"),
        right.select("k").distinct() if how in ("semi", "anti") else right,
    ]
    for side in inputs:
        spark += 0.1 * by_task(side.repartition(PARTITIONS, "k"), PARTITIONS)
    np.testing.assert_allclose(placement.spark_loads, spark, rtol=1e-9)
    assert placement.hot_keys[0].name == "k 7"


@pytest.mark.slow(1)
def test_explanations_without_figures(plain, rows):
    explanation = eks.explain(eks.groupBy, rows, "k", workers=WORKERS, grouping="spark")
    assert [each.gain for each in explanation.placements] == [1.0, 1.0]
    assert str(explanation).count("Spark's own placement (as requested)") == 2
    refused = eks.explain(eks.groupBy, rows, "k", workers=WORKERS, grouping="planned")
    assert "applyInPandas, applyInArrow: refused (grouping = 'planned': it splits" in str(refused)
    stream = plain.readStream.format("rate").load()
    assert "by the plan in state=" in str(eks.explain(eks.groupBy, stream, "value", workers=3))
    joined = eks.explain(eks.join, stream.withColumnRenamed("value", "k"), rows, "k")
    assert "plans are made epoch by epoch" in str(joined)
    nothing = eks.explain(eks.partition_for_write, rows.limit(0), "k", files=2)
    assert "Spark's own (no task has more than 1.00 times the mean)" in str(nothing)
    one = eks.explain(eks.partition_for_write, rows, "k", files=1)
    assert str(one).endswith("write.partitionBy: Spark's own (there is one task)")
    assert nothing.placements[0].gain == 1.0


def test_what_cannot_be_explained(rows):
    with pytest.raises(ConfigurationError, match="operator = route: explain knows asof_join, "):
        eks.explain(eks.route, rows, "k")
    with pytest.raises(ConfigurationError, match="there is no column 'x'; there are: k, v"):
        eks.explain(eks.partition_for_write, rows, "x", files=2)
    with pytest.raises(TypeError, match="missing a required argument: 'files'"):
        eks.explain(eks.partition_for_write, rows, "k")  # type: ignore[call-arg]
