"""Learners on Spark: the same model under every grouping, after a pause, from files."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest

from evenkey import run
from evenkey.applications import ApplicationConfig, Documents, NaiveBayes
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import available
from evenkey.pipeline.learn.kept_records import keep_records
from evenkey.pipeline.learn.models import Models
from tests.pausing import when_running
from tests.tiers import most_in_soak

pytestmark = pytest.mark.usefixtures("spark")

SMALL = {"workers": 3, "sources": 2, "epochs": 2, "aggregators": 1}
RECORDS = Documents(words=200, size=5, length=120).records(0, 120)


def groupings(*quick):
    """Return all groupings that route streams; those not in `quick` are marked for long runs.

    Groupings that need frequencies are left out. test_anywhere.py runs all groupings without Spark.
    """
    return [
        grouping if grouping in quick else pytest.param(grouping, marks=pytest.mark.soak)
        for grouping, each in sorted(available().items())
        if not each.given_frequencies
    ]


def learned(config, **options):
    return run(config, **options)


def in_one_go(records=RECORDS):
    """Learn the model from all records in one step, without workers."""
    bayes = NaiveBayes()
    messages = bayes.messages(records, bayes.start())
    tally = bayes.aggregator
    merged = tally.finish(tally.partial(messages, ["key"]), ["key"])
    return bayes.learn(bayes.start(), merged)


def of_documents(**options):
    return ApplicationConfig(
        application="naive-bayes",
        dataset="documents(words=200,size=5)",
        messages=120,
        **{**SMALL, **options},
    )


@pytest.mark.slow(4)
@pytest.mark.parametrize("grouping", groupings("dkg"))
def test_the_model_is_the_same_under_every_grouping(grouping):
    report = learned(of_documents(grouping=grouping))
    assert report.model.to_table() == in_one_go().to_table()
    figures = report.to_json()
    assert figures["records"] == 120
    assert figures["messages"] == 120 * 6
    assert [each["accuracy"] is None for each in figures["learned"]] == [True, False]
    # A counter is a pair of word and class; it is on one worker under kg, on at most two under pkg.
    for each, half in zip(
        figures["learned"], (RECORDS.slice(0, 60), RECORDS.slice(60)), strict=True
    ):
        pairs = in_one_go(half).counts.num_rows
        most = {"kg": 1, "pkg": 2}.get(grouping, 3)
        assert pairs <= each["counters"] <= most * pairs


@pytest.fixture
def mail(tmp_path):
    """Write the records to CSV: texts with line ends and commas, and two bad rows."""
    path = tmp_path / "mail.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "folder", "body"])
        for number, row in enumerate(RECORDS.to_pylist()):
            writer.writerow([number, row["label"], row["text"].replace(" ", ",\n", 1)])
            if number in (10, 100):
                writer.writerow([number, "", "lost"])
    return path


def of_file(path, **options):
    given = {"application": "naive-bayes", "input": path, "label": "folder", "text": "body"}
    return ApplicationConfig(**given, grouping="pkg", **{**SMALL, **options})


@pytest.mark.slow(4)
def test_a_paused_run_continues_and_learns_the_same(mail, tmp_path):
    config = of_file(mail, output=tmp_path / "out", epochs=3)
    paused = tmp_path / "out" / "state" / "paused"
    first = learned(config, on_progress=when_running(paused))
    assert not first.finished
    assert 0 < first.to_json()["records"] < 120
    mail.unlink()
    with pytest.raises(ConfigurationError, match="is not there"):
        config.check_paths()
    # Its records are stored beside the checkpoint.
    mail.touch()
    mail.write_text("number,folder,body\n")
    # A different number of routers and workers does not change the model either.
    report = learned(config.with_options(workers=5, sources=3, grouping="dkg"))
    assert report.finished
    assert report.model.to_table() == in_one_go().to_table()
    figures = report.to_json()
    assert (figures["records"], figures["lines"], figures["rejected"]) == (120, 122, 2)
    assert figures["output"]["model"].endswith("models/model-00000003.parquet")
    models = Models(tmp_path / "out" / "models", NaiveBayes())
    assert models.numbers() == [1, 2, 3]
    assert models.read(1).to_table() == in_one_go(RECORDS.slice(0, 40)).to_table()
    dead_letters = report.dead_letters / "epoch=00000000" / "part-00000.parquet"
    assert pq.read_table(dead_letters, partitioning=None).to_pylist() == [
        {"position": at, "line": line, "reason": "the label is empty"}
        for at, line in (
            (11, "{'body': 'lost', 'folder': ''}"),
            (102, "{'body': 'lost', 'folder': ''}"),
        )
    ]


@pytest.mark.slow(4)
@pytest.mark.parametrize("suffix", most_in_soak([".jsonl", ".parquet"], 4, slow=[".parquet"]))
def test_json_and_parquet_give_the_same_records(tmp_path, suffix):
    path = tmp_path / f"mail{suffix}"
    table = RECORDS.rename_columns(["folder", "body"])
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    target = tmp_path / "kept.parquet"
    kept = keep_records(of_file(path, messages=100).resolved(), NaiveBayes(), target, tmp_path)
    assert (kept.rows, kept.rejected.num_rows) == (100, 0)
    assert pq.read_table(target) == RECORDS.slice(0, 100)


@pytest.mark.slow(0.5)
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("folder,body\nx,y\n", {"label": None}, "need the option label"),
        ("folder,body\nx,y\n", {"label": "nope"}, "no column 'nope'; it has: folder, body"),
        ("folder,body\nx,y\n", {"text": None}, "naive-bayes needs the option text"),
        (
            "folder,body\n,y\n",
            {},
            "no valid record; records read: 1; first error: the label is empty",
        ),
        ("folder,body\nx,y,z\n", {}, "records read: 1; first error: the record's number of fields"),
        ("", {}, "has no column 'body'; it has: "),
    ],
)
def test_files_that_cannot_be_learned_from_are_rejected(tmp_path, content, options, message):
    path = tmp_path / "mail.csv"
    path.write_text(content)
    config = of_file(path).with_options(**options)
    with pytest.raises(ConfigurationError, match=message):
        keep_records(config.resolved(), NaiveBayes(), tmp_path / "kept.parquet", tmp_path)
