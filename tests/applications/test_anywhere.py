"""Each application runs under every grouping without Spark, on routers and aggregators alone."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from evenkey.aggregators import WORKER, Count, HeavyHitters
from evenkey.applications import Documents, NaiveBayes
from evenkey.core.hashing import hash_strings
from evenkey.groupings import available, parse
from tests.tiers import most_in_soak

WORKERS, SOURCES, EPOCHS = 6, 3, 4
BAYES = NaiveBayes()


@functools.cache
def sent():
    """Return the messages of 600 documents, with their epochs."""
    records = Documents(classes=3, words=400, size=8, length=600).records(0, 600)
    epoch = pa.array(np.arange(600 * 9) * EPOCHS // (600 * 9))
    return BAYES.messages(records, BAYES.start()).append_column("epoch", epoch)


def routed(grouping):
    """Route messages in order, divided over the sources, and return them with their workers."""
    hashes = hash_strings(sent()["key"])
    source = sent()["record"].to_numpy() % SOURCES
    workers = np.empty(len(hashes), dtype=np.int32)
    keys, counts = np.unique(hashes, return_counts=True)
    scheme = parse(grouping)
    for number in range(SOURCES):
        mine = np.flatnonzero(source == number)
        router = scheme.router(WORKERS, number)
        if scheme.given_frequencies:
            router.remember(scheme.plan(keys, counts.astype(np.float64), WORKERS))
        workers[mine] = router.route(hashes[mine], mine / 10.0)
    return sent().append_column(WORKER, pa.array(workers))


def epochs(messages):
    """Split messages by epoch and worker."""
    for epoch in range(EPOCHS):
        here = messages.filter(pa.array(messages["epoch"].to_numpy() == epoch))
        workers = here[WORKER].to_numpy()
        yield [here.filter(pa.array(workers == worker)) for worker in range(WORKERS)]


@pytest.fixture(
    scope="module",
    params=most_in_soak(sorted(available()), 1, slow=["dkg", "planned", "sg", "wchoices"]),
)
def grouping(request):
    return request.param


@pytest.fixture(scope="module")
def held(grouping):
    return list(epochs(routed(grouping)))


@pytest.mark.slow(1)
def test_naive_bayes_learns_the_same_model(grouping, held):
    tally = BAYES.aggregator
    model = BAYES.start()
    for shares in held:
        partials = [tally.partial(share, ["key"]) for share in shares]
        counters = sum(BAYES.counters(partial) for partial in partials)
        merged = tally.merge(pa.concat_tables(partials), ["key"])
        pairs = BAYES.counters(merged)
        # PKG paper, section 2: for K keys, K counters under kg, 2 K under pkg, up to W K under sg.
        assert pairs <= counters <= (parse(grouping).most_workers_of_a_key or WORKERS) * pairs
        model = BAYES.learn(model, tally.finish(merged, ["key"]))
    words = [(key, label) for key, label in zip(*_columns(sent()), strict=True)]
    counts = model.counts.to_pylist()
    assert {(row["word"], row["label"]): row["count"] for row in counts} == Counter(words)


def test_word_count_counts_the_same(held):
    count = Count()
    partials = [count.partial(share, ["key"]) for shares in held for share in shares]
    rows = count.finish(count.merge(pa.concat_tables(partials), ["key"]), ["key"]).to_pylist()
    assert {row["key"]: row["count"] for row in rows} == Counter(_columns(sent())[0])


@pytest.mark.slow(1)
def test_heavy_hitters_stay_within_their_errors(grouping, held):
    hitters = HeavyHitters(10, capacity=40, choices=parse(grouping).most_workers_of_a_key)
    partials = [hitters.partial(share, []) for shares in held for share in shares]
    rows = hitters.finish(hitters.merge(pa.concat_tables(partials), []), []).to_pylist()
    truth = Counter(_columns(sent())[0])
    for row in rows:
        assert row["count"] - row["error"] <= truth[row["key"]] <= row["count"]
        assert row["terms"] <= (hitters.choices or WORKERS)


def _columns(messages):
    return messages["key"].to_pylist(), messages["label"].to_pylist()
