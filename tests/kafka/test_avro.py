"""Avro records: their fields are keys and counts; invalid records become dead letters."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from evenkey import PipelineConfig, run
from evenkey.core.errors import ConfigurationError
from tests.brokers import fill

SCHEMA = {
    "type": "record",
    "name": "Click",
    "fields": [{"name": "user", "type": ["null", "string"]}, {"name": "n", "type": "long"}],
}


def encoded(user, n):
    """Encode a click in Avro; a number below 64 is one byte, twice its value."""
    text = b"\x00" if user is None else b"\x02" + bytes([2 * len(user)]) + user.encode()
    return text + bytes([2 * n])


@pytest.fixture
def schema(tmp_path):
    file = tmp_path / "click.avsc"
    file.write_text(json.dumps(SCHEMA))
    return file


@pytest.mark.slow(8)
@pytest.mark.usefixtures("spark")
def test_avro_records_are_counted_and_others_rejected(broker, schema, tmp_path):
    good = [(f"user {number % 7}", number % 5 + 1) for number in range(30)] + [(None, 3)]
    bad = [b"", None, b"\x7f", encoded("late", 0)]
    fill(broker, "avro", [*(encoded(*each) for each in good), *bad])
    config = PipelineConfig(
        kafka=f"{broker.server}/avro",
        avro_schema=schema,
        key="user",
        count="n",
        aggregator="sum(column=count)",
        grouping="pkg",
        workers=3,
        sources=2,
        aggregators=2,
        epochs=1,
        output=tmp_path / "out",
        sink="memory",
    )
    report = run(config)
    assert (report.finished, report.lines, report.rejected) == (True, 35, len(bad))
    truth: Counter[str | None] = Counter()
    for user, n in good:
        truth[user] += n
    totals: Counter[str | None] = Counter()
    assert report.table is not None
    for row in report.table.to_pylist():
        totals[row["user"]] += row["sum"]
    assert totals == truth


@pytest.mark.parametrize("text", [None, "no schema", "[" * 200_000])
def test_a_schema_that_cannot_be_read_is_named(tmp_path, text):
    file = tmp_path / "click.avsc"
    if text is not None:
        file.write_text(text)
    config = PipelineConfig(kafka="127.0.0.1:1/clicks", avro_schema=file, key="user")
    with pytest.raises(ConfigurationError, match=r"avro_schema .*click.avsc cannot be read"):
        config.check_paths()
