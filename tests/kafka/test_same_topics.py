"""Topics that are deleted, created again or emptied during a run are rejected in one line."""

from __future__ import annotations

import itertools

import pytest

from evenkey import run as run_typed
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.kafka import TopicState
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.runs.driving.run_topics import _difference, topics_of
from evenkey.pipeline.runs.output.directory import RunDirectory
from tests.brokers import delete_records, delete_topic, fill
from tests.tiers import most_in_soak

pytestmark = pytest.mark.usefixtures("spark")

SMALL = {"grouping": "kg", "workers": 2, "sources": 2, "aggregators": 2, "epochs": 2}

_numbers = itertools.count()


@pytest.fixture
def config(broker, tmp_path):
    """Make the configuration of a run from one topic to another."""
    topic = f"same-{next(_numbers)}"
    fill(broker, topic, [b"first"] * 40)
    return PipelineConfig(
        kafka=f"{broker.server}/{topic}",
        output_kafka=f"{broker.server}/{topic}-out",
        output=tmp_path / "out",
        **SMALL,
    )


@pytest.fixture
def begun(spark, config):
    """Return the configuration of a run that was killed before its first epoch."""
    with (
        RunDirectory.opened(config.output) as directory,
        topics_of(config).opened(spark, directory),
    ):
        directory.begin(config.manifest())
    return config


def run(config, **options):
    return run_typed(config, **options)


def refused(config, kind=ConfigurationError, **options):
    """Return the one error line of a rejected run."""
    with pytest.raises(kind) as caught:
        run(config, **options)
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.soak(7)
def test_a_killed_run_continues_with_its_topics(begun):
    assert run(begun).lines == 40


@pytest.mark.slow(7)
@pytest.mark.parametrize("partitions", most_in_soak([2, 1], 7, slow=[2]))
def test_a_topic_that_was_created_again_is_rejected(broker, begun, partitions):
    topic = begun.source_address.topic
    delete_topic(broker, topic)
    fill(broker, topic, [b"second"] * 40, partitions=partitions)
    line = refused(begun)
    assert line.startswith(
        f"topic {topic!r} at {broker.server} is not the topic that this run reads (it was deleted "
        "and created again: its id was "
    )
    assert line.endswith("choose another output to read the topic")


@pytest.mark.slow(7)
@pytest.mark.parametrize(
    ("suffix", "again"),
    most_in_soak(
        itertools.product(["-out", "-out-dead-letters"], [True, False]),
        7,
        slow=[("-out", True)],
    ),
)
def test_an_output_topic_that_lost_its_records_is_rejected(broker, begun, suffix, again):
    topic = f"{begun.source_address.topic}{suffix}"
    delete_topic(broker, topic)
    if again:
        fill(broker, topic, [])
    line = refused(begun)
    reason = "it was deleted and created again: its id was" if again else "it was deleted); "
    assert (
        f"{topic!r} at {broker.server} is not the topic that this run writes to ({reason}" in line
    )
    assert f"which are also in {begun.output}: choose another output" in line


@pytest.mark.slow(7)
def test_a_topic_that_changes_during_a_run_ends_it(broker, config):
    topic = config.source_address.topic

    def replace(progress):
        if progress.phase == "running" and progress.epoch == 0:
            delete_topic(broker, f"{topic}-out")
            fill(broker, f"{topic}-out", [])

    line = refused(config.with_options(epochs=6, cost_ms=20), RunError, on_progress=replace)
    assert f"topic '{topic}-out' at" in line
    assert "created again" in line


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (TopicState("a", 3), TopicState("a", 3), None),
        (TopicState("a", 3), TopicState("a", 5), None),
        (TopicState("a", 3), None, "it was deleted"),
        (TopicState("a", 3), TopicState("b", 3), "its id was a and is now b"),
        # Brokers before Kafka 2.8 have no topic ids.
        (TopicState(None, 3), TopicState(None, 2), "it had 3 partitions and now has 2"),
        (TopicState(None, 3), TopicState("b", 3), None),
    ],
)
def test_topics_are_distinguished(before, now, reason):
    found = _difference(before, now)
    assert (found is None) == (reason is None)
    assert reason is None or reason in str(found)


@pytest.mark.slow(7)
def test_records_that_were_deleted_before_a_restart_are_named(broker, begun):
    topic = begun.source_address.topic
    delete_records(broker, topic, {0: 15})
    line = refused(begun)
    assert line.startswith("up to 15 records were deleted from the topic before they were read (")
    assert f"({topic}, partition 0: offsets 0 to 14)" in line
    assert "retention.ms" in line
    assert "with another output" in line
    # The error line recommends this.
    out = f"{begun.output_kafka}-2"
    assert run(begun.with_options(output=f"{begun.output}-2", output_kafka=out)).lines == 25


@pytest.mark.soak(7)
def test_records_that_are_deleted_before_an_epoch_reads_them_are_named(broker, config):
    topic = config.source_address.topic

    def delete(progress):
        if progress.phase == "warming up":
            delete_records(broker, topic, {0: 20, 1: 5})

    with pytest.raises(RunError, match="up to 25 records were deleted") as caught:
        run_typed(config, on_progress=delete, warm_up=True)
    assert f"{topic}, partition 0: offsets 0 to 19; {topic}, partition 1: " in str(caught.value)


@pytest.mark.slow(7)
def test_offsets_that_do_not_exist_are_rejected(broker, config):
    topic = config.source_address.topic
    delete_records(broker, topic, {0: 5})
    for offset in (4, 21):
        starting = f'{{"{topic}": {{"0": {offset}}}}}'
        line = refused(config.with_options(starting_offsets=starting))
        assert f"partition 0 of topic {topic!r} has offsets 5 to 20, not {offset}: pass" in line
