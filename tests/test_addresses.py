"""No password of an address is printed, in any notation and at any place of a text."""

from __future__ import annotations

import pytest

from evenkey.core.addresses import without_password

HIDDEN = [
    ("http://me:pw@host:1/x", "http://me:***@host:1/x"),
    ("http://:pw@host", "http://:***@host"),
    ("http://me:p@w@host", "http://me:***@host"),
    ("http://me:p/w?x#y@host", "http://me:***@host"),
    ("http://me:p w@host", "http://me:***@host"),
    ("s3a://KEY:SE/CR+T=@bucket/p", "s3a://KEY:***@bucket/p"),
    ("me:pw@host:9092/topic", "me:***@host:9092/topic"),
    ("a:1,me:pw@[::1]:2/topic", "a:***@[::1]:2/topic"),
    ("no 'me:pw@host:1/t' there", "no 'me:***@host:1/t' there"),
    ("source = 'http://me:p w@host': it", "source = 'http://me:***@host': it"),
    ("at http://me:pw@a and http://me:pw@b", "at http://me:***@a and http://me:***@b"),
    ("input http:/me:pw@host/x is not there", "input http:/me:***@host/x is not there"),
    ("url: /webhdfs/v1/a?op=OPEN&delegation=pw", "url: /webhdfs/v1/a?op=OPEN&delegation=***"),
    ("http://host/write?db=x&password=pw", "http://host/write?db=x&password=***"),
]


@pytest.mark.parametrize(("text", "shown"), HIDDEN)
def test_passwords_are_hidden(text, shown):
    assert without_password(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://me@host:8080/a",
        "http://host:8080/a@b",
        "kafka://a:9092,b:9092/topic",
        "parquet:data@home",
        "/srv/a:b@c/d",
        "C:\\x@y",
        "file.py:12: in f@g",
    ],
)
def test_what_is_no_password_is_left_alone(text):
    assert without_password(text) == text
