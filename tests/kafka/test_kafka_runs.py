"""Runs from topics to topics on a real broker: exact results, each record accounted for."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pytest

from evenkey import run as run_typed
from evenkey.core.errors import ConfigurationError
from evenkey.kafka import read_topic
from evenkey.pipeline.aggregate import PipelineConfig, compare
from evenkey.pipeline.runs.driving.run_topics import topics_of
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from tests.brokers import consume, delivered, fill, producer_to

pytestmark = pytest.mark.usefixtures("spark")

SMALL = {"workers": 3, "sources": 2, "aggregators": 2, "epochs": 2}
KEYS = [b"hot", b"hot", b"hot", b"cold 1", b"hot", b"cold 2"]

_numbers = itertools.count()


@pytest.fixture
def topic():
    return f"clicks-{next(_numbers)}"


def run(config, **options):
    return run_typed(config, **options)


@pytest.mark.slow(5)
def test_output_topics_exist_before_anything_is_written(spark, broker, topic):
    from confluent_kafka.admin import AdminClient

    config = PipelineConfig(dataset="uniform(keys=2)", output_kafka=f"{broker.server}/{topic}-out")
    wanted = {f"{topic}-out", f"{topic}-out-dead-letters"}
    for _ in range(2):
        with RunDirectory.opened(None) as directory, topics_of(config).opened(spark, directory):
            pass
        metadata = AdminClient({"bootstrap.servers": broker.server}).list_topics(timeout=240)
        assert wanted <= set(metadata.topics)


def totals(rows, column="count", key="key"):
    """Sum by key, and check that no two rows have the same window and key."""
    assert len({(row["window_start"], row[key]) for row in rows}) == len(rows)
    summed: Counter[str] = Counter()
    for row in rows:
        summed[row[key]] += row[column]
    return summed


@pytest.mark.slow(15)
def test_results_and_dead_letters_are_records_of_topics(spark, broker, topic, tmp_path):
    good = [json.dumps({"user": f"user {n % 7}", "n": n % 3 + 1}).encode() for n in range(200)]
    poison = [None, b"", b"\xff\xfe", b"{", b'{"n": 1}', b'{"user": "a", "n": -1}']
    fill(broker, topic, [*good[:100], *poison, *good[100:]])
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        split="json",
        key="user",
        count="n",
        aggregator="sum(column=count)",
        grouping="pkg",
        output_kafka=f"{broker.server}/{topic}-out",
        output=tmp_path / "out",
        **SMALL,
    )
    report = run(config)
    assert (report.finished, report.lines, report.rejected, report.late) == (True, 206, 6, 0)
    truth: Counter[str] = Counter()
    for record in map(json.loads, good):
        truth[record["user"]] += record["n"]
    rows = read_topic(spark, f"{broker.server}/{topic}-out", config.aggregator, key="user")
    assert totals(rows.toArrow().to_pylist(), "sum", "user") == truth
    for key, value in consume(broker, f"{topic}-out"):
        assert key == {name: value[name] for name in ("window_start", "user")}
    dead_letters = consume(broker, f"{topic}-out-dead-letters")
    assert all(key.items() < value.items() for key, value in dead_letters)
    values = [value for _, value in dead_letters]
    reasons = {value["partition"] + 2 * value["offset"]: value["reason"] for value in values}
    assert sorted(reasons) == list(range(100, 106))
    assert "not UTF-8" in reasons[102]
    assert {value["topic"] for value in values} == {topic}
    # Repeating the command reads and writes no record.
    assert run(config).lines == 206
    assert len(consume(broker, f"{topic}-out")) == rows.count()


@pytest.mark.soak
def test_any_fields_of_records_are_keys_and_values(spark, broker, topic, tmp_path):
    records = [(region, f"user {n % 3}", n / 4) for n in range(60) for region in ("EU", None)]
    poison = b'{"region": "EU", "user": "user 1", "amount": "many"}'
    fill(
        broker,
        topic,
        [
            *(
                json.dumps(dict(zip(("region", "user", "amount"), each, strict=True))).encode()
                for each in records
            ),
            poison,
        ],
    )
    types = "amount decimal(12,2)"
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        split="json",
        key="region,user",
        aggregator="sum(column=amount)",
        types=types,
        output_kafka=f"{broker.server}/{topic}-out",
        output=tmp_path / "out",
        **SMALL,
    )
    report = run(config)
    assert (report.finished, report.lines, report.rejected) == (True, 121, 1)
    truth: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    for region, user, amount in records:
        truth[region, user] += Decimal(amount)
    rows = read_topic(
        spark, f"{broker.server}/{topic}-out", config.aggregator, key="region,user", types=types
    )
    found: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    for row in rows.toArrow().to_pylist():
        found[row["region"], row["user"]] += row["sum"]
    assert found == truth
    (dead_letter,) = consume(broker, f"{topic}-out-dead-letters")
    assert dead_letter[1]["reason"] == "'many' in column amount is no decimal(12,2)"


@pytest.mark.soak
@pytest.mark.parametrize("first", [True, False])
def test_a_record_dated_far_ahead_is_a_dead_letter_and_closes_no_window(
    broker, topic, tmp_path, first
):
    fill(broker, topic, [] if first else KEYS * 20, partitions=1)
    producer = producer_to(broker)
    options: dict[str, Any] = {"partition": 0, "on_delivery": delivered}
    producer.produce(topic, b"from 2096", timestamp=4 * 10**12, **options)
    for number, value in enumerate(KEYS * 20 if first else []):
        producer.produce(topic, value, timestamp=(1_577_836_800 + number) * 1000, **options)
    assert producer.flush(240) == 0
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        grouping="dkg",
        output=tmp_path / "out",
        sink="memory",
        lateness=0,
        **{**SMALL, "sources": 1, "epochs": 4},
    )
    report = run(config)
    assert (report.finished, report.lines, report.rejected) == (True, 121, 1)
    assert totals(report.table.to_pylist()) == {"hot": 80, "cold 1": 20, "cold 2": 20}
    dead_letters = EpochFiles(tmp_path / "out").read(EpochFiles.DEAD_LETTERS)
    assert dead_letters is not None
    (dead_letter,) = dead_letters.to_pylist()
    assert dead_letter["line"] == "from 2096"
    assert dead_letter["reason"].startswith("its time 2096-10-02 07:06:40")
    assert "max_ahead" in dead_letter["reason"]


@pytest.mark.soak
def test_a_run_reads_the_records_at_its_start_though_the_topic_grows(broker, topic):
    fill(broker, topic, KEYS * 50, partitions=3)
    stop = threading.Event()

    def grow():
        producer = producer_to(broker)
        while not stop.is_set():
            producer.produce(topic, b"late comer", partition=1)
            producer.poll(0)
            time.sleep(0.01)
        producer.flush(10)

    growing = threading.Thread(target=grow)

    def start(progress):
        if progress.phase == "running" and growing.ident is None:
            growing.start()

    config = PipelineConfig(kafka=f"{broker.server}/{topic}", grouping="dkg", **SMALL)
    try:
        report = run(config, on_progress=start)
    finally:
        stop.set()
        if growing.ident is not None:
            growing.join()
    assert growing.ident is not None
    assert report.finished
    assert totals(report.table.to_pylist()) == {"hot": 200, "cold 1": 50, "cold 2": 50}


@pytest.mark.slow(3)
def test_a_run_that_follows_pauses_and_continues(broker, topic, tmp_path):
    fill(broker, topic, KEYS * 20)
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        follow=True,
        epoch_messages=60,
        grouping="kg",
        output=tmp_path / "out",
        **SMALL,
    )
    pause = tmp_path / "out" / "state" / "paused"
    paused = run(config.with_options(time_limit=0.01))
    assert not paused.finished
    assert paused.metrics.messages < 120
    again = run(config, on_progress=_until(120, pause))
    assert not again.finished
    assert again.metrics.messages == 120
    assert json.loads((pause.parent / "offsets.json").read_text())["end"] is None


def _until(messages, pause):
    return lambda progress: progress.messages >= messages and pause.touch()


@pytest.mark.slow(6)
def test_topics_start_at_the_given_offsets(broker, topic):
    fill(broker, topic, KEYS)
    fill(broker, f"{topic}-b", [b"b"] * 4)
    starting = json.dumps({topic: {"0": 2}, f"{topic}-b": {"1": -1}})
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic},{topic}-b",
        starting_offsets=starting,
        grouping="sg",
        splitters=3,
        **SMALL,
    )
    report = run(config)
    # Partition 0 of the first topic has every other record.
    assert totals(report.table.to_pylist()) == {"hot": 2, "cold 1": 1, "cold 2": 1, "b": 2}
    assert report.sources == 3


@pytest.mark.slow(3)
def test_an_empty_topic_has_no_results(broker, topic):
    fill(broker, topic, [])
    report = run(PipelineConfig(kafka=f"{broker.server}/{topic}", grouping="kg", **SMALL))
    assert (report.finished, report.lines, report.metrics.messages) == (True, 0, 0)


@pytest.mark.slow(12)
def test_a_repeated_row_is_read_once_and_a_different_one_rejected(spark, broker, topic):
    fill(broker, topic, KEYS * 5)
    out = f"{broker.server}/{topic}-out"
    config = PipelineConfig(
        kafka=f"{broker.server}/{topic}", output_kafka=out, grouping="kg", **SMALL
    )
    run(config)
    once = read_topic(spark, out).toArrow().sort_by("key")
    run(config)
    assert len(consume(broker, f"{topic}-out")) == 2 * once.num_rows
    assert read_topic(spark, out).toArrow().sort_by("key") == once
    run(config.with_options(starting_offsets=json.dumps({topic: {"0": 3}})))
    with pytest.raises(Exception, match=r"has different results of .* several runs wrote to it"):
        read_topic(spark, out).toArrow()


@pytest.mark.soak(11)
def test_a_missing_topic_is_named_and_leaves_the_output_free(broker, tmp_path):
    config = PipelineConfig(
        kafka=f"{broker.server}/nowhere", grouping="kg", output=tmp_path / "out", **SMALL
    )
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"no topic nowhere .*dataset produce"):
            run(config)
    assert not (tmp_path / "out" / "state" / "manifest.json").exists()


@pytest.mark.soak(8)
def test_a_comparison_does_not_write_topics(broker):
    config = PipelineConfig(dataset="country-skew-r80", output_kafka=f"{broker.server}/a")
    with pytest.raises(ConfigurationError, match=r"output_kafka .* leave out output_kafka"):
        compare(config, ["kg", "sg"])
