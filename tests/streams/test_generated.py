"""Properties of all generated streams, which depend only on name, seed and offset."""

from __future__ import annotations

import pickle
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.streams import generated

NAMES = [
    "country-skew-r0",
    "country-skew-r80",
    "country-half-skew-r80",
    "zipf(z=1.4,keys=1000)",
    "uniform(keys=50)",
    "drift(z=1.2,keys=100,every=7)",
    "bursts(z=1.2,keys=100,every=30,burst=10,percent=50)",
    "lognormal-2",
    "twitter-ticker-like",
    "cashtags-like",
    "slashdot0811-like",
    "wikipedia-pageviews-by-lang-like",
]
LENGTH = 300
every_stream = pytest.mark.parametrize("name", NAMES)


def make(name, **options):
    return generated(name, **{"messages": LENGTH, "seed": 5, **options})


def values(batch):
    columns = [getattr(batch, each).tolist() for each in ("ids", "keys", "counts", "times")]
    return columns if batch.senders is None else [*columns, batch.senders.tolist()]


@pytest.mark.slow(1)
@every_stream
@given(st.lists(st.integers(0, LENGTH + 50), min_size=3, max_size=3))
def test_any_cut_gives_the_same_messages(name, offsets):
    first, middle, last = sorted(offsets)
    stream = make(name)
    parts = values(stream.batch(first, middle)), values(stream.batch(middle, last))
    assert values(stream.batch(first, last)) == [
        one + other for one, other in zip(*parts, strict=True)
    ]


@every_stream
def test_batches_are_the_whole_stream(name):
    stream = make(name)
    parts = [values(batch) for batch in stream.batches(size=70)]
    assert [len(column) for part in parts for column in part] == [
        length for length in (70, 70, 70, 70, 20) for _ in parts[0]
    ]
    whole = [list(chain(*column)) for column in zip(*parts, strict=True)]
    assert whole == values(stream.batch(0, LENGTH))


@every_stream
def test_a_pickled_stream_gives_the_same(name):
    stream = make(name)
    before = values(stream.batch(0, LENGTH))
    packed = pickle.dumps(stream)
    assert len(packed) < 500
    copy = pickle.loads(packed)
    assert copy == stream
    assert values(copy.batch(0, LENGTH)) == before


@every_stream
def test_its_name_spells_it(name):
    assert make(name).name == name
    assert make(make(name).name) == make(name)


@every_stream
def test_another_seed_is_another_stream(name):
    assert values(make(name).batch(0, LENGTH)) != values(make(name, seed=6).batch(0, LENGTH))


@every_stream
def test_columns(name):
    stream = make(name)
    batch = stream.batch(10, 110)
    dtypes = [getattr(batch, each).dtype for each in ("ids", "keys", "counts", "times")]
    assert dtypes == [np.int64, np.uint64, np.int64, np.float64]
    assert 0 <= batch.ids.min() <= batch.ids.max() < stream.key_count
    assert batch.keys.tolist() == hash_strings(stream.texts(batch.ids)).tolist()
    assert (set(batch.counts) != {1}) == stream.weighs
    assert batch.counts.min() >= 1
    assert stream.ids(10, 110).tolist() == batch.ids.tolist()


@every_stream
def test_beyond_its_end_there_is_nothing(name):
    stream = make(name)
    assert len(stream.batch(LENGTH - 1, LENGTH + 5).ids) == 1
    assert len(stream.batch(LENGTH + 3, LENGTH + 5).ids) == 0


def test_times_follow_the_rate():
    assert make("uniform(keys=3)", rate=4.0).batch(6, 9).times.tolist() == [1.5, 1.75, 2.0]
    assert make("uniform(keys=3)", messages=800).batch(799, 800).times.tolist() == [399.5]


def test_usual_lengths():
    assert generated("country-skew-r80").length == 10_000_000
    assert generated("uniform(keys=3)").length == 1_000_000


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"messages": 0}, "messages = 0: must be at least 1 message"),
        ({"messages": -1}, "messages = -1"),
        ({"rate": 0.0}, "rate = 0.0: must be above 0"),
        ({"rate": float("nan")}, "rate = nan"),
        ({"rate": float("inf")}, "rate = inf"),
    ],
)
def test_bad_lengths_and_rates(options, fix):
    with pytest.raises(ConfigurationError, match=fix):
        make("country-skew-r80", **options)
