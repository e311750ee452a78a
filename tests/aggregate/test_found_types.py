"""The scan of text files before a run: types, and names of fields."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import SplitLines
from evenkey.core.streams.splits import CsvRecords, JsonLines
from evenkey.pipeline.aggregate.config import PipelineConfig
from evenkey.pipeline.aggregate.messages.streams import opened_records


def values_of(path, **options):
    config = PipelineConfig(input=path, key="k", **options)
    with opened_records(config) as records:
        assert isinstance(records, SplitLines)
        assert isinstance(records.splitter, CsvRecords | JsonLines)
        return dict(records.splitter.columns.values)


def test_one_value_among_many_decides_the_type(tmp_path):
    whole = [json.dumps({"k": "a", "n": number}) for number in range(40_000)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(whole))
    summed = {"aggregator": "sum(column=n)"}
    assert values_of(path, **summed) == {"n": pa.int64()}
    path.write_text("\n".join([*whole, '{"k": "a", "n": 0.5}']))
    assert values_of(path, **summed) == {"n": pa.float64()}
    assert values_of(path, **summed, types="n bigint") == {"n": pa.int64()}


def test_csv_and_its_own_count(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"k,count\na,7\nb\xff,8\n\nc,\n")
    summed = {"aggregator": "sum(column=count)"}
    assert values_of(path, **summed) == {"count": pa.int64()}
    assert values_of(path, **summed, count="count") == {}
    assert values_of(path) == {}


def test_fields_that_come_late_or_are_null_are_found(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = ['{"k": "a"}'] * 20_000 + ["no json", '{"k": null, "n": {"x": null}}']
    path.write_text("\n".join(lines))
    assert values_of(path, aggregator="sum(column=n.x)") == {"n.x": pa.int64()}
    with pytest.raises(ConfigurationError, match=r"no record has a field 'n\.y'; .*: k, n$"):
        values_of(path, aggregator="sum(column=n.y)")
    with pytest.raises(ConfigurationError, match=r"no record has a field 'at'; .*: k, n$"):
        values_of(path, time="at")
