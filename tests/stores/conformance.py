"""Checks that every store must pass; each is called with an empty store."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

WRITERS = 8


def what_was_put_is_read(store):
    store.put("a/b/object", b"first")
    store.put("a/b/object", b"second", durable=True)
    assert store.read("a/b/object") == store.find("a/b/object") == b"second"


def an_empty_object_is_an_object(store):
    store.put("empty", b"")
    assert store.read("empty") == b""
    assert store.names() == ["empty"]


def what_is_not_there_is_not_found(store):
    with pytest.raises(FileNotFoundError):
        store.read("nothing")
    assert store.find("nothing") is None
    assert store.names() == store.names("nothing") == []
    store.delete("nothing")


def names_are_listed_in_order_however_deep(store):
    names = ["b/2", "b/10", "b/c/d", "b.json", "a", "bb/1", "epoch=00000001/part-00000.parquet"]
    for name in names:
        store.put(name, b"x")
    assert store.names() == sorted(names)
    assert store.names("b") == ["b/10", "b/2", "b/c/d"]
    assert store.names("b/c") == ["b/c/d"]
    assert store.under("b").names() == ["10", "2", "c/d"]
    assert store.under("b").under("c").read("d") == b"x"


def many_names_are_listed_whole(store):
    # Object stores list 1,000 names per page.
    names = [f"many/{number:05d}" for number in range(1200)]
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda name: store.put(name, b""), names))
    assert store.names("many") == names


def what_is_deleted_is_gone(store):
    store.put("a/b/c", b"x")
    store.put("a/d", b"x")
    store.delete("a/b/c")
    assert store.names() == ["a/d"]
    store.put("a/b/c", b"again")
    assert store.read("a/b/c") == b"again"


def what_is_cleared_is_gone_and_nothing_else(store):
    for name in ("a/b/c", "a/d", "ab/c", "a.json"):
        store.put(name, b"x")
    store.under("a").clear()
    assert store.names() == ["a.json", "ab/c"]
    store.under("a").clear()
    assert store.create("a/b/c", b"again")
    assert store.names("a") == ["a/b/c"]


def of_many_that_create_an_object_one_does(store):
    for turn in range(5):
        ready = Barrier(WRITERS)

        def create(number, ready=ready, turn=turn):
            ready.wait()
            return store.create(f"claims/{turn}", b"%d" % number * 1000)

        with ThreadPoolExecutor(WRITERS) as pool:
            made = list(pool.map(create, range(WRITERS)))
        assert sum(made) == 1
        assert store.read(f"claims/{turn}") == b"%d" % made.index(True) * 1000
    assert not store.create("claims/0", b"late")
    assert len(store.names()) == 5


def it_travels(store):
    store.under("here").put("object", b"x")
    there = pickle.loads(pickle.dumps(store))
    assert there.names() == ["here/object"]
    assert there.url == store.url


CHECKS = [
    what_was_put_is_read,
    an_empty_object_is_an_object,
    what_is_not_there_is_not_found,
    names_are_listed_in_order_however_deep,
    many_names_are_listed_whole,
    what_is_deleted_is_gone,
    what_is_cleared_is_gone_and_nothing_else,
    of_many_that_create_an_object_one_does,
    it_travels,
]
