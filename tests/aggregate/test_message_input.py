"""The input of a configuration, opened as a stream: with any split, compressed or not."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import os
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import FileStream
from evenkey.core.streams.splits import SPLITTERS
from evenkey.core.streams.suffixes import SplitName
from evenkey.pipeline.aggregate.config import PipelineConfig
from evenkey.pipeline.aggregate.messages.message_input import find_input
from evenkey.pipeline.aggregate.messages.streams import opened_stream
from evenkey.pipeline.runs.output.directory import RunDirectory

DATA = Path(os.environ.get("EVENKEY_DATA", Path(__file__).parents[3] / "../shared/data"))


def test_every_splitter_has_a_name():
    assert set(get_args(SplitName)) == {*SPLITTERS, "csv", "json", "parquet"}


def batch_of(**options):
    with opened_stream(PipelineConfig(**options)) as stream:
        assert isinstance(stream, FileStream)
        (batch,) = stream.batches()
        return stream.texts(batch.ids).to_pylist(), batch.counts.tolist()


def test_the_last_suffix_names_the_compression_and_the_previous_one_the_split(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"k,n\na,2\n"))
    (tmp_path / "b.csv.bz2").write_bytes(bz2.compress(b"k,n\nb,3\n"))
    assert batch_of(input=tmp_path, key="k", count="n") == (["a", "b"], [2, 3])
    assert batch_of(input=tmp_path, key="k", messages=1) == (["a"], [1])


def test_a_splitter_by_name(tmp_path):
    (tmp_path / "a").write_text("Turkey\tAnkara\tlink\t12\n")
    assert batch_of(input=tmp_path, split="wikipedia-clickstream") == (["Ankara"], [12])


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The parent of temporary directories."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def test_unpacked_files_are_deleted_with_the_stream(tmp_path, temporary):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n"))
    with opened_stream(PipelineConfig(input=tmp_path / "a.gz")):
        assert len(list(temporary.rglob("0-a"))) == 1
    assert list(temporary.iterdir()) == []


def test_a_damaged_file_leaves_nothing(tmp_path, temporary):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n")[:-1])
    opening = opened_stream(PipelineConfig(input=tmp_path / "a.gz"))
    with pytest.raises(ConfigurationError, match=r"a\.gz is no complete gzip file"), opening:
        pass
    assert list(temporary.iterdir()) == []


def test_a_resumed_run_reads_its_unpacked_files(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\ntwo\nthree\n"))
    config = PipelineConfig(input=tmp_path / "a.gz", output=tmp_path / "out", sources=1)
    with RunDirectory.opened(tmp_path / "out") as directory:
        find_input(config, directory)
        directory.begin(config.manifest())
    (tmp_path / "a.gz").unlink()
    found = find_input(config, RunDirectory(tmp_path / "out"))
    assert found.reading is not None
    rows = pa.Table.from_batches(found.reading.read(1, 3, 0, 1))
    assert rows["line"].to_pylist() == [b"two", b"three"]


def test_a_resumed_run_reads_records_of_several_lines(tmp_path):
    records = [(f"{n % 7}\n,{n}", '"' * (n % 3), n) for n in range(1, 901)]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("k\r\ney", "note", "n"), *records])
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.getvalue().encode()))
    config = PipelineConfig(
        input=tmp_path / "a.csv.gz", key="k\r\ney", count="n", output=tmp_path / "out", sources=3
    )
    with RunDirectory.opened(tmp_path / "out") as directory:
        find_input(config, directory)
        directory.begin(config.manifest())
    (tmp_path / "a.csv.gz").unlink()
    found = find_input(config, RunDirectory(tmp_path / "out"))
    assert found.reading is not None
    assert found.splitter is not None
    messages: dict[int, tuple[str, int]] = {}
    for source in range(3):
        rows = pa.Table.from_batches(found.reading.read(0, 900, source, 3))
        split = found.splitter.split(rows["line"].combine_chunks())
        assert split.rejected.num_rows == 0
        values = zip(*(split.messages[name].to_pylist() for name in ("key", "count")), strict=True)
        messages |= zip(rows["position"].to_pylist(), values, strict=True)
    assert messages == {place: (key, n) for place, (key, _, n) in enumerate(records)}


def test_the_graph_of_epinions():
    file = DATA / "soc-Epinions1.txt.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there; EVENKEY_DATA names the directory that holds it")
    with opened_stream(PipelineConfig(input=file, split="edges")) as stream:
        batches = list(stream.batches())
    assert sum(len(batch.ids) for batch in batches) == 405_739
    senders = [batch.senders for batch in batches if batch.senders is not None]
    vertices = [*senders, *(batch.keys for batch in batches)]
    assert len(np.unique(np.concatenate(vertices))) == 75_877
