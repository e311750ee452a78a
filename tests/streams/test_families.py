"""The keys of each family of streams follow the documented distribution."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Bursts, Drift, Uniform, Zipf, generated
from evenkey.core.streams.country import HOT_COUNTRY, countries

MESSAGES = 200_000


def shares(stream, start=0, stop=MESSAGES):
    return np.bincount(stream.ids(start, stop), minlength=stream.key_count) / (stop - start)


def close(found, expected):
    """Check that each share is within five standard deviations of its expectation."""
    deviations = np.sqrt(np.maximum(expected * (1 - expected), 1e-9) / MESSAGES)
    return bool((np.abs(found - expected) < 5 * deviations + 1e-9).all())


def country_shares(percent):
    expected = np.full(204, (1 - percent / 100) / 204)
    expected[countries().index(HOT_COUNTRY)] += percent / 100
    return expected


def test_there_are_204_countries():
    assert len(set(countries())) == 204
    assert list(countries()) == sorted(countries())
    assert all(name == name.strip() and name for name in countries())


@pytest.mark.parametrize("percent", [0, 37, 80, 100])
def test_country_skew(percent):
    stream = generated(f"country-skew-r{percent}", messages=MESSAGES)
    assert close(shares(stream), country_shares(percent))


def test_country_half_skew():
    stream = generated("country-half-skew-r80", messages=2 * MESSAGES)
    assert close(shares(stream), country_shares(80))
    assert close(shares(stream, MESSAGES, 2 * MESSAGES), country_shares(0))
    hot = countries().index(HOT_COUNTRY)
    certain = generated("country-half-skew-r100", messages=1001)
    assert (certain.ids(0, 500) == hot).all()
    assert not (certain.ids(500, 1001) == hot).all()


@pytest.mark.parametrize("percent", [101, 1000])
def test_country_skew_beyond_all(percent):
    with pytest.raises(ConfigurationError, match="must be r0 to r100"):
        generated(f"country-skew-r{percent}")


@pytest.mark.parametrize("z", [0.0, 1.0, 2.0])
def test_zipf(z):
    stream = Zipf(z=z, keys=500, messages=MESSAGES)
    expected = np.arange(1, 501) ** -z
    expected /= expected.sum()
    assert np.allclose(stream.probabilities(), expected)
    assert close(shares(stream), expected)


def test_uniform():
    stream = Uniform(keys=300, messages=MESSAGES)
    assert close(shares(stream), np.full(300, 1 / 300))


def test_number_streams_spell_their_keys_in_decimals():
    assert Zipf(z=1.0, keys=2000).texts(np.array([0, 1999])).to_pylist() == ["0", "1999"]


@pytest.mark.parametrize("keys", [1, 2, 7, 10, 7919])
def test_drift_changes_its_hot_key_each_period(keys):
    stream = Drift(z=30.0, keys=keys, every=3, messages=3 * keys)  # practically one key per period
    hottest = stream.ids(0, 3 * keys)[::3]
    assert sorted(hottest) == list(range(keys))
    assert (stream.ids(0, 3 * keys) == np.repeat(hottest, 3)).all()


def test_drift_deals_all_ranks_anew():
    stream = Drift(z=1.2, keys=100, every=MESSAGES, messages=2 * MESSAGES)
    zipf = np.sort(Zipf(z=1.2, keys=100).probabilities())
    periods = shares(stream), shares(stream, MESSAGES, 2 * MESSAGES)
    for found in periods:
        assert np.allclose(np.sort(found), zipf, atol=2e-3)
    hot = [set(np.argsort(found)[-10:].tolist()) for found in periods]
    assert len(hot[0] & hot[1]) < 5


def test_a_burst_gives_one_other_key_its_share():
    keys, every, length = 1000, 2 * MESSAGES, MESSAGES
    stream = Bursts(z=1.0, keys=keys, every=every, burst=length, percent=40, messages=2 * every)
    zipf, hot = Zipf(z=1.0, keys=keys).probabilities(), []
    for start in (0, every):
        assert close(shares(stream, start, start + MESSAGES), zipf)
        found = shares(stream, start + MESSAGES, start + every)
        hot.append(int((found - 0.6 * zipf).argmax()))
        assert close(found, 0.6 * zipf + 0.4 * (np.arange(keys) == hot[-1]))
    assert hot[0] != hot[1]


def test_bursts_begin_and_end_where_they_should():
    stream = Bursts(z=0.0, keys=100_000, every=10, burst=3, percent=100, messages=40)
    ids = stream.ids(0, 40).reshape(4, 10)
    assert (ids[:, 7:] == ids[:, 7:8]).all()
    # With so many keys, no key comes twice except in a burst.
    assert len(np.unique(ids)) == 4 * 8


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("bursts(z=1,keys=5,every=4,burst=5,percent=1)", "burst = 5: must be 1 to 4 messages"),
        ("bursts(z=1,keys=5,every=4,burst=4,percent=101)", "percent = 101: must be from 0 to 100"),
        ("zipf(z=-1,keys=5)", "z = -1.0: must be a number of at least 0"),
        ("zipf(z=nan,keys=5)", "z = nan"),
        ("zipf(z=1,keys=0)", "keys = 0: there must be 1 to 2147483647 keys"),
        ("uniform(keys=2147483648)", "keys = 2147483648"),
        ("drift(z=1,keys=5,every=0)", "every = 0: must be at least 1 message"),
    ],
)
def test_parameters_out_of_range(name, fix):
    with pytest.raises(ConfigurationError, match=fix):
        generated(name)
