"""A directory of a real HDFS is a store; which namenode serves a place."""

from __future__ import annotations

import uuid

import pytest

from evenkey.core.stores import hdfs, patience, store_at
from evenkey.core.stores.hdfs import HdfsStore
from evenkey.core.stores.webhdfs import namenodes_of
from tests.servers import free_port
from tests.stores.conformance import CHECKS
from tests.stores.relays import Relay


@pytest.fixture
def place(hdfs_server):
    return f"{hdfs_server.address}/lab/{uuid.uuid4().hex}"


@pytest.fixture
def relay(hdfs_server):
    with Relay(hdfs_server.port) as between:
        yield between


def settings(port):
    return {"dfs.namenode.http-address": f"127.0.0.1:{port}"}


@pytest.mark.soak  # its jar has 56 MB
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_directory_of_hdfs(hdfs_server, place, check):
    check(store_at(place, settings(hdfs_server.port)))


@pytest.mark.soak
def test_who_creates_knows_it_though_answers_are_lost(relay, place):
    store = store_at(place, settings(relay.port))
    # Of the requests of a creation each is lost once in its turn: 1 asks where to write, 2 renames.
    for lost in range(3):
        for number in range(2):
            relay.answers_to_lose = lost
            created = store.create(f"claims/{lost}", b"%d" % number)
            assert created == (number == 0)
        assert store.read(f"claims/{lost}") == b"0"
    assert relay.lost == 6
    assert store.names() == ["claims/0", "claims/1", "claims/2"]


@pytest.mark.soak
def test_nothing_is_left_beside_files(hdfs_server, place):
    store = HdfsStore(place, settings(hdfs_server.port))
    store.put("a/b/object", b"x")
    store.put("a/b/object", b"y")
    assert not store.create("a/b/object", b"z")
    store.delete("a/b/object")
    assert store._ask("GET", "", "LISTSTATUS").count(b"pathSuffix") == 0


def test_a_namenode_that_is_away_is_an_error_with_its_mend(monkeypatch):
    for module in (patience, hdfs):
        monkeypatch.setattr(module, "PATIENCE", 0.0)
    store = store_at("hdfs://namenode:8020/state", settings(free_port()))
    with pytest.raises(OSError, match=r"hdfs://namenode:8020/state/object: .*set EVENKEY_WEBHDFS"):
        store.put("object", b"")


@pytest.mark.parametrize(
    ("place", "given", "found"),
    [
        ("hdfs://nn:8020/a", {}, ["http://nn:9870"]),
        ("hdfs://nn/a", {"dfs.http.policy": "HTTPS_ONLY"}, ["https://nn:9871"]),
        ("webhdfs://nn:1234/a", {}, ["http://nn:1234"]),
        ("hdfs://nn/a", {"dfs.namenode.http-address": "other:1"}, ["http://other:1"]),
        (
            "hdfs://service/a",
            {
                "dfs.nameservices": "service",
                "dfs.ha.namenodes.service": "one, two",
                "dfs.namenode.http-address.service.one": "a:1",
                "dfs.namenode.http-address.service.two": "b:2",
            },
            ["http://a:1", "http://b:2"],
        ),
    ],
)
def test_the_namenode_of_a_place(place, given, found, monkeypatch):
    monkeypatch.delenv("EVENKEY_WEBHDFS", raising=False)
    assert namenodes_of(place, given) == found
    monkeypatch.setenv("EVENKEY_WEBHDFS", "http://x:9870, y:9870")
    assert namenodes_of(place, given) == ["http://x:9870", "http://y:9870"]
