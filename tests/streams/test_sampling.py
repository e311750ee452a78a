"""Samples of records: the first ones, or ones at equal distances."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.streams import FirstRecords, SpreadRecords
from evenkey.core.streams import sampling as module
from evenkey.core.streams.splits import Lines, Words
from tests.advice.naive import spread


class Texts:
    """Lines in memory, with their splitter."""

    def __init__(self, texts, splitter):
        self.texts, self.splitter = texts, splitter

    def __len__(self):
        return len(self.texts)

    def split(self, start, stop):
        return self.splitter.split(pa.array(map(str.encode, self.texts[start:stop]), pa.binary()))


@given(
    texts=st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=30),
    data=st.data(),
)
def test_spread_records_are_those_of_the_twin_in_any_cut(texts, data):
    length = data.draw(st.integers(1, len(texts)))
    cut = data.draw(st.integers(0, length))
    records = SpreadRecords(Texts(texts, Lines()), length)
    splits = [(0, records.split(0, cut)), (cut, records.split(cut, length + 5))]
    kept, rejected = (
        [
            (start + row["line"], row[column])
            for start, split in splits
            for row in getattr(split, part).to_pylist()
        ]
        for part, column in (("messages", "key"), ("rejected", "reason"))
    )
    wanted = spread(texts, length)
    assert len(records) == length
    assert kept == [each for each in wanted if each[1]]
    assert rejected == [(place, "the key is empty") for place, text in wanted if not text]


def test_a_line_of_several_messages_is_kept_whole(monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 2)
    texts = ["to be", "or", "", "not to be", "that is", "the question"]
    messages = SpreadRecords(Texts(texts, Words()), 2).split(0, 2).messages
    assert messages["key"].to_pylist() == ["to", "be", "not", "to", "be"]
    assert messages["line"].to_pylist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("start", "stop", "keys"), [(0, 9, ["a", "b"]), (1, 2, ["b"])])
def test_the_first_records_end_where_they_should(start, stop, keys):
    records = FirstRecords(Texts(["a", "b", "c"], Lines()), 2)
    assert len(records) == 2
    assert records.split(start, stop).messages["key"].to_pylist() == keys
