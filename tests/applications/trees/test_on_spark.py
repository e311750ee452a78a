"""Decision trees on Spark equal that of one process: in streams, in batches, after a pause."""

from __future__ import annotations

import csv

import pyarrow.parquet as pq
import pytest

from evenkey.applications import (
    ApplicationConfig,
    Clusters,
    DecisionTree,
    InProcess,
    classify,
    rejected_records,
    run,
    train,
)
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.learn import LearnConfig, LearningReport
from evenkey.pipeline.learn.kept_records import keep_records
from tests.pausing import when_running

pytestmark = pytest.mark.usefixtures("spark")

LEARNER = DecisionTree(max_depth=2, min_leaf=2)
STREAM = Clusters(features=3, classes=2, length=180)
"""An epoch has so few records that 64-bin histograms are exact under any grouping."""
RECORDS = STREAM.records(0, 180)
EPOCHS = [RECORDS.slice(start, 60) for start in (0, 60, 120)]
OPTIONS = {"application": str(LEARNER), "workers": 3, "sources": 2, "epochs": 3}


def in_process(epochs):
    return InProcess(LEARNER, "kg", workers=3).train(epochs)


def is_same(model, other):
    return model.to_table().equals(other.to_table(), check_metadata=True)


@pytest.mark.soak(8)
@pytest.mark.classic("the command line's own run")
def test_a_paused_run_continues_from_the_model_of_the_previous_epoch(tmp_path):
    options = {**OPTIONS, "dataset": STREAM.name, "messages": 180, "grouping": "pkg"}
    config = ApplicationConfig(**options, output=tmp_path / "out")
    paused = tmp_path / "out" / "state" / "paused"
    first = run(config, on_progress=when_running(paused))
    assert not first.finished
    report = run(config)
    assert isinstance(report, LearningReport)
    assert report.finished
    trained = in_process(EPOCHS)
    assert trained.model.depth == 2
    assert is_same(report.model, trained.model)
    cells = trained.counters.sum(axis=1)
    for learned, least in zip(report.learned, cells, strict=True):
        assert least <= sum(learned.counters) <= 2 * least
    assert report.to_json()["learned"][2]["accuracy"] > 0.6


@pytest.mark.parametrize("features", [None, "x,y,z"])
def test_columns_of_a_file_become_features(tmp_path, features):
    path, target = tmp_path / "points.csv", tmp_path / "kept.parquet"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "kind", "name", "y", "z"])
        for row in RECORDS.to_pylist():
            x, y, z = row["features"]
            writer.writerow([x, row["label"], "text", y, z])
        writer.writerow([1, "class 0", "text", "inf", 1])
    chosen = {} if features is None else {"features": features}
    config = LearnConfig(input=path, label="kind", **chosen)
    kept = keep_records(config, LEARNER, target, tmp_path)
    assert kept.rejected["reason"].to_pylist() == ["y is not finite"]
    assert pq.read_table(target).to_pylist() == RECORDS.to_pylist()
    path.write_text("name,kind\nann,x\n")
    with pytest.raises(
        ConfigurationError, match="none of the input's columns is numeric: name, kind"
    ):
        keep_records(config.with_options(features=()), LEARNER, target, tmp_path)


@pytest.mark.slow(3)
def test_rows_that_cannot_be_learned_from_are_skipped_and_reported(spark, caplog):
    rows = [tuple(row.values()) for row in RECORDS.to_pylist()]
    nan, infinity = float("nan"), float("inf")
    bad = [
        ("class 0", None, "features is null"),
        ("class 0", [0.5, nan, 0.5], "a number of features is not finite"),
        ("class 1", [-infinity, 0.5, 0.5], "a number of features is not finite"),
        ("class 1", [0.5, None, 0.5], "a number of features is null"),
        (None, [0.5, 0.5, 0.5], "label is null"),
        ("", [0.5, 0.5, 0.5], "the label is empty"),
    ]
    schema = "Label string, features array<double>"
    df = spark.createDataFrame([*rows, *(each[:2] for each in bad)], schema).repartition(3)
    assert is_same(train(df, LEARNER, workers=3), in_process([RECORDS]).model)
    assert "6 records are left out" in caplog.text
    reasons = [row["reason"] for row in rejected_records(df, LEARNER).collect()]
    assert sorted(reasons) == sorted(each[2] for each in bad)
    with pytest.raises(ConfigurationError, match="'features' is of type string; it must be array"):
        train(df.withColumn("features", df["Label"]), LEARNER)


@pytest.mark.slow(7)
def test_a_batch_is_read_in_several_passes_and_classified(spark):
    rows = [tuple(row.values()) for row in RECORDS.to_pylist()]
    schema = "label string, features array<double>"
    df = spark.createDataFrame([*rows, ("class 0", None)], schema).repartition(2)
    model = train(df, LEARNER, grouping="sg", workers=3, passes=2)
    assert is_same(model, in_process([RECORDS] * 2).model)
    judged = classify(df, model).collect()
    points = [tuple(point) for point in RECORDS["features"].to_pylist()]
    label = dict(zip(points, model.predict(RECORDS).to_pylist(), strict=True))
    assert {row["prediction"] for row in judged if row["features"] is None} == {None}
    known = [row for row in judged if row["features"] is not None]
    assert [row["prediction"] for row in known] == [label[tuple(row["features"])] for row in known]
    with pytest.raises(ConfigurationError, match="passes = 0"):
        train(df, LEARNER, passes=0)
    with pytest.raises(ConfigurationError, match="no column 'features'"):
        train(df.select("label"), LEARNER)
    with pytest.raises(ConfigurationError, match="reads batches"):
        train(spark.readStream.format("rate").load(), LEARNER)
