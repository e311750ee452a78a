"""Naive Bayes predicts as scikit-learn does, and its counts do not depend on batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.applications import Documents, NaiveBayes
from evenkey.applications.bayes_model import UNIT
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.pipeline.learn.config import LearnConfig
from evenkey.pipeline.learn.models import Models

DOCUMENTS = st.lists(
    st.tuples(st.sampled_from(["x", "y", "z"]), st.lists(st.sampled_from("abcdefgh"), max_size=6)),
    min_size=1,
    max_size=12,
)


def table(documents):
    labels, words = zip(*documents, strict=True)
    texts = [" ".join(each) for each in words]
    return pa.table({"label": pa.array(labels), "text": pa.array(texts)})


def learned(records, bayes, parts=1):
    """Learn a model from records in several epochs."""
    model = bayes.start()
    for part in np.array_split(np.arange(records.num_rows), parts):
        messages = bayes.messages(records.take(pa.array(part)), model)
        tally = bayes.aggregator
        merged = tally.finish(tally.partial(messages, ["key"]), ["key"])
        model = bayes.learn(model, merged)
    return model


def theirs(train, test, alpha):
    """Return scikit-learn's labels, and joint log-likelihoods up to a constant per document."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    vectors = CountVectorizer(analyzer=str.split)
    counts = vectors.fit_transform(train["text"].to_pylist())
    bayes = MultinomialNB(alpha=alpha).fit(counts, train["label"].to_pylist())
    unseen = vectors.transform(test["text"].to_pylist())
    return bayes.predict(unseen).tolist(), bayes.predict_joint_log_proba(unseen)


@pytest.mark.slow(1)
@pytest.mark.parametrize(
    ("stream", "alpha"),
    [
        (Documents(words=2000, length=3000), 1.0),
        (Documents(classes=5, words=500, z=0.8, size=30, own=0.4, length=2000, seed=4), 0.1),
        (Documents(words=300, length=1000, seed=9), 2.5),
    ],
)
def test_predictions_equal_those_of_scikit_learn(stream, alpha):
    half = stream.length // 2
    train, test = stream.records(0, half), stream.records(half, stream.length)
    model = learned(train, NaiveBayes(alpha), parts=4)
    labels, likelihoods = theirs(train, test, alpha)
    assert model.predict(test).to_pylist() == labels
    assert np.allclose(model.scores(test["text"]) * UNIT, likelihoods, rtol=0, atol=1e-8)
    accuracy = np.mean(np.array(labels) == test["label"].to_numpy(zero_copy_only=False))
    assert accuracy > 1.2 * np.mean(np.array(test["label"].to_pylist()) == "class 0")


@pytest.mark.slow(3)
@settings(max_examples=25)  # scikit-learn is slow
@given(DOCUMENTS, st.integers(1, 4), st.sampled_from([0.5, 1.0]))
def test_likelihoods_equal_scikit_learns_for_any_epochs(documents, epochs, alpha):
    records = table(documents)
    if not any(words for _, words in documents):
        return  # scikit-learn rejects an empty vocabulary
    model = learned(records, NaiveBayes(alpha), epochs)
    assert model.to_table() == learned(records, NaiveBayes(alpha)).to_table()
    _, likelihoods = theirs(records, records, alpha)
    assert np.allclose(model.scores(records["text"]) * UNIT, likelihoods, rtol=0, atol=1e-8)


def test_sums_of_units_do_not_depend_on_their_order():
    stream = Documents(words=100, size=40, length=50)
    model = learned(stream.records(0, 50), NaiveBayes())
    forth = stream.records(0, 50)["text"].to_pylist()
    back = [" ".join(reversed(text.split())) for text in forth]
    assert (model.scores(pa.array(forth)) == model.scores(pa.array(back))).all()


def test_unknown_words_are_ignored_and_an_empty_model_predicts_null():
    bayes = NaiveBayes()
    records = pa.table({"label": ["x", "x", "y"], "text": ["a", "a b", "c"]})
    model = learned(records, bayes)
    asked = pa.table({"text": ["never seen", "", "c c never"]})
    assert model.predict(asked).to_pylist() == ["x", "x", "y"]
    assert bayes.start().predict(asked).to_pylist() == [None, None, None]


def test_models_are_numbered_and_found_again(tmp_path):
    bayes = NaiveBayes(0.5)
    models = Models(tmp_path / "models", bayes)
    assert models.read().to_table().num_rows == 0
    first = learned(pa.table({"label": ["x"], "text": ["a"]}), bayes)
    second = learned(pa.table({"label": ["x", "y"], "text": ["a", "b"]}), bayes)
    models.write(1, first)
    models.write(3, second)
    assert models.read(0).to_table().num_rows == 0
    assert models.read(1).to_table() == first.to_table()
    assert models.read().to_table() == second.to_table()
    assert models.read().alpha == 0.5
    with pytest.raises(RunError, match=r"model-00000002\.parquet is gone, and epoch 2 starts from"):
        models.read(2)
    models.store.put(models.name(3), b"cut short")
    with pytest.raises(RunError, match=r"model-00000003\.parquet cannot be read"):
        models.read()


def test_bad_parameters_are_rejected():
    with pytest.raises(ConfigurationError, match="alpha = 0"):
        NaiveBayes(alpha=0)
    config, schema = (
        LearnConfig(dataset="documents"),
        pa.schema([("body", pa.string())]),
    )
    with pytest.raises(ConfigurationError, match=r"needs the option text, .* has: body"):
        NaiveBayes().columns(config, schema)
    for wrong in ({"classes": 1}, {"words": 2}, {"size": 0}, {"own": 2.0}, {"length": 0}):
        with pytest.raises(ConfigurationError, match="documents"):
            Documents(**wrong)


def test_documents_are_a_function_of_their_number():
    stream = Documents(classes=3, words=50, size=3, length=40)
    whole = stream.records(0, 40)
    halves = pa.concat_tables([stream.records(0, 17), stream.records(17, 99)])
    assert whole == halves
    assert set(whole["label"].to_pylist()) == {"class 0", "class 1", "class 2"}
    assert all(len(text.split()) == 3 for text in whole["text"].to_pylist())
    assert whole != Documents(classes=3, words=50, size=3, length=40, seed=1).records(0, 40)


@pytest.mark.parametrize(
    ("own", "hottest"), [(0.0, ["w0", "w0", "w0"]), (1.0, ["w12", "w25", "w37"])]
)
def test_the_own_words_of_a_class_are_shifted(own, hottest):
    records = Documents(classes=3, words=50, size=40, length=100, own=own).records(0, 100)
    texts: dict[str, Counter[str]] = {f"class {number}": Counter() for number in range(3)}
    for record in records.to_pylist():
        texts[record["label"]].update(record["text"].split())
    assert [each.most_common(1)[0][0] for each in texts.values()] == hottest


def test_documents_may_have_one_word():
    texts = Documents(size=1, length=20).records(0, 20)["text"].to_pylist()
    assert {len(each.split()) for each in texts} == {1}
    with pytest.raises(ConfigurationError, match="documents: size = 0: must be at least 1"):
        Documents(size=0)
