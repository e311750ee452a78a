"""A run from a Kafka broker that is killed and started again has exact results."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from evenkey.pipeline.exporters import History
from tests.brokers import consume, delivered, fill, producer_to
from tests.runs.killing import finish, kill_in_the_middle, started

RECORDS, EPOCHS = 1200, 3


def command(broker, output, cost_ms):
    return [
        *("--kafka", f"{broker.server}/promised", "--output-kafka", f"{broker.server}/kept"),
        *("--split", "json", "--key", "user", "--count", "n"),
        *("--aggregator", "sum(column=count)", "--grouping", "dkg"),
        *("--workers", "2", "--sources", "2", "--aggregators", "1", "--epochs", str(EPOCHS)),
        *("--cost-ms", str(cost_ms), "--output", str(output)),
    ]


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_killed_run_goes_on_from_kafka_and_gives_exact_sums(broker, tmp_path):
    values = [
        ("hot" if number % 10 < 6 else f"cold {number % 37}", number % 5 + 1)
        for number in range(RECORDS)
    ]
    fill(broker, "promised", [json.dumps({"user": user, "n": n}).encode() for user, n in values])
    output, log = tmp_path / "out", tmp_path / "log"
    with started(command(broker, output, cost_ms=8), log) as process:
        kill_in_the_middle(process, output, log)
    # Records that come after the first start do not belong to the run.
    more = [b'{"user": "hot", "n": 100}'] * 10
    refill(broker, more)
    report = finish(command(broker, output, cost_ms=0))
    assert (report["messages"], report["rejected"], report["late"]) == (RECORDS, 0, 0)
    ended = History(output / "history").ended()
    assert ended is not None
    assert ended[0] == "finished"

    expected: Counter[str] = Counter()
    for user, n in values:
        expected[user] += n
    windows: dict[tuple[str, str], int] = {}
    for key, value in consume(broker, "kept"):
        # An interrupted epoch may send a result twice, with the same value.
        window = (key["window_start"], key["user"])
        assert windows.setdefault(window, value["sum"]) == value["sum"]
    found: Counter[str] = Counter()
    for (_, user), total in windows.items():
        found[user] += total
    assert found == expected


def refill(broker, values):
    """Send more records to the existing topic."""
    producer = producer_to(broker)
    for value in values:
        producer.produce("promised", value, timestamp=1_577_840_400_000, on_delivery=delivered)
    assert producer.flush(240) == 0
