"""Joins from topic to topic on a real broker: the pairs of one process, no record lost."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.joins.sides.division import leaves_of
from evenkey.joins.space.pairs import PairsDigest
from evenkey.joins.space.reference import reference_digest
from evenkey.kafka import Address
from evenkey.papers.publish_subscribe import (
    JoinConfig,
    compare_joins,
    produce_publications,
    run_join,
)
from evenkey.papers.publish_subscribe.join_inputs import subscriptions_of
from evenkey.papers.publish_subscribe.publishing import publications_of
from tests.brokers import begin_transaction, consume, producer_to

SMALL: dict[str, Any] = {
    "publications": 400,
    "subscriptions": 150,
    "workers": 2,
    "partitions": 6,
    "epochs": 2,
    "skew": 0.7,
    "polygon_share": 0.3,
    "seconds": 60,
    "min_items": 10,
}
POISON = [None, b"", b"\xff", b"{", b'{"publication": 7}', b'{"geometry": "00"}']


def send(broker, topic, values):
    producer = producer_to(broker)
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(240)


@pytest.fixture(scope="session")
def topic(broker):
    """Create a topic of 400 publications and some invalid records."""
    address = f"{broker.server}/publications"
    produced = produce_publications(JoinConfig(**SMALL), Address.parse(address), partitions=3)
    assert produced.messages == 400
    send(broker, "publications", POISON)
    return address


@pytest.fixture(scope="module")
def expected():
    """Return the digest of the publications' pairs, found by one tree in one process."""
    generated = JoinConfig(**SMALL)
    subscriptions = subscriptions_of(generated)
    leaves = leaves_of(subscriptions["geometry"].to_numpy(), "kdb", 6)
    published = publications_of(generated, leaves).make(np.arange(400))
    return str(reference_digest(published, subscriptions, generated.subject))


@pytest.mark.slow(6)
@pytest.mark.usefixtures("spark")
def test_matches_and_dead_letters_are_records_of_topics(broker, topic, expected, tmp_path):
    config = JoinConfig(
        **SMALL,
        kafka=topic,
        output_kafka=f"{broker.server}/matches",
        mode="dynamic-db-stal",
        output=tmp_path / "out",
        verify=True,
    )
    report = run_join(config)
    assert (report.finished, report.publications) == (True, 406)
    assert report.rejected == len(POISON)
    assert len(report.epochs) >= 2
    assert report.pairs_digest == report.expected_digest == expected
    records = consume(broker, "matches")
    digest = PairsDigest()
    for key, value in records:
        assert key == {"publication": value["publication"]}
        count = len(value["subscriptions"])
        digest.add(np.repeat(value["publication"], count), np.array(value["subscriptions"]))
    assert str(digest) == expected
    dead_letters = consume(broker, "matches-dead-letters")
    assert {key["topic"] for key, _ in dead_letters} == {"publications"}
    assert len({(key["partition"], key["offset"]) for key, _ in dead_letters}) == len(POISON)
    # Repeating the command reads and writes no record.
    assert run_join(config).pairs_digest == report.pairs_digest
    assert len(consume(broker, "matches")) == len(records)


@pytest.mark.soak(5)
@pytest.mark.usefixtures("spark")
def test_aborted_publications_are_neither_joined_nor_counted(broker, expected, tmp_path):
    address = f"{broker.server}/half-aborted"
    produce_publications(JoinConfig(**SMALL), Address.parse(address), partitions=3)
    more = [json.dumps({"publication": n, "geometry": "00"}).encode() for n in range(400, 450)]
    begin_transaction(broker, "half-aborted", more, partitions=3).abort_transaction(240)
    config = JoinConfig(**SMALL, kafka=address, mode="static-stal", output=tmp_path / "out")
    report = run_join(config)
    assert (report.finished, report.publications, report.rejected) == (True, 400, 0)
    assert report.pairs_digest == expected


@pytest.mark.soak(7)
@pytest.mark.usefixtures("spark")
def test_a_topic_is_followed_until_the_run_is_paused(topic, expected, tmp_path):
    out = tmp_path / "out"

    def pause(progress):
        if progress.messages == 400 + len(POISON):
            (out / "state" / "paused").touch()

    config = JoinConfig(**SMALL, kafka=topic, follow=True, mode="static-stal", output=out)
    report = run_join(config, on_progress=pause)
    assert not report.finished
    assert report.publications == 400 + len(POISON)
    assert report.pairs_digest == expected


@pytest.mark.slow(3)
@pytest.mark.usefixtures("spark")
def test_a_topic_must_exist(broker):
    with pytest.raises(ConfigurationError, match="no topic nothing-here"):
        run_join(JoinConfig(**SMALL, kafka=f"{broker.server}/nothing-here"))


def test_a_comparison_cannot_write_to_a_topic():
    config = JoinConfig(output_kafka="127.0.0.1:9/matches")
    with pytest.raises(ConfigurationError, match="a comparison would send the same results"):
        compare_joins(config, ["static-strl"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kafka": "here"}, "not HOST:PORT"),
        ({"kafka": "a:1/t", "input": "in"}, "input and kafka are both given"),
        ({"kafka": "a:1/t", "output_kafka": "a:1/t"}, "would be read and written"),
        ({"follow": True}, "applies only to topics"),
        ({"kafka": "a:1/t", "follow": True, "verify": True}, "follow and verify"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ConfigurationError, match=message):
        JoinConfig(**options)
