"""Where topics are, and whether anything listens there."""

from __future__ import annotations

import socket

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.kafka import Address


def test_servers_and_topics_are_apart():
    address = Address.parse("one:9092,[::1]:9093/clicks,page.views")
    assert address.servers == "one:9092,[::1]:9093"
    assert address.topics == ("clicks", "page.views")
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("clicks", "'clicks' is no HOST:PORT"),
        ("one/clicks", "'one' is no HOST:PORT"),
        ("one:9092", "'' is no name of a topic"),
        ("one:9092/", "'' is no name of a topic"),
        ("one:9092/a b", "'a b' is no name of a topic"),
        ("one:9092/a,a", "named twice"),
    ],
)
def test_what_is_no_address_is_refused(text, fault):
    with pytest.raises(ConfigurationError, match=fault):
        Address.parse(text)


def test_one_topic_is_asked_of_several():
    with pytest.raises(ConfigurationError, match="name one"):
        _ = Address.parse("one:9092/a,b").topic


def test_a_server_that_listens_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        Address.parse(f"127.0.0.1:1,127.0.0.1:{port}/a").check_reachable()


def test_no_server_that_listens_is_told_with_the_mend():
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:1: .*refused.*make kafka-up"):
        Address.parse("127.0.0.1:1/a").check_reachable()
