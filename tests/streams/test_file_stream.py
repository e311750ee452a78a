"""Users' files as a stream for the simulator."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.streams import FileStream, LineIndex, MessageStream, RowIndex, SplitLines
from evenkey.core.streams.splits import SPLITTERS, Columns, CsvRecords, Words

TEXT = "to be or\n\nnot to be\n"


@pytest.fixture
def words(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    return SplitLines(LineIndex.build([tmp_path / "a.txt"]), Words())


@pytest.mark.parametrize("size", [1, 2, 100])
def test_batches_are_the_messages_in_order(words, size):
    stream: MessageStream = FileStream("a.txt", words, rate=2.0)
    for _ in range(2):  # reading again returns the same messages
        batches = list(stream.batches(size))
        ids = np.concatenate([batch.ids for batch in batches])
        assert stream.texts(ids).to_pylist() == TEXT.split()
        assert ids.tolist() == [0, 1, 2, 3, 0, 1]
        keys = np.concatenate([batch.keys for batch in batches])
        assert keys.tolist() == hash_strings(TEXT.split()).tolist()
        times = np.concatenate([batch.times for batch in batches])
        assert times.tolist() == [0, 0, 0, 1, 1, 1]
        counts = np.concatenate([batch.counts for batch in batches])
        assert counts.tolist() == [1] * 6


def test_it_spans_400_seconds(words):
    stream = FileStream("a.txt", words)
    (batch,) = stream.batches()
    assert batch.times.tolist() == pytest.approx([0, 0, 0, 800 / 3, 800 / 3, 800 / 3])


def test_counts_and_rejected_lines(tmp_path):
    (tmp_path / "a.csv").write_text("k,n\na,2\nbad\nb,3\na,4\n")
    index = LineIndex.build([tmp_path / "a.csv"], csv=True)
    stream = FileStream("a.csv", SplitLines(index, CsvRecords(("k", "n"), Columns("k", "n"))))
    for _ in range(2):
        assert [batch.counts.tolist() for batch in stream.batches(2)] == [[2], [3, 4]]
        assert (stream.rejected, stream.key_count) == (1, 2)


def test_rows(tmp_path):
    pq.write_table(pa.table({"k": ["a", None, "b"]}), tmp_path / "a.parquet")
    stream = FileStream(
        "a.parquet", RowIndex.build([tmp_path / "a.parquet"], Columns("k")), rate=1.0
    )
    (batch,) = stream.batches()
    assert stream.texts(batch.ids).to_pylist() == ["a", None, "b"]
    # The hash of null is the seed, as in Spark.
    assert batch.keys.tolist() == hash_strings(pa.array(["a", None, "b"])).tolist()
    assert batch.times.tolist() == [0, 1, 2]
    assert stream.rejected == 0


def test_lines_without_a_single_message_are_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("k,n\na,none\nbad\n")
    index = LineIndex.build([tmp_path / "a.csv"], csv=True)
    stream = FileStream("a.csv", SplitLines(index, CsvRecords(("k", "n"), Columns("k", "n"))))
    with pytest.raises(ConfigurationError) as raised:
        list(stream.batches())
    assert str(raised.value) == (
        "a.csv: none of 2 lines is a message (the first rejected line: the count 'none' is not "
        "a whole number of at least 1); check split and key"
    )


def test_senders(tmp_path):
    (tmp_path / "graph.txt").write_text("# from to\n0\t1\n0\t2\nbad\n1\t2\n")
    index = LineIndex.build([tmp_path / "graph.txt"])
    stream = FileStream("graph.txt", SplitLines(index, SPLITTERS["edges"]), rate=1.0)
    for size in (2, 100):
        batches = list(stream.batches(size))
        ids = np.concatenate([batch.ids for batch in batches])
        assert stream.texts(ids).to_pylist() == ["1", "2", "2"]
        senders = [batch.senders for batch in batches if batch.senders is not None]
        assert np.concatenate(senders).tolist() == hash_strings(["0", "0", "1"]).tolist()
        assert stream.rejected == 1


def test_lines_without_senders(words):
    (batch,) = FileStream("a.txt", words).batches()
    assert batch.senders is None


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_rates(words, rate):
    with pytest.raises(ConfigurationError, match="must be above 0 lines per second"):
        FileStream("a.txt", words, rate=rate)
