"""Groupings get frequencies before the stream, and memories between epochs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.hashing import hash_longs, murmur3_strings
from evenkey.simulation import simulate
from evenkey.simulation.key_frequencies import frequencies
from evenkey.simulation.key_hashes import KeyHashes
from tests.simulation.doubles import ByCountedEpoch, ByEpoch, ByFrequencies
from tests.simulation.streams import ListStream, list_streams


@settings(max_examples=30)
@given(stream=list_streams(), by=st.sampled_from(["messages", "weights"]), papers=st.booleans())
def test_frequencies_are_exact(stream, by, papers):
    hashes = KeyHashes(stream, "murmur3" if papers else "xxhash64")
    keys, counts = frequencies(stream, hashes, by=by, size=10)
    expected: dict[int, int] = {}
    for number, _, count, _ in stream.messages:
        text = f"key {number}"
        key = murmur3_strings([text]) if papers else hash_longs(np.array([number]))
        expected[int(key[0])] = expected.get(int(key[0]), 0) + (count if by == "weights" else 1)
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == expected
    assert [str(each.dtype) for each in (keys, counts)] == ["uint64", "float64"]


def test_counts_take_memory_for_the_keys_and_not_for_the_batches():
    stream = ListStream([(i % 3, i, 1, None) for i in range(60)], cuts=range(60))
    keys, counts = frequencies(stream, KeyHashes(stream, "xxhash64"), by="messages", size=1)
    assert counts.tolist() == [20, 20, 20]
    assert len(keys) == 3


def test_frequencies_come_before_the_first_message():
    stream = ListStream([(i % 3, i, 1, None) for i in range(10)], cuts=[5])
    for by in ("messages", "weights"):
        report = simulate(stream, ByFrequencies(), workers=4, route_by=by, agreement=True)
        assert report.loads.tolist() == [0, 0, 10, 0]
        assert report.agreement is not None
        assert report.agreement.jaccard == 1


def test_at_the_end_of_an_epoch_every_router_gets_what_all_learned():
    stream = ListStream([(i, i, 1, None) for i in range(8)], cuts=[1, 4, 5])
    report = simulate(stream, ByEpoch(), workers=4, sources=2, epoch_messages=3)
    # The epochs have 3, 3 and 2 messages, and start after 0, 3 and 6 messages.
    assert report.loads.tolist() == [3, 0, 2, 3]
    assert [epoch.messages for epoch in report.epochs] == [3, 3, 2]


@pytest.mark.parametrize(
    ("by", "by_epoch", "in_one"),
    [
        ("messages", {23: 3, 3: 3, 22: 2}, {28: 8}),
        ("weights", {26: 6, 3: 6, 24: 4}, {36: 16}),
    ],
)
def test_epochs_are_counted_first_on_request(by, by_epoch, in_one):
    # Epoch 1 is counted: 10 + its count per key. Epoch 2 is not, as 3 is odd. Epoch 3 is counted.
    stream = ListStream([(i % 2, i, 2, None) for i in range(8)], cuts=[1, 4, 5])
    for every, expected in ((3, by_epoch), (None, in_one)):
        report = simulate(
            stream,
            ByCountedEpoch(),
            workers=40,
            sources=2,
            route_by=by,
            observe_by=by,
            agreement=True,
            epoch_messages=every,
        )
        assert {worker: load for worker, load in enumerate(report.loads) if load} == expected
        assert report.agreement is not None
        assert report.agreement.jaccard == 1


def test_without_epochs_routers_get_no_memory():
    stream = ListStream([(i, i, 1, None) for i in range(8)], cuts=[1, 4, 5])
    report = simulate(stream, ByEpoch(), workers=4, sources=2)
    assert report.loads.tolist() == [8, 0, 0, 0]
    assert report.epochs == ()
    assert "epochs" not in report.to_json()
