"""Sixty calls have sixty fingerprints, the same in all runs, versions and kinds of sessions."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from evenkey.core.stable_names import stable, stable_path
from tests.spark.sixty_plans import GOLDEN, calls, described, same_calls

WANTED = json.loads(GOLDEN.read_text("utf-8"))


@pytest.mark.parametrize("day", ["2026-11-25", "2027-01-02"])
def test_fingerprints_are_those_of_all_versions_and_kinds_of_sessions(spark, day):
    found = {name: each.fingerprint for name, each in described(spark, calls(spark, day))}
    assert found == WANTED


def test_there_are_sixty_different_fingerprints():
    assert len(WANTED) >= 60
    assert [name for name, count in Counter(WANTED.values()).items() if count > 1] == []


def test_the_same_call_written_differently_has_the_same_fingerprint(spark):
    found = described(spark, same_calls(spark, "2026-11-25"))
    assert [(name, each.fingerprint) for name, each in found] == [
        (name, WANTED[name]) for name, _ in found
    ]


def test_a_description_names_operator_keys_and_what_is_read(spark):
    found = dict(described(spark, calls(spark, "2026-11-25")))
    by_user, cogroup = found["by user"], found["cogroup"]
    assert by_user.operator == "applyInPandas(last)"
    assert by_user.keys == ("user",)
    assert by_user.reads == ("file:/tmp/*/*/clicks",)
    assert found["upper"].keys == ("upper(user)",)
    assert found["computed upper"].keys == ("k",)
    assert cogroup.operator == "cogroup.applyInPandas(both)"
    assert cogroup.keys == ("user", "user")
    assert cogroup.reads == ("file:/tmp/*/*/clicks", "file:/tmp/*/*/orders")
    assert found["left join"].operator == "join LeftOuter"
    assert found["join by condition"].keys == ("(user = who)",)
    assert found["write by two"].keys == ("day, user",)
    assert found["table"].reads == ("spark_catalog.default.evenkey_clicks",)


def test_a_join_without_a_condition_has_no_fingerprint(spark):
    numbers = spark.range(2)
    pairs = iter([("cross", lambda: numbers.join(numbers.withColumnRenamed("id", "n")))])
    assert described(spark, pairs) == [("cross", None)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("clicks_20261125", "clicks_20270102"),
        ("day = '2026-11-25'", "day = '2027-01-02'"),
        ("at > TIMESTAMP '2026-11-25 06:00:00'", "at > TIMESTAMP '2027-01-02 18:30:00.25'"),
        ("run 1764050000", "run 1790001234"),
        ("t_0f8fad5b-d9cb-469f-a165-70867728950e", "t_7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("tmpab12_9xz/x", "tmpzz__1234/x"),
    ],
)
def test_dates_and_temporary_names_are_ignored(one, other):
    assert stable(one) == stable(other) != one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3a://b/clicks/day=2026-11-25/", "s3a://b/clicks/day=2027-01-02"),
        ("file:/b/2026/11/25/clicks", "file:/b/2027/1/2/clicks"),
        ("file:/b/2026/11", "file:/b/2027/01"),
        ("file:/b/2026", "file:/b/2027"),
        ("hdfs://h/b/20261125T0600/x.csv", "hdfs://h/b/20270102T1830/x.csv"),
    ],
)
def test_dates_in_paths_are_ignored(one, other):
    assert stable_path(one) == stable_path(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("id > 5", "id > 6"), ("user = 'ann'", "user = 'bob'"), ("top_100", "top_200"), ("v1", "v2")],
)
def test_other_texts_stay_different(one, other):
    assert stable(one) != stable(other)
