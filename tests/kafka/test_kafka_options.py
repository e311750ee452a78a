"""Combinations of options for topics."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.kafka import connector
from evenkey.pipeline.aggregate import PipelineConfig

TOPIC = "127.0.0.1:1/clicks"


def test_defaults_are_derived_from_topics():
    read = PipelineConfig(kafka=TOPIC)
    assert (read.lateness, read.sink, read.resolved_split()) == (60.0, "memory", "lines")
    assert PipelineConfig(kafka=TOPIC, lateness=0).lateness == 0
    assert PipelineConfig(kafka=TOPIC, max_ahead=5).max_ahead == 5
    written = PipelineConfig(dataset="country-skew-r80", output_kafka=TOPIC, output="out")
    assert (written.lateness, written.sink) == (0.0, "kafka")
    assert written.resolved_dead_letters_topic("clicks") == "clicks-dead-letters"
    changed = written.with_options(dead_letters_topic="bad")
    assert changed.resolved_dead_letters_topic("clicks") == "bad"
    assert changed.with_options(grouping="kg").sink == "kafka"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"kafka": "clicks"}, r"^kafka = 'clicks' is not HOST:PORT"),
        ({"kafka": TOPIC, "dataset": "country-skew-r80"}, r"dataset and kafka are given"),
        ({"kafka": TOPIC, "messages": 5}, r"messages = 5: .* leave out messages"),
        ({"kafka": TOPIC, "rate": 5}, r"rate = 5.0: .* leave out rate"),
        ({"kafka": TOPIC, "arrival_rate": 5}, r"arrival_rate = 5.0: .* leave out arrival_rate"),
        (
            {"kafka": TOPIC, "split": "csv", "key": "user"},
            r"split = 'csv': a record of a topic is one line",
        ),
        ({"kafka": TOPIC, "split": "json"}, r"it needs the option key"),
        ({"kafka": TOPIC, "split": "words", "avro_schema": "a"}, r"split = 'words': Avro .*"),
        ({"dataset": "country-skew-r80", "avro_schema": "a"}, r"avro_schema: .* pass kafka"),
        ({"dataset": "country-skew-r80", "follow": True}, r"follow: .* pass kafka"),
        ({"dataset": "country-skew-r80", "starting_offsets": "latest"}, r"starting_offsets: .*"),
        ({"dataset": "country-skew-r80", "max_ahead": 5}, r"max_ahead = 5: .* pass kafka"),
        (
            {"dataset": "country-skew-r80", "isolation": "read_uncommitted"},
            r"isolation: it applies only .*",
        ),
        ({"kafka": TOPIC, "isolation": "serializable"}, r"isolation = 'serializable': .*committed"),
        ({"kafka": TOPIC, "max_ahead": -1}, r"max_ahead = -1: must be at least 0"),
        ({"kafka": TOPIC, "sink": "kafka"}, r"sink = 'kafka': .* pass output_kafka"),
        ({"kafka": TOPIC, "output_kafka": "h:1/a", "sink": "console"}, r"sink = 'console': "),
        ({"kafka": TOPIC, "output_kafka": "h:1/a,b"}, r"one topic can be written"),
        ({"kafka": TOPIC, "output_kafka": TOPIC}, r"'clicks' would be read and written"),
        ({"kafka": TOPIC, "dead_letters_topic": "bad"}, r"dead_letters_topic = 'bad': .*"),
        ({"kafka": TOPIC, "follow": 1.5}, r"follow = 1.5: must be true or false"),
        ({"kafka": TOPIC, "epochs": True}, r"epochs = true: must be a whole number"),
    ],
)
def test_invalid_combinations_are_rejected(options, fault):
    with pytest.raises(ConfigurationError, match=fault):
        PipelineConfig(**options)


def test_the_path_of_the_settings_is_recorded_but_not_their_values(tmp_path):
    file = tmp_path / "kafka.properties"
    file.write_text("sasl.password=open sesame\n")
    config = PipelineConfig(kafka=TOPIC, kafka_config=file)
    assert config.manifest()["kafka_config"] == str(file)
    assert "sesame" not in f"{config!r}{config.manifest()}"


def test_a_broker_that_does_not_answer_is_reported_before_anything_starts(monkeypatch):
    # A fresh checkout has no jars of the connector, which would be reported first.
    monkeypatch.setattr(connector, "_session_runs", lambda: True)
    for options in ({"kafka": TOPIC}, {"dataset": "country-skew-r80", "output_kafka": TOPIC}):
        with pytest.raises(ConfigurationError, match=r"no Kafka broker answers .*make kafka-up"):
            PipelineConfig(**options).check_paths()
