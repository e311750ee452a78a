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
    """Return (partition, timestamp in ms, key, value) of all records, by partition and offset."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.server, "group.id": "test"})
    partitions = consumer.list_topics(topic, timeout=240).topics[topic].partitions
    places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions]
    consumer.assign(places)
    total = sum(consumer.get_watermark_offsets(place, timeout=240)[1] for place in places)
    records = consumer.consume(total, timeout=240)
    consumer.close()
    records.sort(key=lambda each: (each.partition(), each.offset()))
    return [(each.partition(), each.timestamp()[1], each.key(), each.value()) for each in records]


@pytest.fixture(scope="module")
def small_broker():
    """Start librdkafka's mock broker, with a topic."""
    kafka = pytest.importorskip("confluent_kafka")
    settings = {"bootstrap.servers": "replaced:1", "test.mock.num.brokers": "1"}
    owner = kafka.Producer(settings, logger=SILENT)
    (broker,) = owner.list_topics("produced", timeout=240).brokers.values()
    return SimpleNamespace(server=f"{broker.host}:{broker.port}", partitions=4, owner=owner)


def test_records_go_to_partitions_round_robin(small_broker):
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


@pytest.mark.soak(9)
def test_a_dataset_goes_to_partitions_round_robin_with_its_event_times(broker):
    stream = generated("zipf(z=1.2,keys=50)", messages=1000, rate=20.0)
    reported: list[int] = []
    produced = produce(
        find_records(stream.name, form="json", messages=1000, rate=20.0).records,
        Address.parse(f"{broker.server}/produced"),
        first=parse_time("2020-01-01"),
        partitions=3,
        on_progress=reported.append,
    )
    assert (produced.messages, reported) == (1000, [1000])
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
    options = ["--messages", "3", "--partitions", "1", "--json"]
    outcome = CliRunner().invoke(app, [*arguments, *options])
    assert outcome.exit_code == 0, outcome.stderr
    figures = json.loads(outcome.stdout)
    assert (figures["dataset"], figures["topic"], figures["messages"]) == (str(file), "sent", 3)
    records = records_of(broker, "sent")
    assert [value for *_, value in records] == [b"one", b"", b"thr\xffee"]
    times = [timestamp for _, timestamp, *_ in records]
    assert times[0] >= before * 1000 - 1
    assert [each - times[0] for each in times] == [0, 50, 100]


def test_without_a_rate_times_span_the_last_400_seconds():
    found = find_records("country-skew-r80", messages=100)
    assert (found.total, found.seconds) == (100, 400.0)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["country-skew-r80", "127.0.0.1:1/a"], "no Kafka broker answers"),
        (["country-skew-r80", "clicks"], "'clicks' is not HOST:PORT"),
        (["nothing", "127.0.0.1:1/a"], "nothing"),
        (["./missing", "127.0.0.1:1/a"], "input missing is not there"),
        (["country-skew-r80", "127.0.0.1:1/a", "--start", "now"], "start = 'now'"),
    ],
)
def test_invalid_arguments_print_one_line(arguments, fault):
    outcome = CliRunner().invoke(app, ["dataset", "produce", *arguments])
    assert outcome.exit_code == 2
    assert fault in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'evenkey\[kafka\]'"):
        produce([], Address.parse("127.0.0.1:1/a"), first=0.0)
