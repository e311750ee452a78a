"""Advice on a DataFrame: the sample has the keys that Spark itself counts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import evenkey as ek
from evenkey import spark as eks
from evenkey.core.errors import ConfigurationError
from evenkey.reports.advice.frame_sample import _coded, sample_of_frame
from tests.tiers import most_in_soak


@pytest.fixture
def df(spark):
    return spark.range(0, 5000, 1, 4).select(
        F.expr(
            "CASE WHEN id % 10 < 6 THEN 'hot' WHEN id % 10 = 9 THEN NULL "
            "ELSE concat('k', id % 700) END"
        ).alias("user `id`"),
        F.expr("CAST(id % 2 AS INT)").alias("shop, name"),
        F.col("id").alias("amount"),
    )


def counts_of(sample):
    """Return the number of messages per key in the sample."""
    found: dict[Any, int] = {}
    for text in sample.texts(sample.batch.ids).to_pylist():
        found[text] = found.get(text, 0) + 1
    return found


@pytest.mark.slow(5)
def test_keys_are_counted_as_spark_counts_them(df):
    sample = sample_of_frame(df, "user `id`")
    own = df.groupBy(F.col("`user ``id```")).count().collect()
    assert counts_of(sample) == {row[0]: row[1] for row in own}
    assert (sample.nulls, sample.whole) == (500, True)


@pytest.mark.slow(4)
def test_a_key_of_several_columns(df):
    sample = sample_of_frame(df, ["user `id`", "shop, name"])
    found = counts_of(sample)
    assert found['["hot","0"]'] == found['["hot","1"]'] == 1500
    assert found['[null,"1"]'] == 500
    own = df.groupBy(F.col("`user ``id```"), F.col("`shop, name`")).count()
    assert sorted(found.values()) == sorted(row["count"] for row in own.collect())


def test_some_rows_of_many(df):
    sample = sample_of_frame(df, "user `id`", rows=1000)
    assert sample.of_lines == 5000
    assert 700 < sample.lines < 1300
    assert not sample.whole


def test_the_headline_comes_first_and_the_groupings_after(df):
    advice = ek.advise(df, "user `id`", 8, groupings=["pkg", "planned"])
    first, *others = str(advice).splitlines()
    kg, best = (
        next(p for p in advice.predictions if (p.grouping, p.workers) == (name, 8))
        for name in ("kg", "planned")
    )
    speedup = kg.max_load / best.max_load
    assert speedup > 4
    assert first.startswith(f"About {speedup:.1f}x faster than groupBy on 8 workers with planned")
    assert any(line.startswith("500 messages (10.0 %) have a null key") for line in others)
    assert others[-1].split()[1] == advice.predictions[-1].grouping
    assert advice.to_json()["null_keys"] == 500


@pytest.mark.slow(6)
@pytest.mark.parametrize("aggregator", most_in_soak([None, "count"], 6, slow=["count"]))
def test_the_code_runs(df, aggregator):
    named = df.toDF("u", "s", "amount")
    options = {"groupings": ["planned"], "aggregator": aggregator}
    advice = ek.advise(named, ["u", "s"], [4], **options)
    names: dict[str, Any] = {"df": named, "eks": eks}
    exec(advice.code, names)  # noqa: S102 - what users paste
    assert sum(row[-1] for row in names["results"].collect()) == 5000


def test_balanced_keys_need_nothing(spark):
    balanced = spark.range(20_000).select(F.expr("id % 10000").alias("user"))
    advice = ek.advise(balanced, "user", [4], groupings=["planned"])
    assert str(advice).startswith("On 4 workers groupBy is as fast as any grouping.")


def test_errors_are_one_line(spark, df):
    stream = spark.readStream.format("rate").load()
    for arguments, message in (
        ((df, "usr", 4), r"no column 'usr': the DataFrame has user `id`, shop, name, amount"),
        ((df, 7, 4), "key = 7: name the key's column"),
        ((df, [], 4), r"key = \[\]: name the key's column"),
        ((7, "user", 4), "sample = 7: must be a Sample or a Spark DataFrame"),
        ((stream, "value", 4), "the DataFrame is a stream; pass a batch"),
        ((df.where("amount < 0"), "amount", 4), "the DataFrame has no row"),
        ((df, "amount", 0), "workers = 0: name one or more worker counts"),
        ((df, "amount", True), "workers = True: name one or more"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            ek.advise(*arguments)
    with pytest.raises(ConfigurationError, match="setting = 'user': must be a Setting"):
        ek.advise(sample_of_frame(df, "amount"), "user", 4)


def test_keys_of_many_columns_of_many_values_are_themselves():
    """Four columns with 70,000 values each have more combinations than 64 bits can number."""
    column = pa.array([*map(str, range(70_000)), "69999"])
    texts, ids = _coded(pa.table(dict.fromkeys("abcd", column)))
    assert len(texts) == 70_000
    assert [texts[place].as_py() for place in (ids[7], ids[-1])] == [
        '["7","7","7","7"]',
        '["69999","69999","69999","69999"]',
    ]
    assert ids[-1] == ids[-2]
