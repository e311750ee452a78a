"""The options of a run with an application, and the pipeline made from them."""

from __future__ import annotations

from typing import Any

import pytest

from evenkey.applications import APPLICATIONS, ApplicationConfig, Documents, NaiveBayes, parse
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.application import Application
from evenkey.pipeline.learn.labelled_streams import labelled

STREAM = {"dataset": "zipf(z=1,keys=9)"}


def pipeline(**options: Any) -> PipelineConfig:
    resolved = ApplicationConfig(**options).resolved()
    assert isinstance(resolved, PipelineConfig)
    return resolved


def test_without_an_application_it_is_a_plain_pipeline():
    config = ApplicationConfig(**STREAM, workers=3, sink="console")
    assert config.resolved() == PipelineConfig(**STREAM, workers=3, sink="console")


def test_word_count_splits_text_into_words_but_not_other_input(tmp_path):
    (tmp_path / "a.txt").write_text("to be\n")
    (tmp_path / "a.csv").write_text("user\nann\n")
    text = pipeline(application="wordcount", input=tmp_path / "a.txt")
    assert (text.aggregator, text.split) == ("count", "words")
    users = pipeline(application="wordcount", input=tmp_path / "a.csv", key="user")
    assert (users.split, users.key) == (None, "user")
    topic = pipeline(application="wordcount", kafka="127.0.0.1:9092/lines")
    assert topic.split == "words"


@pytest.mark.parametrize(
    ("grouping", "choices"),
    [("kg", ",choices=1"), ("pkg(choices=3)", ",choices=3"), ("sg", ""), ("dkg", "")],
)
def test_heavy_hitters_know_the_number_of_workers_per_key(grouping, choices):
    options = {"application": "heavy-hitters(k=5,capacity=50)", "grouping": grouping}
    assert (
        pipeline(**STREAM, **options).aggregator
        == f"heavy-hitters(k=5,capacity=50{choices},weight=count)"
    )


def test_a_learner_reads_generated_records_by_default():
    config = ApplicationConfig(application="naive-bayes", messages=70, seed=4)
    assert config.dataset == config.resolved().dataset == Documents().name
    stream = labelled(config.dataset, NaiveBayes.streams, messages=70, seed=4)
    assert stream == Documents(length=70, seed=4)
    assert labelled(config.dataset, NaiveBayes.streams) == Documents() == Documents(seed=0)
    other = config.with_options(dataset="documents(classes=3)")
    assert other.dataset == Documents(classes=3).name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"application": "wordcont", **STREAM}, "did you mean 'wordcount'"),
        ({"application": "wordcount(k=2)", **STREAM}, "no parameter 'k'.*; it has: none"),
        ({"application": "heavy-hitters(k=0)", **STREAM}, "heavy-hitters: k = 0"),
        ({"application": "naive-bayes(alpha=x)"}, "alpha = 'x': must be a number"),
        ({"application": "naive-bayes", "aggregator": "count"}, "does not use it"),
        ({"application": "naive-bayes", "key": "user"}, "key = 'user': .* does not use it"),
        ({"application": "naive-bayes", "kafka": "127.0.0.1:9092/a"}, "does not use it"),
        ({"application": "naive-bayes", **STREAM}, "unknown dataset of labelled records"),
        ({"application": "naive-bayes", "dataset": "documents(length=5)"}, "option messages"),
        ({"application": "naive-bayes", "dataset": "documents", "input": "a.csv"}, "both given"),
        ({"application": "wordcount", "label": "folder", **STREAM}, "only applications that learn"),
        ({"application": "wordcount"}, "pass dataset, input or kafka"),
        ({"dataset": "nowhere"}, "unknown dataset 'nowhere'"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(ConfigurationError, match=message):
        ApplicationConfig(**options)


def test_options_that_an_application_sets_are_rejected():
    config = ApplicationConfig(application="wordcount", aggregator="top-k(k=3)", **STREAM)
    with pytest.raises(ConfigurationError, match="application wordcount sets it to 'count'"):
        config.resolved()


def test_labelled_records_have_columns(tmp_path):
    (tmp_path / "a.txt").write_text("to be\n")
    config = ApplicationConfig(application="naive-bayes", input=tmp_path / "a.txt")
    with pytest.raises(ConfigurationError, match="split = 'lines': labelled records have columns"):
        config.check_paths()


def test_names_of_features_may_be_one_text_or_a_list():
    names = [
        ApplicationConfig(application="naive-bayes", features=each).features
        for each in ("x, y", ["x", "y"], ["x,y"])
    ]
    assert names == [("x", "y")] * 3


def test_every_application_is_parsed_from_its_spelling():
    for name, cls in APPLICATIONS.items():
        assert parse(name) == cls()
        assert parse(str(cls())) == cls()
    assert str(parse("naive-bayes(alpha=0.5)")) == "naive-bayes(alpha=0.5)"
    assert parse(NaiveBayes(2.0)) == NaiveBayes(2.0)


def test_an_application_is_spelled_with_the_parameters_that_are_not_the_usual_ones():
    for text in ("heavy-hitters(k=10)", "naive-bayes"):
        application = parse(text)
        assert isinstance(application, Application)
        assert str(application) == text
