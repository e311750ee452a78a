"""Look-alikes have the published messages, keys and top-key share of the real data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.hashing import hash_strings
from evenkey.core.streams import catalogue, generated
from evenkey.papers.data_sets import Lognormal, LookAlike, RecordLookAlike
from evenkey.papers.data_sets.law import harmonic, law_of, occurring
from tests.streams import naive

GOLDEN = json.loads((Path(__file__).parents[1] / "streams" / "golden.json").read_text())
MIMICKING = [entry.spelling for entry in catalogue() if entry.published is not None]
PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text("utf-8")
CHEAP = ["cashtags-like", "slashdot0811-like", "slashdot0902-like", "twitter-ticker-like"]


@given(st.integers(1, 300), st.floats(0, 3))
def test_harmonic_numbers(keys, exponent):
    assert harmonic(keys, exponent) == pytest.approx(naive.harmonic(keys, exponent), rel=1e-12)


@given(st.integers(100, 2000), st.integers(1, 10_000), st.floats(0.3, 2))
def test_keys_that_occur(keys, messages, exponent):
    top = 1 / naive.harmonic(keys, exponent)
    expected = naive.occurring(messages, top, keys, exponent)
    assert occurring(messages, top, keys, exponent) == pytest.approx(expected, rel=1e-3, abs=0.2)


@pytest.mark.parametrize(
    ("messages", "keys", "top"),
    [(1000, 20, 0.2), (22_000_000, 2_900_000, 0.0932), (1_200_000_000, 31_000_000, 0.0267)],
)
def test_the_law_has_the_top_share_and_lets_the_keys_occur(messages, keys, top):
    law = law_of(messages, keys, top)
    assert law.keys >= keys
    assert 1 / harmonic(law.keys, law.exponent) == pytest.approx(top, rel=1e-6)
    assert occurring(messages, top, law.keys, law.exponent) == pytest.approx(keys, rel=0.01)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_first_messages(name):
    assert generated(name).ids(0, 12).tolist() == GOLDEN[name]


@pytest.mark.parametrize("name", MIMICKING)
def test_length_and_top_share(name):
    stream = generated(name)
    published = stream.published
    assert published is not None
    records = stream.records.length if isinstance(stream, RecordLookAlike) else None
    assert stream.length == (records or published.messages)
    if isinstance(stream, Lognormal):
        top = stream.probabilities().max()
    elif not isinstance(stream, LookAlike):
        raise TypeError(name)
    elif name in ("cashtags-like", "twitter-election-like"):
        weights = stream.probabilities()
        top = weights[0:20:5].mean() if name == "cashtags-like" else weights[0]
        assert weights.max() == weights[0]
    else:  # by the formula, because computing millions of weights takes seconds
        top = 1 / harmonic(stream.law.keys, stream.law.exponent)
    assert 100 * top == pytest.approx(published.top_percent, abs=0.005)


def test_the_page_states_the_published_figures_of_all_streams():
    rows = re.findall(
        r"\| `(.+?)` \|[^|]+\| ([\d,]+).*? \| ([\d,]+|not published) \| ([\d.]+)", PAGE
    )
    found = {}
    for name in MIMICKING:
        stated = generated(name).published
        assert stated is not None
        keys = "not published" if stated.keys is None else f"{stated.keys:,}"
        found[name] = (f"{stated.messages:,}", keys, f"{stated.top_percent:g}")
    assert {name: tuple(stated) for name, *stated in rows} == found


@pytest.mark.parametrize(
    ("name", "records", "keys"),
    [
        ("wikipedia-pageviews-by-lang-like", 130_000_000, 300),
        ("wikipedia-clickstream-like", 25_000_000, 3_000_000),
    ],
)
def test_streams_of_records_have_the_records_that_the_page_states(name, records, keys):
    stream: Any = generated(name)
    assert (stream.length, stream.key_count) == (records, keys)
    assert f"`{name}`" in PAGE
    assert f"{records:,}" in PAGE


@pytest.mark.parametrize("name", CHEAP)
def test_samples_have_the_published_keys_and_top_share(name):
    stream = generated(name)
    assert stream.published is not None
    counts = np.bincount(stream.ids(0, stream.length))
    share = stream.published.top_percent / 100
    deviation = np.sqrt(share * (1 - share) / stream.length)
    assert counts.max() / stream.length == pytest.approx(share, abs=5 * deviation)
    if stream.published.keys is not None:
        assert np.count_nonzero(counts) == pytest.approx(stream.published.keys, rel=0.01)


def test_the_election_has_the_published_cost_of_shuffling():
    """DistCost of shuffle grouping on 10 workers is 2.4491 in the DKG paper, table 3."""
    stream = LookAlike("twitter-election")
    counts = stream.length * stream.probabilities()
    workers = 10 * -np.expm1(-counts / 10)
    cost = workers.sum() / -np.expm1(-counts).sum()
    assert cost == pytest.approx(2.4491, rel=0.02)


@pytest.mark.parametrize(("number", "keys"), [(1, 16_379), (2, 1_097)])
def test_lognormal(number, keys):
    stream = Lognormal(number)
    mu, sigma = ((1.789, 2.366), (2.245, 1.133))[number - 1]
    shares = stream.probabilities()
    some = [0, 1, 2, 3, 10, 100, 1000]
    expected = [naive.lognormal_share(key, mu, sigma) for key in some]
    assert shares[some] == pytest.approx(expected, abs=1e-6)
    assert -np.expm1(-stream.length * shares).sum() == pytest.approx(keys, abs=1)
    assert stream.key_count == len(shares)


def test_the_hot_cashtags_change_from_week_to_week():
    stream = generated("cashtags-like")
    weeks = np.split(stream.ids(0, stream.length), 4)
    hot = [np.argsort(-np.bincount(week, minlength=2900))[:5].tolist() for week in weeks]
    assert hot == [[5 * week + rank for rank in range(5)] for week in range(4)]


def test_cashtags_by_their_definition():
    stream = generated("cashtags-like", messages=999)
    ranks = LookAlike._ids(stream, 0, 999).tolist()  # type: ignore[arg-type]
    expected = [naive.in_week(rank, 4 * i // 999) for i, rank in enumerate(ranks)]
    assert stream.ids(0, 999).tolist() == expected


@pytest.mark.slow(1)
@pytest.mark.parametrize(
    ("name", "records_percent"),
    [("wikipedia-clickstream-like", 0.045), ("wikipedia-pageviews-by-lang-like", 21.0)],
)
def test_weights_of_records_have_the_published_figures(name, records_percent):
    """The hot key has the published share of the weights, and far fewer of the records."""
    stream = generated(name, messages=2_000_000)
    assert isinstance(stream, RecordLookAlike)
    batch = stream.batch(0, stream.length)
    weights, records = np.bincount(batch.ids, batch.counts), np.bincount(batch.ids)
    published = stream.published
    assert batch.counts.min() >= 1
    assert 100 * weights[0] / weights.sum() == pytest.approx(published.top_percent, rel=0.05)
    assert 100 * records[0] / len(batch.ids) == pytest.approx(records_percent, rel=0.05)
    total = weights.sum() / stream.length * stream.records.length
    assert total == pytest.approx(published.messages, rel=0.05)
    alike = [np.count_nonzero(batch.counts[batch.ids == key] == 1) for key in (0, 5)]
    assert alike[0] < records[0] / 2
    assert len(set(batch.counts[batch.ids == 5].tolist())) > 5


def test_graphs_have_senders():
    stream = generated("slashdot0811-like", messages=50_000)
    batch = stream.batch(0, stream.length)
    assert batch.senders is not None
    assert batch.senders.dtype == np.uint64
    hottest = hash_strings(["0"])[0]
    for vertices in (batch.keys, batch.senders):  # in-degrees and out-degrees are equally skewed
        assert np.mean(vertices == hottest) == pytest.approx(0.0328, abs=0.004)
    assert np.mean((batch.keys == hottest) & (batch.senders == hottest)) < 0.003
    assert generated("twitter-ticker-like", messages=5).batch(0, 5).senders is None
