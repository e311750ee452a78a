"""Topics that get partitions while a run is stopped, and while it reads."""

from __future__ import annotations

from collections import Counter

import pytest

from evenkey import run as run_typed
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.runs.driving.run_topics import topics_of
from evenkey.pipeline.runs.output.directory import RunDirectory
from tests.brokers import delivered, fill, producer_to

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.faults]

KEYS = [b"hot", b"hot", b"hot", b"cold 1", b"hot", b"cold 2"]
FIRST = {"grouping": "kg", "workers": 3, "sources": 2}
THEN = {"grouping": "planned", "workers": 5, "sources": 4}


def run(config, **options):
    return run_typed(config, **options)


def grow(broker, topic, partitions, values):
    """Increase a topic's partitions from two, and fill the new ones."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    admin = AdminClient({"bootstrap.servers": broker.server})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(240)
    producer = producer_to(broker)
    for number, value in enumerate(values):
        place = 2 + number % (partitions - 2)
        producer.produce(
            topic, value, partition=place, timestamp=1_577_836_800_000, on_delivery=delivered
        )
    assert producer.flush(240) == 0


def placed(output):
    """Count messages by key over all workers and epochs."""
    held = RunDirectory(output).files.read("placed")
    assert held is not None
    counts: Counter[str] = Counter()
    for row in held.to_pylist():
        counts[row["key"]] += row["messages"]
    return counts


@pytest.mark.soak
def test_a_run_that_follows_reads_them_with_another_layout(broker, tmp_path):
    fill(broker, "growing", KEYS * 20)
    config = PipelineConfig(
        kafka=f"{broker.server}/growing",
        follow=True,
        epoch_messages=60,
        aggregators=2,
        output=tmp_path / "out",
        **FIRST,
    )
    pause = tmp_path / "out" / "state" / "paused"
    paused = run(config, on_progress=lambda each: each.messages >= 60 and pause.touch())
    assert 0 < paused.metrics.messages < 400
    grow(broker, "growing", 5, [b"new", b"hot"] * 40)
    again = run(
        config.with_options(**THEN),
        on_progress=lambda each: each.messages >= 200 and pause.touch(),
    )
    assert (again.metrics.messages, again.workers, again.sources) == (200, 5, 4)
    wanted = Counter(key.decode() for key in [*KEYS * 20, *[b"new", b"hot"] * 40])
    assert placed(tmp_path / "out") == wanted


@pytest.mark.soak
def test_a_run_reads_partitions_that_come_while_it_follows(broker, tmp_path):
    fill(broker, "live", KEYS * 20)
    output = tmp_path / "out"
    config = PipelineConfig(
        kafka=f"{broker.server}/live",
        follow=True,
        epoch_messages=60,
        aggregators=2,
        output=output,
        **FIRST,
    )
    grown: list[int] = []

    def listen(progress):
        if progress.messages >= 60 and not grown:
            grown.append(progress.messages)
            grow(broker, "live", 5, [b"new", b"hot"] * 40)
        if progress.messages >= 200:
            (output / "state" / "paused").touch()

    report = run(config, on_progress=listen)
    assert grown[0] < 120
    assert report.metrics.messages == 200
    wanted = Counter(key.decode() for key in [*KEYS * 20, *[b"new", b"hot"] * 40])
    assert placed(output) == wanted


@pytest.mark.soak(7)
def test_a_run_killed_before_its_first_epoch_reads_the_records_at_its_start(
    spark, broker, tmp_path
):
    fill(broker, "begun", KEYS * 10)
    output = tmp_path / "out"
    config = PipelineConfig(
        kafka=f"{broker.server}/begun", output=output, epochs=2, aggregators=2, **FIRST
    )
    with RunDirectory.opened(output) as directory, topics_of(config).opened(spark, directory):
        directory.begin(config.manifest())
    grow(broker, "begun", 4, [b"later"] * 10)
    report = run(config.with_options(**THEN))
    assert report.finished
    assert placed(output) == Counter(key.decode() for key in KEYS * 10)
