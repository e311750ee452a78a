"""Topics with transactions: runs skip aborted records and wait for open transactions."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from evenkey import run as run_typed
from evenkey.kafka import read_topic
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.runs.driving import run_topics, waiting
from tests.brokers import begin_transaction, fill
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from evenkey.pipeline.runs import EpochProgress

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.slow(9)]

SMALL = {"grouping": "kg", "workers": 2, "sources": 2, "aggregators": 2, "epochs": 3}

_numbers = itertools.count()


@pytest.fixture
def topic():
    return f"transactions-{next(_numbers)}"


def run(config, **options):
    return run_typed(config, **options)


def counts(report):
    counted: Counter[str] = Counter()
    for row in report.table.to_pylist():
        counted[row["key"]] += row["count"]
    return counted


@pytest.fixture
def mixed(broker, topic):
    """Create a topic of 60 plain records, then 40 aborted and 20 committed ones."""
    fill(broker, topic, [b"plain"] * 60)
    begin_transaction(broker, topic, [b"aborted"] * 40).abort_transaction(240)
    begin_transaction(broker, topic, [b"committed"] * 20).commit_transaction(240)
    return f"{broker.server}/{topic}"


def test_records_of_aborted_transactions_are_not_counted(mixed):
    seen: list[EpochProgress] = []
    report = run(PipelineConfig(kafka=mixed, **SMALL), on_progress=seen.append)
    assert counts(report) == {"plain": 60, "committed": 20}
    assert (report.finished, report.lines, report.metrics.messages) == (True, 80, 80)
    # Aborted records and markers use offsets, so the number of messages is unknown.
    # The last epoch with records may end while windows are closed.
    reading = [each for each in seen if each.phase in ("running", "closing")]
    assert {each.expected for each in reading} == {None}
    shares = [each.share or 0.0 for each in reading]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.soak(9)
def test_uncommitted_records_are_read_with_read_uncommitted(mixed):
    report = run(PipelineConfig(kafka=mixed, isolation="read_uncommitted", **SMALL))
    assert counts(report) == {"plain": 60, "aborted": 40, "committed": 20}


@pytest.mark.soak(9)
def test_an_aborted_end_ends_a_run(broker, topic):
    fill(broker, topic, [b"plain"] * 10)
    begin_transaction(broker, topic, [b"aborted"] * 200).abort_transaction(240)
    report = run(PipelineConfig(kafka=f"{broker.server}/{topic}", **SMALL))
    assert (report.finished, counts(report)) == (True, {"plain": 10})


@pytest.mark.parametrize(
    "end", most_in_soak(["commit_transaction", "abort_transaction"], 9, slow=["commit_transaction"])
)
def test_a_run_waits_for_an_open_transaction_and_reports_it(broker, topic, monkeypatch, end):
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", 2.0)
    monkeypatch.setattr(run_topics, "_LOOK_SECONDS", 0.5)
    fill(broker, topic, [b"plain"] * 60)
    producer = begin_transaction(broker, topic, [b"open"] * 20)
    said: list[str] = []

    def listen(progress):
        if progress.detail and not said:
            getattr(producer, end)(240)
            said.append(f"{progress.phase}{progress.detail}")

    config = PipelineConfig(kafka=f"{broker.server}/{topic}", **SMALL)
    report = run(config, on_progress=listen)
    (line,) = said
    assert line.startswith(f"waiting for a transaction: transaction 'of {topic}', open for ")
    assert f"s, holds up topic '{topic}', partition 0, at offset 30, and 1 more" in line
    more = {"open": 20} if end == "commit_transaction" else {}
    assert (report.finished, counts(report)) == (True, {"plain": 60} | more)


def test_results_are_read_without_what_was_aborted(spark, broker, topic):
    fill(broker, topic, [b"plain"] * 10)
    out = f"{topic}-out"
    address = f"{broker.server}/{out}"
    run(PipelineConfig(kafka=f"{broker.server}/{topic}", output_kafka=address, **SMALL))
    window = {"window_start": "2020-01-01T00:00:00Z", "window_end": "2020-01-01T00:01:00Z"}
    row = json.dumps({**window, "key": "foreign", "count": 5}).encode()
    begin_transaction(broker, out, [row], partitions=1).abort_transaction(240)
    assert [row.key for row in read_topic(spark, address).collect()] == ["plain"]
    producer = begin_transaction(broker, out, [row], partitions=1)
    try:
        with pytest.warns(UserWarning, match="has open transactions in partitions 0: later"):
            read_topic(spark, address)
        # The aborted and the open record are equal, so they count once.
        every = read_topic(spark, address, isolation="read_uncommitted").collect()
        assert sorted(row.key for row in every) == ["foreign", "plain"]
    finally:
        producer.abort_transaction(240)
