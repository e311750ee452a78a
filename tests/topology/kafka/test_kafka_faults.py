"""A driver that is killed, and a broker that is away for a while: exact results in the topic."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from evenkey.streams import generated
from evenkey.topology import PipelineConfig, run
from evenkey.topology.kafka import read_results
from evenkey.topology.kafka.address import Address
from evenkey.topology.kafka.producing import produce
from evenkey.topology.kafka.records import find_records, parse_time
from tests.brokers import start_broker
from tests.topology.killing import finish, kill_in_the_middle, started, wait_for_the_middle

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

DATASET = "country-skew-r80"
START = parse_time("2020-01-01")


def send(broker, topic, messages):
    address = Address.parse(f"{broker.server}/{topic}")
    found = find_records(DATASET, messages=messages)
    assert produce(found.records, address, first=START, partitions=3).messages == messages


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


def counted(spark, broker, topic):
    """(seconds since the start of the window's minute, key) to count, as the topic has it."""
    rows = read_results(spark, f"{broker.server}/{topic}-out").toArrow().to_pylist()
    counts = {(row["window_start"].timestamp() - START, row["key"]): row["count"] for row in rows}
    assert len(counts) == len(rows)
    return counts


def truth(messages):
    stream = generated(DATASET, messages=messages)
    batch = stream.batch(0, messages)
    keys = stream.texts(batch.ids).to_pylist()
    return Counter((t // 60 * 60, key) for t, key in zip(batch.times, keys, strict=True))


def test_a_killed_driver_goes_on_from_kafka(spark, broker, tmp_path):
    send(broker, "killed", 4000)
    output, log = tmp_path / "out", tmp_path / "log"
    with started(command(broker, "killed", output, **{"cost-ms": 5}), log) as process:
        kill_in_the_middle(process, output, log)
    # What comes after the first start is not part of the run.
    send(broker, "killed", 100)
    report = finish(command(broker, "killed", output))
    assert report["finished"]
    assert (report["lines"], report["messages"], report["late"]) == (4000, 4000, 0)
    assert counted(spark, broker, "killed") == truth(4000)


def test_a_broker_may_be_away_for_a_while(spark, tmp_path):
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


@pytest.mark.parametrize(
    ("grouping", "messages"), [("kg", 50_000), ("pkg", 50_000), ("sg", 50_000), ("dkg", 1_000_000)]
)
def test_results_equal_exact_counts(spark, broker, grouping, messages):
    topic = f"exact-{grouping}"
    send(broker, topic, messages)
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        output_kafka=f"{broker.server}/{topic}-out",
        grouping=grouping,
        workers=10,
        epochs=2,
    )
    report = run(config, prepare=False)
    assert (report.metrics.messages, report.rejected, report.late) == (messages, 0, 0)
    assert counted(spark, broker, topic) == truth(messages)
