"""Each key is hashed only once, for any batches."""

from __future__ import annotations

from hypothesis import given, settings

from evenkey.core.hashing import murmur3_strings
from evenkey.simulation.key_hashes import KeyHashes
from tests.simulation.streams import list_streams


@settings(max_examples=30)
@given(stream=list_streams())
def test_murmur3_hashes_each_key_once(stream):
    asked: list[int] = []
    texts_of = stream.texts

    def texts(ids):
        asked.extend(ids.tolist())
        return texts_of(ids)

    stream.texts = texts
    hashes = KeyHashes(stream, "murmur3")
    for batch in stream.batches():
        expected = murmur3_strings(texts_of(batch.ids)).tolist()
        assert hashes.of(batch).tolist() == expected
    assert sorted(asked) == sorted({number for number, *_ in stream.messages})
