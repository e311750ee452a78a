"""The stored input of a run is data, and any changed byte is detected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.joins.sides.division import leaves_of
from evenkey.papers.publish_subscribe.config import JoinConfig
from evenkey.papers.publish_subscribe.join_inputs import subscriptions_of
from evenkey.papers.publish_subscribe.publishing import (
    PublicationsReading,
    keep_publications,
    publications_of,
)
from evenkey.pipeline.aggregate.config import PipelineConfig
from evenkey.pipeline.aggregate.messages.message_input import find_input
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.recalling import READING, recall_reading
from tests.tiers import most_in_soak


def input_of(kind, directory):
    if kind == "parquet":
        pq.write_table(pa.table({"user": ["a", "b"] * 50}), directory / "in.parquet")
        return {"input": directory / "in.parquet", "key": "user"}
    own = {"key": "region,user", "time": "at", "aggregator": "sum(column=n)"}
    if kind == "own parquet":
        at = pa.array([86_400_000_000] * 100, pa.timestamp("us"))
        columns = {"user": [7, None] * 50, "region": ["a", "b"] * 50, "at": at, "n": [0.5] * 100}
        pq.write_table(pa.table(columns), directory / "in.parquet")
        return {"input": directory / "in.parquet", **own}
    if kind == "own json":
        line = '{"user": null, "region": "a", "at": "2026-01-01", "n": 0.5}\n'
        (directory / "in.json").write_text(line * 100)
        return {"input": directory / "in.json", **own}
    (directory / "in.csv").write_text("user,n\n" + "a,1\nb,2\n" * 300)
    if kind == "csv":
        return {"input": directory / "in.csv", "key": "user", "count": "n"}
    return {"input": directory / "in.csv", "split": "lines"}


def content(found):
    rows = pa.Table.from_batches(found.reading.read(0, found.reading.total, 0, 1)).to_pydict()
    split = None
    if found.splitter is not None:
        messages = found.splitter.split(pa.array(rows["line"], pa.binary())).messages
        split = messages.to_pydict()
    return found.name, rows, split


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["lines", "csv", "parquet", "own parquet", "own json"])
def test_a_continued_run_reads_the_same_input(kind, tmp_path):
    config = PipelineConfig(**input_of(kind, tmp_path), output=tmp_path / "out", messages=90)
    with RunDirectory.opened(tmp_path / "out") as directory:
        first = content(find_input(config, directory))
        directory.begin(config.manifest())
    assert content(find_input(config, RunDirectory(tmp_path / "out"))) == first
    assert len(first[1]["position"]) == 90


@pytest.mark.slow(4)
def test_no_changed_byte_is_taken_for_another_input(tmp_path):
    config = PipelineConfig(**input_of("csv", tmp_path), output=tmp_path / "out")
    with RunDirectory.opened(tmp_path / "out") as directory:
        find_input(config, directory)
        directory.begin(config.manifest())
    file = tmp_path / "out" / READING
    data = file.read_bytes()
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x04
        file.write_bytes(changed)
        with pytest.raises(RunError, match=r"reading\.npz cannot be read .*: start again with a"):
            recall_reading(directory.store)
    file.unlink()
    with pytest.raises(RunError, match=r"reading\.npz cannot be read"):
        find_input(config, directory)


@pytest.mark.slow(4)
def test_publications_stay_the_same(tmp_path):
    config = JoinConfig(publications=300, subscriptions=200, workers=4, skew=0.7)
    leaves = leaves_of(subscriptions_of(config)["geometry"].to_numpy(), "kdb", 16)
    with RunDirectory.opened(tmp_path / "out") as directory:
        keep_publications(config, leaves.to_json(), directory)
        rows = PublicationsReading(directory.store, 300, 10.0).read(0, 300, 0, 1)
    made = pa.Table.from_batches(rows).drop_columns("time")
    assert made.equals(publications_of(config, leaves).make(np.arange(300)))


@pytest.mark.parametrize(
    "manifest", most_in_soak(["{}", '{"format": 3}'], 4, slow=['{"format": 3}'])
)
@pytest.mark.slow(4)
def test_an_output_of_an_earlier_version_is_rejected(tmp_path, manifest):
    config = PipelineConfig(dataset="country-skew-r80", output=tmp_path / "out")
    (tmp_path / "out" / "state").mkdir(parents=True)
    (tmp_path / "out" / "state" / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigurationError, match="was begun by an earlier version of evenkey"):
        RunDirectory(tmp_path / "out").check(config.manifest(), config.free())
