"""route: the tasks of Spark choose the same workers as the Python routers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.groupings import available, parse
from evenkey.spark.plans import batch_plans
from evenkey.spark.routing.tasks import routing_task
from tests.spark import oracle
from tests.tiers import most_in_soak

ROWS, PARTITIONS, WORKERS = 6000, 3, 5
# tests/groupings/test_golden.py tests groupings with a given plan; `planned` has its own tests.
ELSEWHERE = {"planned", *(name for name, each in available().items() if each.given_frequencies)}
SPELLINGS = [*sorted({*available()} - ELSEWHERE), "pkg(choices=3)", "dkg(variant=reference)"]
LEARNING = [spelling for spelling in SPELLINGS if parse(spelling).learns]


def routed(df, spellings, **options):
    """Route by several groupings in one DataFrame; each adds a column with its name."""
    for spelling in spellings:
        column = f"by {spelling}"
        df = operators.route(df, "key", spelling, WORKERS, column=column, **options)
    return df


def assert_as_expected(epochs, spellings, load="epoch"):
    for spelling in spellings:
        expected = oracle.expected_workers(spelling, WORKERS, epochs, load)
        assert [rows[f"by {spelling}"].to_pylist() for rows in epochs] == expected, spelling


@pytest.fixture(scope="module")
def batch(spark):
    return oracle.skewed(spark, ROWS, PARTITIONS)


@pytest.fixture(scope="module")
def stream():
    """Make a stream of 150 s in two epochs; hot keys are known before the second begins."""
    return generated("country-skew-r80", messages=3000, rate=20)


@pytest.mark.slow(5)
def test_batch_by_event_time(batch):
    rows = oracle.with_clues(routed(batch, SPELLINGS, time="time")).toArrow()
    assert rows.num_rows == ROWS
    assert_as_expected([rows], SPELLINGS)


@pytest.mark.slow(4)
def test_batch_without_time_goes_by_position_over_rate(batch):
    """The times of a partition's rows are 0.2 s apart, as at a rate of 5 rows/s."""
    df = batch.withColumn("time", (F.col("id") % (ROWS // PARTITIONS) / 5).cast("double"))
    rows = oracle.with_clues(routed(df, LEARNING, rate=5.0)).toArrow()
    assert_as_expected([rows], LEARNING)
    slow = operators.route(df, "key", "dkg", WORKERS, rate=100.0).toArrow()
    assert slow["worker"].to_pylist() != rows["by dkg"].to_pylist()


@pytest.mark.slow(3)
@pytest.mark.parametrize("load", most_in_soak(["epoch", "lifetime"], 3, slow=["epoch"]))
def test_stream_over_epochs(session, stream, tmp_path, load):
    df = oracle.streaming(session, stream, tmp_path, epochs=2)
    df = routed(df, SPELLINGS, time="time", load=load)
    epochs = list(oracle.run(oracle.with_clues(df), tmp_path).values())
    assert [rows.num_rows for rows in epochs] == [1500, 1500]
    assert_as_expected(epochs, SPELLINGS, load)
    # Check that lifetime loads and epoch loads lead to different choices, else the test is void.
    other = {"epoch": "lifetime", "lifetime": "epoch"}[load]
    for spelling in ("pkg", "dkg"):
        _, second = oracle.expected_workers(spelling, WORKERS, epochs, other)
        assert epochs[1][f"by {spelling}"].to_pylist() != second


def test_stream_without_time_goes_by_processing_time(session, stream, tmp_path):
    # Pools grow from the second epoch on, even if it follows the first immediately.
    eager = "dkg(warm_up=0,teenage_period=0.001,old_period=0.001)"
    df = routed(oracle.streaming(session, stream, tmp_path, epochs=2), [eager])
    epochs = list(oracle.run(oracle.with_clues(df, time=None), tmp_path).values())
    assert_as_expected(epochs, [eager])
    second = epochs[1].to_pylist()
    assert len({row[f"by {eager}"] for row in second if row["key"] == "Turkey"}) > 2


def test_times_in_disorder_and_unknown_times_count_as_the_latest_before(spark):
    shuffled = F.when(F.col("id") % 9 == 3, F.lit(None)).otherwise(
        F.timestamp_micros((F.col("id") * 50 + F.pmod(F.xxhash64("id"), F.lit(5000))) * 1000)
    )
    df = oracle.skewed(spark, ROWS, 1).withColumn("time", shuffled)
    rows = oracle.with_clues(routed(df, ["dkg"], time="time")).toArrow()
    seconds = rows["seconds"].fill_null(0.0)
    assert seconds.to_numpy().tolist() != sorted(seconds.to_numpy())
    rows = rows.set_column(rows.schema.get_field_index("seconds"), "seconds", seconds)
    assert_as_expected([rows], ["dkg"])


def test_null_is_a_key_like_any_other(batch):
    df = operators.route(batch, "key", "kg", WORKERS)
    counts = df.groupBy("key").agg(F.collect_set("worker").alias("workers")).collect()
    assert None in {row["key"] for row in counts}
    assert all(len(row["workers"]) == 1 for row in counts)


def test_columns_that_form_the_key_together(batch):
    df = batch.withColumn("odd `name", F.col("id") % 3)
    df = operators.route(df, ["key", "odd `name"], "pkg", WORKERS)
    clues = oracle.with_clues(df).withColumn("hash", F.xxhash64("key", F.col("`odd ``name`")))
    rows = clues.toArrow()
    (expected,) = oracle.expected_workers("pkg", WORKERS, [rows])
    assert rows["worker"].to_pylist() == expected


def test_other_columns_stay_as_they_are(batch):
    rows = operators.route(batch, "key", "pkg", WORKERS).drop("worker").toArrow()
    assert rows == batch.toArrow()


@pytest.mark.parametrize("spelling", ["pkg", "dkg"])
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda df: df.filter("worker > 1"), id="filter"),
        pytest.param(lambda df: df.groupBy("worker", "key").count(), id="groupBy"),
        pytest.param(lambda df: df.repartitionById(WORKERS, "worker"), id="repartitionById"),
        pytest.param(
            lambda df: operators.observe(df, operators.LoadObserver(WORKERS), key="key"),
            id="observe",
        ),
        pytest.param(
            lambda df: df.withColumn("twice", F.col("worker") * 2).filter("twice = worker + 1"),
            id="two uses",
        ),
    ],
)
def test_each_message_is_routed_once(batch, spelling, use):
    df = use(operators.route(batch, "key", spelling, WORKERS, time="time"))
    assert oracle.plan_of(df).count("ArrowEvalPython") == 1


@pytest.mark.parametrize("spelling", ["kg", "sg"])
def test_no_python_where_spark_has_an_expression(batch, spelling):
    df = operators.route(batch, "key", spelling, WORKERS)
    assert "ArrowEvalPython" not in oracle.plan_of(df)


def test_no_python_for_key_grouping_in_a_stream(session, stream, tmp_path):
    df = oracle.streaming(session, stream, tmp_path)
    df = operators.route(df, "key", "kg", WORKERS, load="lifetime")
    assert "route_keys" not in oracle.plan_of(df, "extended")
    df = operators.route(df, "key", "sg", WORKERS, column="by sg")
    assert "route_keys" in oracle.plan_of(df, "extended")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"key": "usr"}, "no column 'usr'; there are: id, key, amount, time"),
        ({"key": []}, "no key column is given"),
        ({"time": "when"}, "no column 'when'"),
        ({"grouping": "pkg", "time": "when"}, "no column 'when'"),
        ({"time": "key"}, "'key' is of type string"),
        ({"column": "amount"}, "a column 'amount' already"),
        ({"column": "Amount"}, "a column 'amount' already"),
        ({"workers": 0}, "workers = 0"),
        ({"workers": -3}, "workers = -3"),
        ({"grouping": "dgk"}, "dgk"),
        ({"grouping": "pkg(choice=3)"}, "choice"),
        ({"grouping": "pkg(choices=0)"}, "choices = 0"),
        ({"load": "life"}, "load = 'life'"),
        ({"rate": 0}, "rate = 0"),
        ({"rate": float("nan")}, "rate = nan"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_at_once(batch, options, says):
    usual = {"key": "key", "grouping": "dkg", "workers": WORKERS}
    with pytest.raises(ConfigurationError) as refused:
        operators.route(batch, **(usual | options))
    assert says in str(refused.value)


@pytest.mark.slow(3)
def test_keys_are_counted_for_a_grouping_that_goes_by_their_frequencies(
    batch, session, tmp_path, monkeypatch
):
    """A batch makes the plan; another batch and a stream with the same state follow it."""
    first = operators.route(batch, "key", "off-greedy", WORKERS, state=tmp_path / "state")
    placed: dict[str | None, int] = dict(first.select("key", "worker").distinct().collect())
    hashes = batch.groupBy(F.xxhash64("key").alias("hash"), "key").count().toArrow()
    keys = hashes["hash"].to_numpy().view(np.uint64)
    grouping = parse("off-greedy")
    router = grouping.router(WORKERS)
    router.remember(grouping.plan(keys, hashes["count"].to_numpy().astype(float), WORKERS))
    assert placed == dict(zip(hashes["key"].to_pylist(), router.route(keys).tolist(), strict=True))
    monkeypatch.setattr(batch_plans, "_MOST_KEYS", len(keys) - 1)
    with pytest.raises(ConfigurationError, match=f"more than {len(keys) - 1} distinct keys"):
        operators.route(batch, "key", "off-greedy", WORKERS)
    few = batch.where("id < 50")
    for options, same in (({"state": tmp_path / "state"}, True), ({}, False)):
        again = operators.route(few, "key", "off-greedy", WORKERS, **options)
        found: dict[str | None, int] = dict(again.select("key", "worker").distinct().collect())
        assert (found.items() <= placed.items()) is same
    batch.select("key").write.parquet(str(tmp_path / "rows"))
    stream = session.readStream.schema("key string").parquet(str(tmp_path / "rows"))
    followed = operators.route(stream, "key", "off-greedy", WORKERS, state=tmp_path / "state")
    rows = pa.concat_tables(oracle.run(followed, tmp_path).values())
    assert set(zip(*(rows[name].to_pylist() for name in ("key", "worker")), strict=True)) == set(
        placed.items()
    )


def test_tasks_that_route_what_they_make_need_their_plan_too(spark):
    with pytest.raises(ConfigurationError, match="use a grouping that learns these"):
        routing_task(spark, parse("off-greedy"), WORKERS, streaming=True)
