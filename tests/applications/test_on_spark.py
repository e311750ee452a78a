"""Applications on Spark: word count and heavy hitters under every grouping, and classification."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import functions as F

from evenkey.applications import (
    ApplicationConfig,
    Documents,
    Models,
    NaiveBayes,
    classify,
    classify_by_words,
    heavy_hitters,
    run,
)
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Zipf
from tests.learn.test_learning import SMALL, groupings, in_one_go

KEYS = Zipf(1.2, 60, messages=1500)
TEXTS = KEYS.texts(KEYS.ids(0, 1500)).to_pylist()
TRUTH = Counter(TEXTS)
STREAM = {"dataset": KEYS.name, "messages": 1500, "rate": 30.0}  # one window


def results(config):
    table = run(config).table
    assert table is not None
    return table.to_pylist()


@pytest.mark.soak
@pytest.mark.classic("the command line's own run")
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("grouping", groupings("pkg"))
def test_heavy_hitters_stay_within_their_errors_under_every_grouping(grouping):
    options = {"application": "heavy-hitters(k=8,capacity=12)", "grouping": grouping}
    rows = results(ApplicationConfig(**STREAM, **options, **SMALL))
    assert [row["rank"] for row in rows] == list(range(1, 9))
    most = {"kg": 1, "pkg": 2}.get(grouping, SMALL["workers"])
    for row in rows:
        assert row["count"] - row["error"] <= TRUTH[row["key"]] <= row["count"]
        assert row["terms"] <= most
    hottest = {key for key, count in TRUTH.items() if count > most * 1500 / 12}
    assert hottest <= {row["key"] for row in rows}


ONCE = ("or", "not", "that", "is", "the", "question")


@pytest.mark.classic("the command line's own run")
@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_word_count_of_a_text_is_exact(tmp_path):
    (tmp_path / "book.txt").write_text("To be, or not to be:\nthat is the question.\n" * 50)
    options = {"application": "wordcount", "input": tmp_path / "book.txt", "grouping": "pkg"}
    rows = results(ApplicationConfig(**options, **SMALL))
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["key"]] += row["count"]
    assert counts == Counter({**dict.fromkeys(ONCE, 50), **dict.fromkeys(("to", "be"), 100)})


def keyed(spark):
    rows = [(key, second / 25) for second, key in enumerate(TEXTS)]
    return spark.createDataFrame(rows, "word string, at double")


@pytest.mark.slow(8)
def test_heavy_hitters_of_a_frame_through_evenkey_and_through_spark(spark):
    ours = heavy_hitters(keyed(spark), "word", 5, workers=3).collect()
    theirs = heavy_hitters(keyed(spark), "word", 5, through="spark").collect()
    for rows in (ours, theirs):
        found = {row["word"]: row["count"] for row in rows}
        assert found == dict(sorted(TRUTH.items(), key=lambda item: (-item[1], item[0]))[:5])
        assert sorted(row["rank"] for row in rows) == [1, 2, 3, 4, 5]
    assert {(row["error"], row["terms"] > 0) for row in ours} == {(0, True)}
    assert {(row["error"], row["terms"]) for row in theirs} == {(None, None)}


@pytest.mark.soak(4)
def test_heavy_hitters_of_windows_through_spark(spark):
    frame = heavy_hitters(keyed(spark), "word", 1, through="spark", time="at", window="30 seconds")
    rows = frame.collect()
    halves = Counter(TEXTS[:750]).most_common(1), Counter(TEXTS[750:]).most_common(1)
    found = sorted((row["window"].start.second, row["word"], row["count"]) for row in rows)
    assert found == [(0, *halves[0][0]), (30, *halves[1][0])]
    with pytest.raises(ConfigurationError, match="through = 'flink'"):
        heavy_hitters(keyed(spark), "word", through="flink")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="needs time"):
        heavy_hitters(keyed(spark), "word", through="spark", window="1 minute")


@pytest.mark.slow(8)
def test_classification_by_words_equals_the_models_prediction(spark):
    stream = Documents(words=200, size=5, own=0.1, length=260)
    model = in_one_go(stream.records(0, 200))
    asked = stream.records(200, 260)
    texts = [*asked["text"].to_pylist(), "", "never seen"]
    expected = [*model.predict(asked).to_pylist(), "class 0", "class 0"]
    df = spark.createDataFrame(list(enumerate(texts)), "id int, text string").repartition(3)
    direct = {row["id"]: row["prediction"] for row in classify(df, model).collect()}
    # The user's columns may have any name except that of the new column.
    for name in ("label", "class"):
        named = classify(df.withColumn(name, F.lit("mine")), model).collect()
        assert {row["id"]: (row[name], row["prediction"]) for row in named} == {
            number: ("mine", answer) for number, answer in direct.items()
        }
    assert direct == dict(enumerate(expected))
    for grouping in ("pkg", "sg"):
        routed = classify_by_words(df, "id", "text", model, grouping=grouping, workers=3)
        answers = {int(row["id"]): row["prediction"] for row in routed.collect()}
        assert answers == direct, grouping


@pytest.mark.slow(6)
def test_streams_are_classified_and_searched_too(spark, tmp_path):
    records = Documents(words=200, size=5, length=60).records(0, 60)
    models = Models(tmp_path / "models", NaiveBayes())
    models.write(1, in_one_go(records))
    rows = [(text, float(second)) for second, text in enumerate(records["text"].to_pylist())]
    for part in (rows[:40], rows[40:]):
        frame = spark.createDataFrame(part, "text string, at double").coalesce(1)
        frame.write.mode("append").json(str(tmp_path / "input"))
    stream = spark.readStream.schema("text string, at double").json(str(tmp_path / "input"))
    classified = rows_of(classify(stream, models), "classified", tmp_path)
    answers = dict(zip(records["text"].to_pylist(), models.read().predict(records), strict=True))
    assert {row["text"]: row["prediction"] for row in classified} == {
        text: label.as_py() for text, label in answers.items()
    }
    # The last window still waits for the watermark; the earlier ones have been emitted.
    found = heavy_hitters(
        stream.withColumn("word", F.explode(F.split("text", " "))),
        "word",
        1,
        through="spark",
        time="at",
        window="20 seconds",
    )
    hits = rows_of(found, "hits", tmp_path)
    words = [word for text, second in rows if second < 20 for word in text.split()]
    first = next(row for row in hits if row["window"].start.second == 0)
    assert (first["word"], first["count"]) == Counter(words).most_common(1)[0]


def rows_of(frame, name, directory):
    """Read a stream to its end, and return its rows."""
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(directory / f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return frame.sparkSession.table(name).collect()
