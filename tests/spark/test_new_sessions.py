"""Each session that a builder returns first is passed on, until the context ends."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from evenkey.spark.intercepted.new_sessions import new_sessions

BUILDER: Any = SparkSession.Builder


@pytest.fixture
def made(monkeypatch):
    """Let builders return the elements of this list in place of sessions."""
    sessions: list[object] = []
    monkeypatch.setattr(BUILDER, "getOrCreate", lambda _: sessions[-1])
    return sessions


def test_each_session_is_passed_once(made):
    plain = BUILDER.getOrCreate
    begun: list[object] = []
    one, other = object(), object()
    with new_sessions(begun.append):
        for each in (one, one, other, one):
            made.append(each)
            assert BUILDER().getOrCreate() is each
    assert begun == [one, other]
    assert BUILDER.getOrCreate is plain
    made.append(object())
    BUILDER().getOrCreate()
    assert len(begun) == 2


def test_the_builder_is_restored_after_an_error(made):
    plain = BUILDER.getOrCreate

    def refuse(_):
        raise LookupError

    made.append(object())
    with pytest.raises(LookupError), new_sessions(refuse):
        BUILDER().getOrCreate()
    assert BUILDER.getOrCreate is plain


@pytest.mark.usefixtures("made")
def test_a_method_that_other_code_replaced_since_stays():
    def theirs(_):
        return None

    with new_sessions(lambda _: None):
        BUILDER.getOrCreate = theirs
    assert BUILDER.getOrCreate is theirs
