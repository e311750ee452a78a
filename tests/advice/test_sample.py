"""Samples of files, in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import LineIndex, RowIndex, SplitLines, generated
from evenkey.core.streams.splits import Columns, Lines
from evenkey.reports.advice import Sample, Setting, advise, measure, sampled
from evenkey.simulation import simulate


@pytest.fixture
def numbers(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(10)))
    return SplitLines(LineIndex.build([tmp_path / "a.txt"]), Lines())


@pytest.mark.parametrize(
    ("sampling", "keys"), [("even", ["0", "2", "5", "7"]), ("first", ["0", "1", "2", "3"])]
)
def test_what_it_holds(numbers, sampling, keys):
    sample = sampled("a.txt", numbers, 4, sampling)
    assert sample.texts(sample.batch.ids).to_pylist() == keys
    assert (sample.lines, sample.of_lines, sample.whole) == (4, 10, False)
    assert sampled("a.txt", numbers, 10, sampling).whole


def test_a_sample_is_simulated_like_its_stream():
    stream = generated("country-skew-r80", messages=2000)
    sample = Sample.take(stream)
    for grouping in ("pkg", "dkg"):
        ours, theirs = (simulate(each, grouping, workers=7) for each in (sample, stream))
        assert ours.loads.tolist() == theirs.loads.tolist()
        assert (ours.keys, ours.pairs) == (theirs.keys, theirs.pairs)


def test_batches_are_the_whole_in_order():
    sample = Sample.take(generated("zipf(z=1,keys=50)", messages=100))
    batches = list(sample.batches(30))
    assert [len(batch.ids) for batch in batches] == [30, 30, 30, 10]
    assert (
        np.concatenate([batch.times for batch in batches]).tolist() == sample.batch.times.tolist()
    )


def test_null_is_a_key_and_can_be_the_hottest(tmp_path):
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"user": [None] * 70 + ["a"] * 20 + ["b"] * 10}), path)
    sample = sampled("visits", RowIndex.build([path], Columns("user")), 100)
    assert (sample.rejected, len(sample.batch.ids)) == (0, 100)
    skew = measure(sample)
    assert [each[:2] for each in skew.top] == [(None, 70), ("a", 20), ("b", 10)]
    setting = Setting(input=(str(path),), split="parquet", key="user")
    advice = advise(sample, setting, [4], groupings=["kg", "pkg"])
    assert advice.to_json()["top_keys"][0]["key"] is None


def test_bad_samples_are_errors(numbers, tmp_path):
    with pytest.raises(ConfigurationError, match="sample = 0: at least 1 line"):
        sampled("a.txt", numbers, 0)
    with pytest.raises(ConfigurationError, match="did you mean 'even'"):
        sampled("a.txt", numbers, 4, "evn")  # type: ignore[arg-type]
    (tmp_path / "empty.txt").write_text("\n\n")
    records = SplitLines(LineIndex.build([tmp_path / "empty.txt"]), Lines())
    with pytest.raises(ConfigurationError, match="none of 2 lines is a message"):
        sampled("empty.txt", records, 4)
