"""``evenkey dataset produce``, without a broker."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import evenkey.cli.produce
from evenkey.kafka.topic_producer import Produced


@pytest.fixture
def produced(monkeypatch):
    """Return a list of the arguments of each call that produces messages."""
    calls: list[dict[str, Any]] = []

    def produce(records, address, **options):
        calls.append({"topic": address.topic, **options})
        return Produced(len(list(records)), 2.0)

    monkeypatch.setattr(evenkey.cli.produce, "produce", produce)
    return calls


COMMAND = ("dataset", "produce", "country-skew-r80", "localhost:9092/clicks", "--messages", "100")


@pytest.mark.parametrize(
    ("options", "live", "seconds"), [((), False, 400.0), (("--rate", "20"), True, 0.0)]
)
def test_event_times_end_now_but_start_now_at_a_rate(invoke, produced, options, live, seconds):
    earliest = time.time() - seconds
    outcome = invoke(*COMMAND, *options, "--json")
    latest = time.time() - seconds
    assert outcome.exit_code == 0, outcome.stderr
    (call,) = produced
    assert (call["topic"], call["live"]) == ("clicks", live)
    assert earliest <= call["first"] <= latest
    printed = json.loads(outcome.stdout)
    assert printed["first_event_time"] == call["first"]
    assert (printed["messages"], printed["messages_per_second"]) == (100, 50)


def test_event_times_start_where_the_user_says(invoke, produced):
    outcome = invoke(*COMMAND, "--start", "2020-01-01", "--partitions", "3")
    assert "100 messages of country-skew-r80" in outcome.stdout
    (call,) = produced
    assert (call["first"], call["partitions"]) == (1_577_836_800, 3)
