"""Datasets and files as records of a topic, and the command that sends them."""

from __future__ import annotations

import json
import sys
import time
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from evenkey.cli import app
from evenkey.cli.produce import parse_time
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.kafka import Address, produce
from evenkey.kafka.topic_records import find_records
from evenkey.kafka.topics import SILENT


def records_of(broker, topic):
    """(partition, timestamp in ms, key, value) of all records, by partition and offset."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.server, "group.id": "test"})
    told = consumer.list_topics(topic, timeout=240).topics[topic].partitions
    places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in told]
    consumer.assign(places)
    total = sum(consumer.get_watermark_offsets(place, timeout=240)[1] for place in places)
    records = consumer.consume(total, timeout=240)
    consumer.close()
    records.sort(key=lambda each: (each.partition(), each.offset()))
    return [(each.partition(), each.timestamp()[1], each.key(), each.value()) for each in records]


@pytest.fixture(scope="module")
def small_broker():
    """A broker within librdkafka, which takes records and gives them back, with a topic."""
    kafka = pytest.importorskip("confluent_kafka")
    settings = {"bootstrap.servers": "replaced:1", "test.mock.num.brokers": "1"}
    owner = kafka.Producer(settings, logger=SILENT)
    (broker,) = owner.list_topics("produced", timeout=240).brokers.values()
    return SimpleNamespace(server=f"{broker.host}:{broker.port}", partitions=4, owner=owner)


def test_records_go_to_partitions_in_turn(small_broker):
    stream = generated("zipf(z=1.2,keys=50)", messages=30, rate=20.0)
    produced = produce(
        find_records(stream.name, messages=30, rate=20.0).records,
        Address.parse(f"{small_broker.server}/produced"),
        first=parse_time("2020-01-01"),
    )
    assert produced.messages == 30
    keys = stream.texts(stream.ids(0, 30)).to_pylist()
    found = [(partition, key) for partition, _, key, _ in records_of(small_broker, "produced")]
    assert found == [
        (partition, keys[number].encode())
        for partition in range(small_broker.partitions)
        for number in range(partition, 30, small_broker.partitions)
    ]


@pytest.mark.slow(9)
def test_a_dataset_lies_in_its_partitions_by_turn_with_its_event_times(broker):
    stream = generated("zipf(z=1.2,keys=50)", messages=1000, rate=20.0)
    told: list[int] = []
    produced = produce(
        find_records(stream.name, form="json", messages=1000, rate=20.0).records,
        Address.parse(f"{broker.server}/produced"),
        first=parse_time("2020-01-01"),
        partitions=3,
        on_progress=told.append,
    )
    assert (produced.messages, told) == (1000, [1000])
    batch = stream.batch(0, 1000)
    keys = stream.texts(batch.ids).to_pylist()
    assert records_of(broker, "produced") == [
        (
            partition,
            1_577_836_800_000 + round(1000 * batch.times[number]),
            keys[number].encode(),
            json.dumps({"key": keys[number], "count": 1}).encode(),
        )
        for partition in range(3)
        for number in range(partition, 1000, 3)
    ]


@pytest.mark.slow(14)
def test_the_command_sends_the_lines_of_a_file_at_a_rate(broker, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_bytes(b"one\r\n\nthr\xffee\nfour")
    before = time.time()
    arguments = ["dataset", "produce", str(file), f"{broker.server}/sent", "--rate", "20"]
    told = CliRunner().invoke(app, [*arguments, "--messages", "3", "--partitions", "1", "--json"])
    assert told.exit_code == 0, told.stderr
    figures = json.loads(told.stdout)
    assert (figures["dataset"], figures["topic"], figures["messages"]) == (str(file), "sent", 3)
    records = records_of(broker, "sent")
    assert [value for *_, value in records] == [b"one", b"", b"thr\xffee"]
    times = [timestamp for _, timestamp, *_ in records]
    assert times[0] >= before * 1000 - 1
    assert [each - times[0] for each in times] == [0, 50, 100]


def test_times_end_now_without_a_rate_and_span_400_seconds():
    found = find_records("country-skew-r80", messages=100)
    assert (found.total, found.seconds) == (100, 400.0)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["country-skew-r80", "127.0.0.1:1/a"], "no Kafka broker answers"),
        (["country-skew-r80", "clicks"], "'clicks' is no HOST:PORT"),
        (["nothing", "127.0.0.1:1/a"], "nothing"),
        (["./missing", "127.0.0.1:1/a"], "input missing is not there"),
        (["country-skew-r80", "127.0.0.1:1/a", "--start", "now"], "start = 'now'"),
    ],
)
def test_what_cannot_be_sent_is_one_line(arguments, fault):
    told = CliRunner().invoke(app, ["dataset", "produce", *arguments])
    assert told.exit_code == 2
    assert fault in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'evenkey\[kafka\]'"):
        produce([], Address.parse("127.0.0.1:1/a"), first=0.0)
