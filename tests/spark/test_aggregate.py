"""aggregate: under any grouping, the result is that of a plain aggregation."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.aggregators import Fold, TopK
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.groupings import available
from tests.spark import oracle
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from datetime import datetime

ROWS, WORKERS, WINDOW = 6000, 5, "1 minute"
# Groupings that need frequencies are rejected without a plan: tests/spark/test_route.py.
SPELLINGS = sorted(name for name, each in available().items() if not each.given_frequencies)
GROUPINGS = pytest.mark.parametrize(
    "grouping", most_in_soak(SPELLINGS, 1, slow=["dkg", "kg", "pkg", "planned", "wchoices"])
)
# A grouping of each kind: by hash, by loads, by learned hot keys, by a plan.
KINDS = pytest.mark.parametrize(
    "grouping", most_in_soak(["kg", "pkg", "dkg", "planned"], 1, slow=["pkg", "planned"])
)
PLAIN = {
    "count": "count(*) AS count",
    "sum(column=amount)": "sum(amount) AS sum",
    "mean(column=amount)": "avg(amount) AS mean",
}


@pytest.fixture(scope="module")
def batch(spark):
    """Make a batch in which some amounts and some times are null."""
    df = oracle.skewed(spark, ROWS, 3)
    amount = F.when(F.col("id") % 11 != 0, F.col("amount"))
    time = F.when(F.col("id") % 101 != 0, F.col("time"))
    return df.withColumn("amount", amount).withColumn("time", time).cache()


def rows(df):
    return sorted((tuple(row) for row in df.collect()), key=str)


def aggregated(df, grouping, aggregator, **options):
    return operators.aggregate(df, "key", grouping, WORKERS, aggregator, **options)


@pytest.mark.slow(1)
@GROUPINGS
def test_batch(batch, grouping):
    result = aggregated(batch, grouping, "sum(column=amount)")
    expected = batch.groupBy("key").agg(F.expr(PLAIN["sum(column=amount)"]))
    assert rows(result) == rows(expected)


@pytest.mark.slow(1)
@KINDS
@pytest.mark.parametrize("aggregator", most_in_soak(PLAIN, 1, slow=["mean(column=amount)"]))
def test_batch_by_aggregator(batch, grouping, aggregator):
    result = aggregated(batch, grouping, aggregator)
    expected = batch.groupBy("key").agg(F.expr(PLAIN[aggregator]))
    assert result.schema.fieldNames() == expected.schema.fieldNames()
    assert rows(result) == rows(expected)


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    "grouping", most_in_soak(["kg", "pkg", "dkg", "planned"], 2, slow=["planned"])
)
def test_batch_in_windows(batch, grouping):
    results = {
        aggregator: aggregated(batch, grouping, aggregator, time="time", window=WINDOW)
        for aggregator in PLAIN
    }
    plain = batch.groupBy(F.window("time", WINDOW).alias("window"), "key")
    for aggregator, result in results.items():
        expected = plain.agg(F.expr(PLAIN[aggregator]))
        assert result.columns == expected.columns
        assert result.schema["window"] == expected.schema["window"]
        assert rows(result) == rows(expected)


def assert_within_the_bound(top, counts, k, capacity):
    """Check SpaceSaving's bound, given the `counts` of all keys of the group."""
    total = sum(counts.values())
    ranked = sorted(top, key=lambda row: row["rank"])
    assert [row["rank"] for row in ranked] == list(range(1, min(k, len(counts)) + 1))
    assert len({row["key"] for row in ranked}) == len(ranked)
    for row in ranked:
        assert row["error"] <= total / capacity
        assert row["count"] - row["error"] <= counts[row["key"]] <= row["count"]
    # No key with a count above the bound is missing.
    sure = [key for key, count in counts.most_common(k - 1) if count > 2 * total / capacity]
    assert set(sure) <= {row["key"] for row in ranked}
    return max(row["error"] for row in ranked)


@pytest.mark.slow(1)
@KINDS
@pytest.mark.parametrize("capacity", most_in_soak([20, None], 1, slow=[20]))
def test_heaviest_keys(batch, grouping, capacity):
    top = TopK(5, capacity)
    found = [row.asDict() for row in aggregated(batch, grouping, top).collect()]
    counts = Counter({row["key"]: row["count"] for row in batch.groupBy("key").count().collect()})
    error = assert_within_the_bound(found, counts, 5, top.counters)
    # There are 99 keys: a small summary has errors, one with capacity for all keys has none.
    assert (error > 0) == (capacity is not None)


@pytest.mark.slow(3)
def test_heaviest_keys_of_windows(batch):
    result = aggregated(batch, "pkg", "top-k(k=5,capacity=20)", time="time", window=WINDOW)
    found = [row.asDict() for row in result.collect()]
    counts: dict[datetime, Counter[str]] = defaultdict(Counter)
    groups = batch.groupBy(F.window("time", WINDOW).start.alias("start"), "key").count()
    for row in groups.collect():
        counts[row["start"]][row["key"]] = row["count"]
    assert {row["window"].start for row in found} == set(counts)
    for start, each in counts.items():
        top = [row for row in found if row["window"].start == start]
        assert_within_the_bound(top, each, 5, 20)


@pytest.mark.soak
def test_stream_over_epochs(session, tmp_path):
    """One query runs all groupings over 200 s in 3 epochs, so three windows close."""
    session = session.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    stream = generated("zipf(z=1.3,keys=60)", messages=4000, rate=20)
    df = oracle.streaming(session, stream, tmp_path, epochs=3)
    df = df.withColumn("amount", F.col("position") % 7 - 2)
    parts = [
        aggregated(df, grouping, aggregator, time="time", window=WINDOW).select(
            F.lit(grouping).alias("grouping"),
            "window.start",
            "key",
            F.lit(value).alias("what"),
            F.col(value).alias("value"),
        )
        for grouping in SPELLINGS
        for aggregator, value in (("count", "count"), ("sum(column=amount)", "sum"))
        if value == "sum" or grouping == "dkg"
    ]
    epochs = oracle.run(reduce(lambda one, other: one.union(other), parts), tmp_path)
    assert len(epochs) == 3

    origin = min(row["start"] for row in epochs[min(epochs)].to_pylist())
    found: dict[tuple[str, str, int, str], int] = {}
    for table in epochs.values():
        for grouping, start, key, what, value in zip(*table.columns, strict=True):
            window = (start.as_py() - origin).seconds // 60
            place = grouping.as_py(), what.as_py(), window, key.as_py()
            assert place not in found
            found[place] = value.as_py()
    messages = stream.batch(0, 3 * 60 * 20)
    expected: Counter[tuple[str, str, int, str]] = Counter()
    for position, key in enumerate(stream.texts(messages.ids).to_pylist()):
        expected["dkg", "count", position // 1200, key] += 1
        for grouping in SPELLINGS:
            expected[grouping, "sum", position // 1200, key] += position % 7 - 2
    assert found == expected


@pytest.mark.soak
def test_stream_of_heaviest_keys(session, tmp_path):
    stream = generated("zipf(z=1.3,keys=60)", messages=4000, rate=20)
    df = oracle.streaming(session, stream, tmp_path, epochs=2)
    top = aggregated(df, "pkg", "top-k(k=3,capacity=20)", time="time", window=WINDOW)
    found = pa.concat_tables(oracle.run(top, tmp_path).values()).to_pylist()
    starts = sorted({row["window"]["start"] for row in found})
    assert len(starts) == 3
    keys = stream.texts(stream.batch(0, 3600).ids).to_pylist()
    for number, start in enumerate(starts):
        counts = Counter(keys[number * 1200 : number * 1200 + 1200])
        rows_of_window = [row for row in found if row["window"]["start"] == start]
        assert_within_the_bound(rows_of_window, counts, 3, 20)


@dataclass(frozen=True)
class Largest(Fold):
    """A user's aggregator: the largest amount, and how often it occurred."""

    name: ClassVar[str] = "largest"
    columns = ("amount",)
    result = pa.schema([("largest", pa.int64()), ("times", pa.int64())])
    state_type = "map<long,long>"

    def zero(self):
        return {}

    def add(self, state, message):
        _, amount = message
        return self.combine(state, {} if amount is None else {amount: 1})

    def combine(self, first, second):
        both = Counter(first) + Counter(second)
        return {max(both): both[max(both)]} if both else {}

    def answer(self, state):
        (largest, times) = next(iter(state.items()), (None, 0))
        return {"largest": largest, "times": times}


@pytest.mark.slow(1)
@pytest.mark.parametrize("grouping", most_in_soak(["sg", "dkg"], 1, slow=["dkg"]))
def test_a_users_own_aggregator(batch, grouping):
    result = aggregated(batch, grouping, Largest(), time="time", window=WINDOW)
    largest = F.max("amount").over(Window.partitionBy("window", "key"))
    marked = batch.select(F.window("time", WINDOW).alias("window"), "key", "amount")
    marked = marked.withColumn("largest", largest)
    expected = marked.groupBy("window", "key").agg(
        F.first("largest").alias("largest"), F.count_if(F.expr("amount = largest")).alias("times")
    )
    assert result.columns == expected.columns
    assert rows(result) == rows(expected)


def test_the_key_keeps_its_name_and_type(batch):
    df = batch.select((F.col("id") % 5).alias("user id"), "amount")
    result = operators.aggregate(df, "user id", "pkg", WORKERS, "sum(column=amount)")
    expected = df.groupBy("user id").agg(F.expr(PLAIN["sum(column=amount)"]))
    assert result.schema == expected.schema
    assert rows(result) == rows(expected)


def test_times_as_keys_and_values(batch):
    df = batch.where("time is not null").select(F.col("time").alias("key"), "amount", "time")
    top = aggregated(df, "pkg", "top-k(k=1)")
    count = df.groupBy("key").count().orderBy(F.desc("count"), "key").first()
    assert top.schema["key"].dataType == df.schema["key"].dataType
    assert [(row["key"], row["count"]) for row in top.collect()] == [tuple(count)]


@pytest.mark.slow(3)
def test_no_rows_no_groups(batch):
    none = batch.where("id < 0")
    for aggregator in (*PLAIN, "top-k(k=3)"):
        assert aggregated(none, "pkg", aggregator).collect() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"window": WINDOW}, "window = '1 minute' needs time=..."),
        ({"window": WINDOW, "time": "when"}, "no column 'when'; there are: id, key, amount, time"),
        ({"window": WINDOW, "time": "key"}, "'key' is of type string"),
        ({"window": "soon", "time": "time"}, "window = 'soon'"),
        ({"window": "-1 minute", "time": "time"}, "window = '-1 minute'"),
        ({"window": "0 seconds", "time": "time"}, "window = '0 seconds'"),
        ({"key": "usr"}, "no column 'usr'"),
        ({"aggregator": "sum(column=amont)"}, "no column 'amont'"),
        (
            {"aggregator": "sum(column=time)"},
            "sum(column=time): column 'time' is of type timestamp",
        ),
        ({"aggregator": "summ"}, "summ"),
        ({"grouping": "dgk"}, "dgk"),
        ({"workers": 0}, "workers = 0"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_at_once(batch, options, says):
    usual = {"key": "key", "grouping": "pkg", "workers": WORKERS, "aggregator": "count"}
    with pytest.raises(ConfigurationError) as refused:
        operators.aggregate(batch, **(usual | options))
    assert says in str(refused.value)


def test_a_stream_needs_windows(session, tmp_path):
    df = oracle.streaming(session, generated("uniform(keys=5)", messages=10), tmp_path)
    with pytest.raises(ConfigurationError, match="a stream is aggregated in windows"):
        aggregated(df, "pkg", "count", time="time")
    with pytest.raises(ConfigurationError, match="watermark = 'late'"):
        aggregated(df, "pkg", "count", time="time", window=WINDOW, watermark="late")
