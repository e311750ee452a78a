"""Streams are found by name, and unknown names are errors."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import (
    Bursts,
    CountryHalfSkew,
    CountrySkew,
    Drift,
    Uniform,
    Zipf,
    catalogue,
    generated,
)
from evenkey.papers.data_sets import Cashtags, GraphLookAlike, Lognormal, LookAlike


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("country-skew-r7", CountrySkew(7)),
        ("country-half-skew-r80", CountryHalfSkew(80)),
        ("zipf(z=1.4,keys=100000)", Zipf(1.4, 100_000)),
        ("zipf( keys=10, z=1 )", Zipf(1.0, 10)),
        ("uniform(keys=5)", Uniform(5)),
        ("drift(z=1.2,keys=10,every=3)", Drift(1.2, 10, 3)),
        ("bursts(z=1,keys=9,every=6,burst=2,percent=50)", Bursts(1.0, 9, 6, 2, 50)),
        ("lognormal-2", Lognormal(2)),
        ("wikipedia-like", LookAlike("wikipedia")),
        ("cashtags-like", Cashtags()),
        ("slashdot0902-like", GraphLookAlike("slashdot0902")),
    ],
)
def test_spellings(name, stream):
    assert generated(name) == stream


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        (
            "zpif(z=1,keys=5)",
            r"unknown dataset .*there are: .*cashtags-like, country-half-skew-rN, ",
        ),
        ("country-skew", "country-skew-rN"),
        ("country-skew(percent=80)", "country-skew-rN"),
        ("zipf-r80", "unknown dataset 'zipf-r80'"),
        ("zipf(z=1)", r"needs keys: write zipf\(keys=...\)"),
        ("zipf(z=1,key=5)", "'key' .did you mean 'keys'..; there are: keys, z"),
        ("zipf(z=1,keys=5,seed=3)", "'seed'; there are: keys, z"),
        ("country-skew-r80(percent=9)", "country-skew-r80 takes no parameters"),
        ("wikipedia-like(messages=9)", "wikipedia-like takes no parameters"),
        ("wikipedia-lik", "did you mean 'wikipedia-like'"),
        ("look-alike(like=wikipedia)", "unknown dataset"),
        ("lognormal-3", "unknown dataset 'lognormal-3' .did you mean 'lognormal-"),
        ("zipf(z=a,keys=5)", "z = 'a': must be a number"),
        ("uniform(keys=1.5)", "keys = '1.5': must be a whole number"),
        ("", "cannot be read"),
    ],
)
def test_bad_names_list_what_exists(name, fix):
    with pytest.raises(ConfigurationError, match=fix):
        generated(name)


def test_the_catalogue_describes_every_family():
    for entry in catalogue():
        assert entry.summary
        assert entry.usual_messages >= 1
        name = entry.spelling.replace("rN", "r50").replace("...", "3")
        assert generated(name).length == entry.usual_messages
        assert generated(name).published == entry.published


def test_streams_that_mimic_say_so():
    mimicking = [entry for entry in catalogue() if entry.published is not None]
    assert len(mimicking) == 13
    for entry in mimicking:
        assert entry.summary.startswith("synthetic")


@pytest.mark.parametrize(
    ("make", "fix"),
    [
        (lambda: LookAlike("facebook"), "there are look-alikes of: wikipedia, twitter, "),
        (lambda: Lognormal(3), "lognormal-3: there are lognormal-1 and lognormal-2"),
    ],
)
def test_classes_list_what_exists_too(make, fix):
    with pytest.raises(ConfigurationError, match=fix):
        make()
