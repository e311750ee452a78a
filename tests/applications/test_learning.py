"""Learners on Spark: the same model under every grouping, through a pause, from files."""

from __future__ import annotations

import pytest

from evenkey.applications import ApplicationConfig, Documents, NaiveBayes, run
from evenkey.groupings import available

pytestmark = pytest.mark.usefixtures("spark")

SMALL = {"workers": 3, "sources": 2, "epochs": 2}
RECORDS = Documents(words=200, size=5, length=120).records(0, 120)
# These are told the frequencies of keys before a batch; a stream has none to tell.
GIVEN = {"off-greedy"}


def learned(config, **options):
    return run(config, prepare=False, **options)


def in_one_go(records=RECORDS):
    """The model of all records at once, on no workers."""
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


@pytest.mark.parametrize("grouping", sorted(set(available()) - GIVEN))
def test_the_model_is_the_same_under_every_grouping(grouping):
    report = learned(of_documents(grouping=grouping))
    assert report.model.to_table() == in_one_go().to_table()
    figures = report.to_json()
    assert figures["records"] == 120
    assert figures["messages"] == 120 * 6
    assert [each["accuracy"] is None for each in figures["learned"]] == [True, False]
    # An epoch's counters are pairs of word and class: once under kg, twice at most under pkg.
    for each, half in zip(
        figures["learned"], (RECORDS.slice(0, 60), RECORDS.slice(60)), strict=True
    ):
        pairs = in_one_go(half).counts.num_rows
        most = {"kg": 1, "pkg": 2}.get(grouping, 3)
        assert pairs <= each["counters"] <= most * pairs
