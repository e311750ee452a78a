"""A store gets its settings from the session."""

from __future__ import annotations

import pickle

import pytest

from evenkey.core.stores import LocalStore, store_at
from evenkey.spark import store_of
from evenkey.spark.plans.places import tables_of
from evenkey.spark.sessions.access import is_remote


@pytest.fixture
def settled(session):
    own = session.newSession()
    own.conf.set("spark.hadoop.fs.s3a.endpoint", "http://127.0.0.1:1")
    own.conf.set("spark.hadoop.fs.s3a.secret.key", "a-secret-of-tests")
    own.conf.set("spark.hadoop.fs.azure.account.key.a", "a-key-of-azure")
    return own


def test_settings_of_the_session_travel_with_the_store(settled):
    store = store_of(settled, "s3a://bucket/state")
    settings = {"fs.s3a.endpoint": "http://127.0.0.1:1"}
    if not is_remote(settled):  # a Connect server shows its clients no secrets
        settings["fs.s3a.secret.key"] = "a-secret-of-tests"
    assert store == pickle.loads(pickle.dumps(store)) == store_at("s3a://bucket/state", settings)
    assert store != store_at("s3a://bucket/state")


def test_a_path_and_a_store_need_none(settled, tmp_path):
    store = store_of(settled, tmp_path)
    assert store == LocalStore(tmp_path)
    assert store_of(settled, store) is store


def test_tables_of_a_relative_state_are_where_the_program_runs(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables, mark = tables_of(session, "state", "dkg", 4)
    assert tables.store == mark.store == LocalStore(tmp_path / "state")


def test_what_the_session_does_not_show_may_be_passed(settled):
    store = store_of(settled, "s3a://bucket/state", {"fs.s3a.secret.key": "another"})
    settings = {"fs.s3a.endpoint": "http://127.0.0.1:1", "fs.s3a.secret.key": "another"}
    assert store == store_at("s3a://bucket/state", settings)
