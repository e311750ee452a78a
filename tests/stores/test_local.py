"""A directory as a store."""

from __future__ import annotations

import pickle

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import LocalStore, store_at
from tests.stores.conformance import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_directory(tmp_path, check):
    check(LocalStore(tmp_path / "store"))


def test_nothing_is_left_beside_objects(tmp_path):
    store = LocalStore(tmp_path / "store")
    store.put("a/object", b"x")
    store.create("a/object", b"y")
    store.delete("a/object")
    assert [*(tmp_path / "store").iterdir()] == []


def test_what_is_being_written_is_not_listed(tmp_path):
    (tmp_path / ".object.0123").write_bytes(b"half")
    assert LocalStore(tmp_path).names() == []


@pytest.mark.parametrize("spelling", ["{}", "file://{}", "file:{}"])
def test_a_path_and_its_uri_are_the_same_place(tmp_path, spelling):
    place = tmp_path / "with a space"
    text = spelling.format(place)
    if text.startswith("file"):
        text = text.replace(" ", "%20")
    store_at(text).put("object", b"x")
    assert (place / "object").read_bytes() == b"x"
    assert store_at(place).url == str(place)


def test_a_relative_path_stays_where_it_was_named(tmp_path, monkeypatch):
    """A task that uses the store has another working directory."""
    monkeypatch.chdir(tmp_path)
    store = store_at("state")
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(store)).url == str(tmp_path / "state")


def test_a_place_of_no_known_kind_is_refused():
    with pytest.raises(ConfigurationError, match="no store is known for ftp://"):
        store_at("ftp://host/state")


def test_what_lies_behind_a_linked_directory_is_not_in_a_store(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    store = store_at(tmp_path / "store")
    store.put("own/file", b"")
    (tmp_path / "store" / "own" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "store" / "own" / "linked file").symlink_to(tmp_path / "elsewhere" / "file")
    assert store.names() == ["own/file", "own/linked file"]
