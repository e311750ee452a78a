"""Addresses of topics, and the check that a server accepts connections."""

from __future__ import annotations

import socket

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.kafka import Address


def test_an_address_has_servers_and_topics():
    address = Address.parse("one:9092,[::1]:9093/clicks,page.views")
    assert address.servers == "one:9092,[::1]:9093"
    assert address.topics == ("clicks", "page.views")
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("clicks", "'clicks' is not HOST:PORT"),
        ("one/clicks", "'one' is not HOST:PORT"),
        ("one:9092", "'' is not a valid topic name"),
        ("one:9092/", "'' is not a valid topic name"),
        ("one:9092/a b", "'a b' is not a valid topic name"),
        ("one:9092/a,a", "named twice"),
    ],
)
def test_invalid_addresses_are_rejected(text, fault):
    with pytest.raises(ConfigurationError, match=fault):
        Address.parse(text)


def test_several_topics_have_no_single_topic():
    with pytest.raises(ConfigurationError, match="name one"):
        _ = Address.parse("one:9092/a,b").topic


def test_one_reachable_server_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        Address.parse(f"127.0.0.1:1,127.0.0.1:{port}/a").check_reachable()


def test_no_reachable_server_is_an_error_with_its_fix():
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:1: .*refused.*make kafka-up"):
        Address.parse("127.0.0.1:1/a").check_reachable()
