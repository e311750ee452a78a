"""A killed driver, and a broker that is down for a while: exact results in the topic."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenkey import PipelineConfig, run
from evenkey.core.errors import ConfigurationError
from evenkey.kafka.admin import Admin
from evenkey.kafka.client import ClientSettings
from evenkey.kafka.topic_address import Address
from tests.brokers import fill, start_broker
from tests.kafka.counting import counted, send, truth
from tests.runs.killing import finish, kill_in_the_middle, started, wait_for_the_middle

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]


def command(broker, topic, output, **options):
    every = {
        "kafka": f"{broker.server}/{topic}",
        "output-kafka": f"{broker.server}/{topic}-out",
        "output": output,
        "grouping": "dkg",
        "workers": 4,
        "sources": 3,
        "aggregators": 2,
        "epochs": 4,
        **options,
    }
    return [part for name, value in every.items() for part in (f"--{name}", str(value))]


@pytest.mark.soak
def test_a_killed_driver_continues_from_kafka(spark, broker, tmp_path):
    send(broker, "driver-killed", 4000)
    output, log = tmp_path / "out", tmp_path / "log"
    with started(command(broker, "driver-killed", output, **{"cost-ms": 5}), log) as process:
        kill_in_the_middle(process, output, log)
    # Records sent after the first start are not part of the run.
    send(broker, "driver-killed", 100)
    report = finish(command(broker, "driver-killed", output))
    assert report["finished"]
    assert (report["lines"], report["messages"], report["late"]) == (4000, 4000, 0)
    assert counted(spark, broker, "driver-killed") == truth(4000)


@pytest.mark.soak
def test_a_broker_may_be_down_for_a_while(spark, tmp_path):
    broker = start_broker(tmp_path / "kafka")
    try:
        send(broker, "away", 4000)
        output, log = tmp_path / "out", tmp_path / "log"
        with started(command(broker, "away", output, **{"cost-ms": 3}), log) as process:
            wait_for_the_middle(process, output, log)
            broker.stop()
            time.sleep(20)
            broker.start()
            assert process.wait(timeout=600) == 0, log.read_text()
        assert counted(spark, broker, "away") == truth(4000)
    finally:
        broker.stop()


@pytest.mark.soak
@pytest.mark.parametrize("grouping", ["dkg"])  # all of them, and a million: test_kafka_million.py
def test_results_equal_exact_counts(spark, broker, grouping):
    messages = 50_000
    topic = f"exact-{grouping}"
    send(broker, topic, messages)
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        output_kafka=f"{broker.server}/{topic}-out",
        grouping=grouping,
        workers=10,
        epochs=2,
    )
    report = run(config)
    assert (report.metrics.messages, report.rejected, report.late) == (messages, 0, 0)
    assert counted(spark, broker, topic) == truth(messages)


@pytest.mark.soak(20)
def test_questions_wait_for_a_broker_longer_than_the_clients_own_timeout(
    spark, tmp_path, monkeypatch
):
    monkeypatch.setattr("evenkey.kafka.admin._TIMEOUT_MS", 2000)
    monkeypatch.setattr("evenkey.kafka.admin._REQUEST_MS", 1000)
    broker = start_broker(tmp_path / "kafka")
    try:
        fill(broker, "away", [b"a"] * 40)
        address = Address(broker.server, ("away",))
        with Admin.open(spark, address, ClientSettings()) as admin:
            before = admin.topics(["away"])
            broker.stop()
            with pytest.raises(ConfigurationError, match=r"no broker answers at .* within 2 s"):
                admin.topics(["away"])
            admin.timeout_ms = 240_000
            with ThreadPoolExecutor() as pool:
                topics = pool.submit(admin.topics, ["away"])
                offsets = pool.submit(admin.offsets, {"away": 2}, "latest")
                time.sleep(5)
                broker.start()
                assert topics.result() == before
                assert offsets.result() == {"away": {0: 20, 1: 20}}
    finally:
        broker.stop()
