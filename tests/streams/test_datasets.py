"""Datasets are counted and written; reading returns the same messages, or there is no file."""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import datasets, generated

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.core.streams import KeyStream


@pytest.fixture(params=["country-skew-r80", "zipf(z=1.2,keys=50)"])
def stream(request) -> KeyStream:
    stream: KeyStream = generated(request.param, messages=3000, seed=7)
    return stream


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(datasets, "_BATCH_MESSAGES", 1024)


def messages(stream):
    batch = stream.batch(0, stream.length)
    texts = stream.texts(batch.ids).to_pylist()
    return list(zip(texts, batch.counts.tolist(), batch.times.tolist(), strict=True))


def read_back(file: Path, form: str):
    if form == "parquet":
        records = pq.read_table(file).to_pylist()
    elif form == "json":
        records = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        with file.open() as lines:
            records = list(csv.DictReader(lines))
    return [(each["key"], int(each["count"]), float(each["time"])) for each in records]


@pytest.mark.parametrize(
    ("name", "form"), [("a.csv", "csv"), ("a.jsonl", "json"), ("a.parquet", "parquet")]
)
def test_written_messages_come_back(stream, tmp_path, name, form):
    assert datasets.write_dataset(stream, tmp_path / name) == form
    assert read_back(tmp_path / name, form) == messages(stream)


def test_lines_are_the_keys(stream, tmp_path):
    assert datasets.write_dataset(stream, tmp_path / "a.csv", "lines") == "lines"
    keys = [key for key, _, _ in messages(stream)]
    assert (tmp_path / "a.csv").read_text().splitlines() == keys


def test_keys_are_counted_exactly(stream):
    seen: list[int] = []
    summary = datasets.summarize_dataset(stream, top=1000, on_progress=seen.append)
    counts = Counter(key for key, _, _ in messages(stream))
    assert dict(summary.top) == counts
    assert [count for _, count in summary.top] == sorted(counts.values(), reverse=True)
    assert (summary.messages, summary.keys, summary.seconds) == (3000, len(counts), 400)
    assert seen == [1024, 2048, 3000]
    assert sum(each["share_percent"] for each in summary.to_json()["top"]) == pytest.approx(100)


def test_weights_are_added_up_and_never_lost(tmp_path):
    stream = generated("wikipedia-pageviews-by-lang-like", messages=2000)
    expected = Counter[str]()
    for key, count, _ in messages(stream):
        expected[key] += count
    summary = datasets.summarize_dataset(stream, top=1000)
    assert dict(summary.top) == expected
    assert (summary.messages, summary.weight) == (2000, expected.total())
    assert expected.total() > 4000
    datasets.write_dataset(stream, tmp_path / "a.csv")
    assert read_back(tmp_path / "a.csv", "csv") == messages(stream)
    with pytest.raises(ConfigurationError, match="have weights: write csv, json or parquet"):
        datasets.write_dataset(stream, tmp_path / "a.txt")


def test_a_failed_writing_leaves_what_was_there(stream, tmp_path):
    file = tmp_path / "a.txt"
    datasets.write_dataset(stream, file)
    before = file.read_bytes()

    def fail(done: int) -> None:
        raise RuntimeError(done)

    with pytest.raises(RuntimeError):
        datasets.write_dataset(stream, file, overwrite=True, on_progress=fail)
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert file.read_bytes() == before


def test_files_that_cannot_be_written_are_refused(stream, tmp_path):
    (tmp_path / "a.txt").touch()
    with pytest.raises(ConfigurationError, match=r"a\.txt exists"):
        datasets.write_dataset(stream, tmp_path / "a.txt")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        datasets.write_dataset(stream, tmp_path / "a.txt" / "b.txt")
