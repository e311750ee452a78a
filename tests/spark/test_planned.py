"""`planned` on Spark: Spark's expressions route rows by the plan, in batches and streams."""

from __future__ import annotations

import time

import numpy as np
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.groupings import PlannedGrouping, parse
from evenkey.groupings.planned import Plan
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.routing.add_worker import routed as routed_by
from tests.spark import oracle

ROWS, WORKERS = 6000, 5
BUCKETS = PlannedGrouping().bucket_count(WORKERS)


@pytest.fixture(scope="module")
def batch(spark):
    return oracle.skewed(spark, ROWS, 3)


def routed(df, **options):
    table = routed_by(df, "key", "planned", WORKERS, **options)
    rows = table.withColumn("hash", F.xxhash64("key")).toArrow()
    return rows["hash"].to_numpy().view(np.uint64), rows["worker"].to_numpy()


def assert_follows(plan, hashes, workers):
    """Check that whole keys are on the plan's worker, and split keys follow their shares."""
    split = dict(zip(plan.keys[np.diff(plan.starts) > 1].tolist(), range(99), strict=False))
    places = {
        int(key): plan.places[start:stop]
        for key, start, stop in zip(plan.keys, plan.starts, plan.starts[1:], strict=False)
    }
    for key in np.unique(hashes):
        went = workers[hashes == key]
        if int(key) not in split:
            expected = places.get(int(key), plan.owners[[int(key) % BUCKETS]])
            assert set(went) == set(expected)
            continue
        row = np.searchsorted(plan.keys, key)
        shares = plan.shares[plan.starts[row] : plan.starts[row + 1]]
        sent = np.bincount(went, minlength=WORKERS)
        assert sent.sum() == sent[places[int(key)]].sum()
        assert np.abs(sent[places[int(key)]] / len(went) - shares).max() < 2 / np.sqrt(len(went))
    assert split


def test_batch_is_counted_and_balanced(batch, tmp_path):
    hashes, workers = routed(batch, state=tmp_path)
    plan = Plan.from_arrays(RoutingTables(tmp_path, "planned", WORKERS).read(0).memory)
    assert_follows(plan, hashes, workers)
    loads = np.bincount(workers, minlength=WORKERS)
    assert loads.max() / loads.mean() < 1.03
    pairs = len(set(zip(hashes.tolist(), workers.tolist(), strict=True)))
    assert pairs <= len(set(hashes.tolist())) + WORKERS - 1


def test_a_plan_that_is_there_is_followed(batch, tmp_path):
    plan = operators.fit(batch, "key", "planned", WORKERS, state=tmp_path)
    before = sorted(tmp_path.iterdir())
    hashes, workers = routed(batch.filter("id % 2 = 0"), state=tmp_path)
    assert_follows(plan, hashes, workers)
    assert sorted(tmp_path.iterdir()) == before


def test_rows_without_a_position_have_a_worker(batch, tmp_path):
    plan = operators.fit(batch, "key", "planned", WORKERS, state=tmp_path)
    df = batch.withColumn("offset", F.when(F.col("id") % 2 == 0, F.col("id")))
    hashes, workers = routed(df, state=tmp_path, position="offset")
    whole = ~np.isin(hashes, plan.keys[np.diff(plan.starts) > 1])
    np.testing.assert_array_equal(workers[whole], routed(batch, state=tmp_path)[1][whole])
    assert set(workers) == set(range(WORKERS))


def test_costs_in_place_of_counts(batch, tmp_path):
    cost = F.when(F.col("key") == "hot", 0.001).otherwise(1.0)
    df = batch.withColumn("cost", cost)
    plan = operators.fit(df, "key", "planned", WORKERS, state=tmp_path, cost="cost")
    hot = np.uint64(batch.select(F.xxhash64(F.lit("hot"))).first()[0] % 2**64)
    assert len(plan.places[plan.starts[:-1][plan.keys == hot]]) <= 1
    assert plan.extra_pairs < WORKERS
    assert plan.loads.sum() == pytest.approx(df.agg(F.sum("cost")).first()[0])


def test_a_sample_is_enough(batch, tmp_path):
    plan = operators.fit(batch, "key", "planned", WORKERS, state=tmp_path, fraction=0.5)
    assert plan.loads.sum() == pytest.approx(ROWS / 2, rel=0.1)


def test_no_python_for_a_message(batch, tmp_path):
    df = operators.route(batch, "key", "planned", WORKERS, state=tmp_path)
    plan = oracle.plan_of(operators.place(df, WORKERS))
    assert "ArrowEvalPython" not in plan
    assert "MapInArrow" not in plan


@pytest.mark.slow(5)
def test_each_epoch_is_counted_in_foreach_batch(session, tmp_path):
    """Hot keys change with every epoch; since each is counted first, all rows are balanced."""
    stream = generated("drift(z=1.5,keys=500,every=4000)", messages=12_000)
    df = oracle.streaming(session, stream, tmp_path, epochs=3)

    def route_epoch(rows):
        grouping = "planned(planning=current)"
        return operators.route(rows, "key", grouping, WORKERS, state=tmp_path / "tables")

    loads = {}
    for epoch, rows in oracle.run(df, tmp_path, work=route_epoch).items():
        loads[epoch] = np.bincount(rows["worker"].to_numpy(), minlength=WORKERS)
    assert [int(each.sum()) for each in loads.values()] == [4000] * 3
    assert max(each.max() / each.mean() for each in loads.values()) < 1.05


@pytest.mark.slow(4)
def test_other_columns_stay_as_they_are(batch, tmp_path):
    rows = operators.route(batch, "key", "planned", WORKERS, state=tmp_path).drop("worker")
    assert rows.toArrow() == batch.toArrow()


@pytest.mark.slow(5)
def test_a_stream_follows_each_epochs_table(session, tmp_path):
    """The tables of the directory are used while the query has none; a restart finds them."""
    stream = generated("country-skew-r80", messages=6000)
    grouping, tables = PlannedGrouping(), RoutingTables(tmp_path / "tables", "planned", WORKERS)
    keys = stream.hashes(stream.ids(0, 6000))
    plans = []
    for part in (keys[:2000], keys[:4]):
        distinct, counts = np.unique(part, return_counts=True)
        plans.append(grouping.plan(distinct, counts.astype(np.float64), WORKERS))
    tables.write(0, RoutingTable(plans[0]))
    tables.write(2, RoutingTable(plans[1]))
    df = oracle.streaming(session, stream, tmp_path, offered=1)
    df = routed_by(df, "key", "planned", WORKERS, state=tmp_path / "tables", learn=False)
    df = df.withColumn("hash", F.xxhash64("key"))
    epochs = oracle.run(df, tmp_path)
    oracle.streaming(session, stream, tmp_path)
    epochs |= oracle.run(df, tmp_path)
    assert min(epochs) == 0
    assert max(epochs) >= 2
    assert sum(rows.num_rows for rows in epochs.values()) == 6000
    for epoch, rows in epochs.items():
        plan = Plan.from_arrays(plans[0] if epoch < 2 else plans[1])
        hashes = rows["hash"].to_numpy().view(np.uint64)
        assert_follows(plan, hashes, rows["worker"].to_numpy())


@pytest.mark.slow(4)
def test_a_stream_makes_its_plans(session, tmp_path):
    """Epoch N is planned from epoch N - 2; a restart continues with the existing plans."""
    stream = generated("country-skew-r80", messages=12_000)
    tables = tmp_path / "tables"

    def wait_for_plan(epoch):
        deadline = time.monotonic() + 240
        while not list(tables.glob(f"*/*/table-{epoch + 2:010d}.npz")):
            assert time.monotonic() < deadline, "no plan was made"
            time.sleep(0.05)

    df = oracle.streaming(session, stream, tmp_path, epochs=3)
    df = operators.route(df, "key", "planned", WORKERS, state=tables)
    loads = {}

    def after_epoch(epoch):
        if epoch == 1:
            wait_for_plan(0)

    for epoch, rows in oracle.run(df, tmp_path, after_epoch).items():
        loads[epoch] = np.bincount(rows["worker"].to_numpy(), minlength=WORKERS)
    assert [int(each.sum()) for each in loads.values()] == [4000] * 3
    assert loads[0].max() / loads[0].mean() > 3
    assert loads[2].max() / loads[2].mean() < 1.3


@pytest.mark.parametrize(
    ("cost", "says"), [("inf", "cost inf together"), ("nan", "cost nan"), ("-4", "cost -4.0")]
)
def test_a_wrong_cost_is_named(spark, tmp_path, cost, says):
    costs = spark.range(40).selectExpr("id", f"if(id = 7, double('{cost}'), 3.0D) as cost")
    with pytest.raises(ConfigurationError, match=says):
        operators.fit(costs, "id", "planned", WORKERS, state=tmp_path, cost="cost")


def test_numbers_of_keys_are_balanced(spark, tmp_path):
    """There are more keys than the sketch of hot keys tracks."""
    key = F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("id"))
    df = spark.range(0, 20_000, 1, 2).select(key.alias("key"))
    plan = operators.fit(df, "key", "planned(even_keys=true)", WORKERS, state=tmp_path)
    hashes = df.distinct().select(F.xxhash64("key").alias("hash")).toArrow()["hash"].to_numpy()
    in_buckets = np.bincount(hashes.view(np.uint64) % np.uint64(BUCKETS), minlength=BUCKETS)
    held = np.bincount(plan.owners, in_buckets, minlength=WORKERS)
    mean = len(hashes) / WORKERS
    assert held.max() <= max(1.02 * mean, mean + in_buckets.max())
    assert plan.loads.max() / plan.loads.mean() < 1.02


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"grouping": "pkg"}, "fit makes plans for 'planned' and 'whole' only"),
        ({"fraction": 0.0}, "fraction = 0.0"),
        ({"cost": "price"}, "no column 'price'"),
        ({"grouping": "planned(capacities=1:2)"}, "2 capacities for 5 workers"),
    ],
)
def test_fit_refuses_what_cannot_be(batch, tmp_path, options, says):
    usual = {"grouping": "planned", "state": tmp_path}
    with pytest.raises(ConfigurationError, match=says):
        operators.fit(batch, "key", workers=WORKERS, **{**usual, **options})


def test_a_stream_cannot_be_counted_first(session, tmp_path):
    df = oracle.streaming(session, generated("uniform(keys=5)", messages=10), tmp_path)
    with pytest.raises(ConfigurationError, match="route in foreachBatch"):
        operators.route(df, "key", "planned(planning=current)", WORKERS)
    with pytest.raises(ConfigurationError, match="fit counts a batch"):
        operators.fit(df, "key", parse("planned"), WORKERS, state=tmp_path)
