"""Metrics in a topic of a real broker: they arrive, reach InfluxDB, and wait for a lost broker."""

from __future__ import annotations

import json
import urllib.request

import pytest

from evenkey.pipeline.exporters import Exports
from tests.brokers import fill, records, start_broker
from tests.exporters.records import RUN, record
from tests.servers import InfluxServer, eventually

QUEUE = 10


@pytest.fixture
def influx(tmp_path):
    with InfluxServer(tmp_path) as server:
        yield server


@pytest.mark.slow(14)
def test_epochs_arrive_in_order_and_influxdb_accepts_them(broker, influx):
    topics = [f"kafka://{broker.server}/metrics", f"kafka://{broker.server}/points?format=influx"]
    exports = Exports(topics, RUN)
    for epoch in range(3):
        exports.offer(record(epoch))
    assert [(each.points, each.dropped) for each in exports.close("finished")] == [(3, 0)] * 2

    exported = records(broker, "metrics")
    assert {key.decode() for key, _ in exported} == {RUN.run}
    figures = [json.loads(value) for _, value in exported]
    assert [each["epoch"] for each in figures] == [0, 1, 2]
    assert figures[2]["loads"] == [180, 120]
    assert figures[0]["hottest"][1]["key"] == 'a "b"'

    # Telegraf does this with `data_format = "influx"`.
    _post(f"{influx.url}/query?q=CREATE+DATABASE+evenkey", b"")
    for _, value in records(broker, "points"):
        _post(f"{influx.url}/write?db=evenkey&precision=ms", value)
    assert influx.points("evenkey_epoch") == 3
    assert influx.points("evenkey_worker") == 3 * RUN.workers
    (series,) = influx.query('SELECT "key" FROM evenkey_hot_key WHERE "rank" = \'2\'')
    assert [key for _, key in series["values"]] == ['a "b"'] * 3


def _post(url, body):
    request = urllib.request.Request(url, data=body, method="POST")  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - loopback
        assert answer.status in (200, 204)


@pytest.mark.soak
@pytest.mark.faults
def test_a_broker_outage_loses_only_what_the_queue_cannot_hold(tmp_path):
    broker = start_broker(tmp_path / "kafka")
    try:
        fill(broker, "metrics", [], partitions=1)
        exports = Exports([f"kafka://{broker.server}/metrics?queue={QUEUE}"], RUN)
        exports.offer(record(0))
        eventually(lambda: _epochs(broker) == [0])
        broker.stop()
        # One batch, with all epochs in the queue, is sent to the missing broker; after it the queue
        # keeps the last epochs.
        for epoch in range(1, 40):
            exports.offer(record(epoch))
        broker.start()
        last = list(range(40 - QUEUE, 40))
        eventually(lambda: _epochs(broker)[-QUEUE:] == last)
        (summary,) = exports.close("finished")
        arrived = _epochs(broker)
    finally:
        broker.stop()
    assert summary.points == len(arrived)
    assert summary.points + summary.dropped == 40
    assert 39 - 2 * QUEUE <= summary.dropped <= 39 - QUEUE
    assert arrived[0] == 0
    assert arrived[-QUEUE:] == last


def _epochs(broker):
    """Return the epochs that have arrived, each once: a retried message may arrive twice."""
    from confluent_kafka import KafkaException

    try:
        return sorted({json.loads(value)["epoch"] for _, value in records(broker, "metrics")})
    except KafkaException:  # the broker has just come back
        return []
