"""A directory of a real HDFS is a store, and the namenode of a location is found."""

from __future__ import annotations

import traceback
import uuid

import pytest
import requests

from evenkey.core.stores import hdfs, patience, store_at, webhdfs
from evenkey.core.stores.hdfs import HdfsStore
from evenkey.core.stores.webhdfs import namenodes_of
from tests.servers import free_port
from tests.stores.conformance import CHECKS, many_names_are_listed_whole
from tests.stores.namenode import Namenode
from tests.stores.relays import Relay


@pytest.fixture
def place(hdfs_server):
    return f"{hdfs_server.address}/lab/{uuid.uuid4().hex}"


@pytest.fixture
def relay(hdfs_server):
    with Relay(hdfs_server.port) as between:
        yield between


@pytest.fixture(scope="module")
def namenode():
    """Start a namenode in this process, without Java."""
    with Namenode() as server:
        yield server


@pytest.fixture
def store(namenode):
    return store_at(f"hdfs://127.0.0.1/lab/{uuid.uuid4().hex}", settings(namenode.port))


def settings(port):
    return {"dfs.namenode.http-address": f"127.0.0.1:{port}"}


FEW = [each for each in CHECKS if each is not many_names_are_listed_whole]
"""Checks that need only a few requests."""


@pytest.mark.parametrize("check", FEW, ids=lambda check: check.__name__)
def test_what_is_asked_of_a_namenode_makes_a_store(store, check):
    check(store)


def test_a_namenode_that_starts_is_asked_again(store, namenode):
    namenode.refusals = ["SafeModeException", "RetriableException"]
    assert store.create("claim", b"mine")
    assert namenode.refusals == []
    assert store.read("claim") == b"mine"


def test_of_two_namenodes_the_active_one_is_asked(namenode):
    with Namenode() as standby:
        standby.refusals = ["StandbyException"] * 10
        ports = (standby.port, namenode.port)
        members = {
            f"dfs.namenode.http-address.service.{port}": f"127.0.0.1:{port}" for port in ports
        }
        named = {"dfs.ha.namenodes.service": ", ".join(map(str, ports))}
        store = store_at(f"hdfs://service/lab/{uuid.uuid4().hex}", {**named, **members})
        store.put("object", b"x")
        assert store.read("object") == b"x"


def test_what_a_namenode_refuses_for_good_is_an_error_with_its_words(store, namenode):
    asked = len(namenode.requests)
    namenode.refusals = ["AccessControlException"]
    refused = r"object: HDFS refuses the request \(AccessControlException: not now\): check the"
    with pytest.raises(OSError, match=refused):
        store.read("object")
    assert len(namenode.requests) == asked + 1


@pytest.mark.soak  # it needs a jar of 56 MB
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_directory_of_hdfs(hdfs_server, place, check):
    check(store_at(place, settings(hdfs_server.port)))


@pytest.mark.soak
def test_a_creator_knows_its_object_though_answers_are_lost(relay, place):
    store = store_at(place, settings(relay.port))
    # Each request of a creation is lost once: request 1 asks where to write, request 2 renames.
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


def test_an_unreachable_namenode_is_an_error_with_its_fix(monkeypatch):
    for module in (patience, hdfs):
        monkeypatch.setattr(module, "PATIENCE", 0.0)
    store = store_at("hdfs://namenode:8020/state", settings(free_port()))
    with pytest.raises(OSError, match=r"hdfs://namenode:8020/state/object: .*set EVENKEY_WEBHDFS"):
        store.put("object", b"")


class Refusing:
    """A session whose requests fail as those of requests do: with their address in the text."""

    def __init__(self, kind):
        self._kind = kind

    def request(self, method, url, *, params, **_):
        address = requests.Request(method, url, params=params).prepare().url
        message = f"Max retries exceeded with url: {address}"
        raise self._kind(message)


@pytest.mark.parametrize(
    "kind",
    [
        requests.exceptions.SSLError,
        requests.exceptions.InvalidURL,
        requests.exceptions.ConnectionError,
        requests.exceptions.ReadTimeout,
    ],
)
def test_a_token_is_in_no_error(kind, monkeypatch):
    for module in (patience, hdfs):
        monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setenv(webhdfs.TOKEN, "DELEGATION-SECRET")
    monkeypatch.setattr(webhdfs, "_session", lambda _: Refusing(kind))
    with pytest.raises(OSError, match=rf"webhdfs://nn:1/s/object: .*{kind.__name__}") as raised:
        store_at("webhdfs://nn:1/s").read("object")
    assert "DELEGATION-SECRET" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("place", "given", "named"),
    [
        ("hdfs://nn/a", {}, ["http://nn:9870"]),
        ("webhdfs://evil:1/a", {}, ["http://evil:1"]),
        ("hdfs://evil/a", {"dfs.namenode.http-address": "0.0.0.0:2"}, ["http://evil:2"]),
        ("hdfs://evil/a", {"dfs.namenode.http-address": "nn:2"}, []),
        (
            "hdfs://service/a",
            {
                "dfs.ha.namenodes.service": "one",
                "dfs.namenode.http-address.service.one": "nn:2",
            },
            [],
        ),
    ],
)
def test_servers_that_only_the_uri_names(place, given, named, monkeypatch):
    monkeypatch.delenv(webhdfs.ADDRESSES, raising=False)
    assert store_at(place, given).named_servers == named
    monkeypatch.setenv(webhdfs.ADDRESSES, "http://nn:9870")
    assert store_at(place, given).named_servers == []


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
