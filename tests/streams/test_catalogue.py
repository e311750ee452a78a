"""Streams by name, and what a name that is none gives."""

from __future__ import annotations

import pytest

from evenkey.errors import ConfigurationError
from evenkey.streams import CountryHalfSkew, CountrySkew, Drift, Uniform, Zipf, catalogue, generated


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("country-skew-r7", CountrySkew(7)),
        ("country-half-skew-r80", CountryHalfSkew(80)),
        ("zipf(z=1.4,keys=100000)", Zipf(1.4, 100_000)),
        ("zipf( keys=10, z=1 )", Zipf(1.0, 10)),
        ("uniform(keys=5)", Uniform(5)),
        ("drift(z=1.2,keys=10,every=3)", Drift(1.2, 10, 3)),
    ],
)
def test_spellings(name, stream):
    assert generated(name) == stream


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("zpif(z=1,keys=5)", r"unknown dataset .*there are: country-half-skew-rN, country-skew-rN"),
        ("country-skew", "country-skew-rN"),
        ("country-skew(percent=80)", "country-skew-rN"),
        ("zipf-r80", "unknown dataset 'zipf-r80'"),
        ("zipf(z=1)", r"needs keys: write zipf\(keys=...\)"),
        ("zipf(z=1,key=5)", "'key' .did you mean 'keys'..; there are: keys, z"),
        ("zipf(z=1,keys=5,seed=3)", "'seed'; there are: keys, z"),
        ("country-skew-r80(percent=9)", "country-skew-r80 takes no parameters"),
        ("zipf(z=a,keys=5)", "z = 'a': must be a number"),
        ("uniform(keys=1.5)", "keys = '1.5': must be a whole number"),
        ("", "cannot be read"),
    ],
)
def test_bad_names_list_what_exists(name, mend):
    with pytest.raises(ConfigurationError, match=mend):
        generated(name)


def test_the_catalogue_describes_every_family():
    for entry in catalogue():
        assert entry.summary
        assert entry.usual_messages >= 1
        name = entry.spelling.replace("rN", "r50").replace("...", "3")
        assert generated(name).usual_messages == entry.usual_messages
