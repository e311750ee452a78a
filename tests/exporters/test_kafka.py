"""Export to a Kafka topic, without a broker."""

from __future__ import annotations

import json

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports, Unreachable
from evenkey.pipeline.exporters.export_address import ExportAddress
from evenkey.pipeline.exporters.kafka import Kafka
from evenkey.pipeline.exporters.line_protocol import lines
from tests.exporters.records import RUN, record
from tests.servers import free_port

SECRET = "hunter2"


class FakeProducer:
    """Stores produced messages, and delivers them or not."""

    failure = None
    made: dict[str, object]

    def __init__(self, settings):
        type(self).made = settings
        self.sent = []
        self.waiting = []

    def produce(self, topic, value, key, on_delivery):
        self.waiting.append((topic, key, value, on_delivery))

    def flush(self, timeout):
        assert timeout > 0
        for topic, key, value, on_delivery in self.waiting:
            on_delivery(self.failure, None)
            self.sent.append((topic, key, value))
        self.waiting = []
        return 0

    def purge(self):
        self.waiting = []


class NoBroker:
    def str(self):
        return "broker is gone"


@pytest.fixture
def exporter(monkeypatch):
    monkeypatch.setattr("confluent_kafka.Producer", FakeProducer)
    monkeypatch.setattr(FakeProducer, "failure", None)
    return lambda text: Kafka(ExportAddress.parse(text), RUN)


def test_one_message_per_epoch(exporter):
    kafka = exporter("kafka://a:9092,b:9092/metrics")
    kafka.write(kafka.points(record(4)))
    assert FakeProducer.made["bootstrap.servers"] == "a:9092,b:9092"
    ((topic, key, value),) = kafka._producer.sent
    assert (topic, key) == ("metrics", b"dkg-1")
    sent = json.loads(value)
    assert sent["grouping"] == "dkg(warm_up=5)"
    assert (sent["epoch"], sent["stddev_percent"], sent["loads"]) == (4, 10.0, [300, 200])
    hot = {"key": "Turkey", "messages": 80, "pool": [0, 1], "held": [50, 30], "run_workers": 2}
    assert sent["hottest"][0] == hot


def test_lines_of_the_influxdb_protocol(exporter):
    kafka = exporter("kafka://a:9092/metrics?format=influx")
    (value,) = kafka.points(record(4))
    assert value.decode().split("\n") == lines(RUN, record(4))


def test_undelivered_messages_may_be_retried(exporter, monkeypatch):
    kafka = exporter("kafka://a:9092/metrics")
    monkeypatch.setattr(FakeProducer, "failure", NoBroker())
    with pytest.raises(Unreachable, match="broker is gone"):
        kafka.write(kafka.points(record(0)))


def test_options_and_the_password_reach_the_client(exporter, monkeypatch):
    monkeypatch.setenv("EVENKEY_KAFKA_CLIENT_SASL_PASSWORD", SECRET)
    kafka = exporter("kafka://a:9092/metrics?security.protocol=SASL_SSL&sasl.username=me")
    assert FakeProducer.made["security.protocol"] == "SASL_SSL"
    assert FakeProducer.made["sasl.password"] == SECRET
    assert SECRET not in kafka.to


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("kafka://a:9092", "names no topic; add /TOPIC"),
        ("kafka://a:9092/t?format=xml", "format = 'xml' must be one of json, influx"),
        ("kafka://a:9092/t?color=red", "kafka has no option 'color'"),
        ("kafka://a:9092/t?no.such.thing=1", r"Kafka's client rejects it \(No such conf"),
    ],
)
def test_invalid_addresses_are_reported_before_the_run(address, message):
    with pytest.raises(ConfigurationError, match=message):
        Exports([address], RUN)


def test_an_unreachable_broker_is_reported_at_the_end(monkeypatch):
    monkeypatch.setattr("evenkey.pipeline.exporters.kafka._TIMEOUT_SECONDS", 0.2)
    exports = Exports([f"kafka://127.0.0.1:{free_port()}/metrics"], RUN)
    exports.offer(record(0))
    (summary,) = exports.close("finished")
    assert (summary.points, summary.dropped) == (0, 1)
    assert summary.error
